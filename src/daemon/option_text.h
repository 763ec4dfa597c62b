/* The option table as text: a commented configuration, a JSON Schema for editors, a reference for the manual. */
#ifndef HF_DAEMON_OPTION_TEXT_H
#define HF_DAEMON_OPTION_TEXT_H

#include "base/buf.h"

/* All return 0 or what hf_buf_append does. */
int hf_option_text_defaults(struct hf_buf *text);
int hf_option_text_schema(struct hf_buf *text);
int hf_option_text_manual(struct hf_buf *text); /* mdoc */

#endif
