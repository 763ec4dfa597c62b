/* Names of tools as the configuration writes them: `server__tool`, by the configuration's name of the server and the
 * server's own name of the tool. */
#ifndef HF_DAEMON_TOOL_NAME_H
#define HF_DAEMON_TOOL_NAME_H

#include "daemon/options.h"

/* Splits `text` behind the longest name of a configured server that it begins with. When there is none, or nothing
 * follows it, that becomes a problem and `ret_name` is left alone. Returns 0 or HF_ERR_NOMEM. */
int hf_tool_name_read(const struct hf_reader *reader, const char *path, struct hf_place place, struct hf_str text,
                      struct hf_tool_name *ret_name);

/* The server by that name, or NULL. */
const struct hf_server_settings *hf_tool_name_server(const struct hf_settings *settings, struct hf_str name);

/* The name of a server that `name` was probably meant to be, or NULL. */
int hf_tool_name_nearest(const struct hf_reader *reader, struct hf_str name, const char **ret_nearest);

#endif
