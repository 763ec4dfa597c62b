/* Code that only the start needs: constructors of libraries, relocation, reading the configuration. */
#ifndef HF_DAEMON_START_CODE_H
#define HF_DAEMON_START_CODE_H

/* Takes all code out of this process's memory. What is called again comes back from the page cache, a few pages at a
 * time: some hundred faults in all. Half of what is resident after the start is not called again. */
void hf_start_code_forget(void);

#endif
