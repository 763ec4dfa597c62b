#include "upstream/own_header.h"

bool hf_own_header(struct hf_str name) {
  static const char *const names[] = {
      "Accept",         "Accept-Encoding", "Connection",           "Content-Length", "Content-Type", "Expect",
      "Host",           "Last-Event-ID",   "MCP-Protocol-Version", "Mcp-Method",     "Mcp-Name",     "TE",
      "Mcp-Session-Id", "Trailer",         "Transfer-Encoding",    "Upgrade",
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (hf_str_equal_nocase(name, hf_str_from(names[i])))
      return true;
  return false;
}
