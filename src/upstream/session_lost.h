/* Recognising a server that says, in whatever words, that it does not know our session. */
#ifndef HF_UPSTREAM_SESSION_LOST_H
#define HF_UPSTREAM_SESSION_LOST_H

#include "base/str.h"

#include <stdbool.h>

/* True if `text` (an error message or the body of an HTTP error) speaks of an unknown, missing, expired or terminated
 * session. Looks at the first few kilobytes only. Whether that counts is for the fault table to say. */
bool hf_says_session_lost(struct hf_str text);

#endif
