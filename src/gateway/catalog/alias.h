/* `holdfast://SERVER/URI`: a resource of one server, whatever other servers have under the same URI.
 *
 * Every resource can be named so; shown it is where a URI alone would lead to another server. The rest of the text is
 * the server's own URI, or URI template, as it is. */
#ifndef HF_GATEWAY_CATALOG_ALIAS_H
#define HF_GATEWAY_CATALOG_ALIAS_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>

enum { HF_ALIAS_SERVER_MAX = 256 };

/* Appends the alias. Returns 0 or the buffer's error. */
int hf_alias_write(struct hf_buf *out, struct hf_str server, struct hf_str uri);

/* Takes an alias apart: the server's name into `server`, and the URI, which is borrowed. Returns false if it is none.
 */
bool hf_alias_read(struct hf_str text, char server[HF_ALIAS_SERVER_MAX], struct hf_str *ret_server,
                   struct hf_str *ret_uri);

#endif
