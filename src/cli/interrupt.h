/* Waiting that SIGINT and SIGTERM end, for commands that go on until then. */
#ifndef HF_CLI_INTERRUPT_H
#define HF_CLI_INTERRUPT_H

#include <stdbool.h>

struct hf_interrupt {
  int fd;
};

/* From now on the signals don't end the process, but are waited for. Returns 0 or HF_ERR_IO. */
int hf_interrupt_init(struct hf_interrupt *interrupt);
void hf_interrupt_deinit(struct hf_interrupt *interrupt);

/* Waits for so long. Returns true if a signal came: it is time to end. */
bool hf_interrupt_wait(struct hf_interrupt *interrupt, int timeout_ms);

#endif
