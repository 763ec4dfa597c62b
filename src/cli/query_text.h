/* Answers of a gateway as people read them. */
#ifndef HF_CLI_QUERY_TEXT_H
#define HF_CLI_QUERY_TEXT_H

#include "cli/args.h"
#include "json/value.h"

/* Says the JSON-RPC error in `response`. */
void hf_query_complain(const struct hf_json_doc *doc, uint32_t response);

/* Prints the tools of a page, a line each, or as elements of a JSON array of which `printed` are there. Returns how
 * many. */
size_t hf_query_print_tools(const struct hf_json_doc *doc, uint32_t result, bool json, size_t printed);

/* Prints the content of a tool's result. Returns enum hf_exit. */
int hf_query_print_content(const struct hf_json_doc *doc, uint32_t result);

/* Prints the servers of a status and their tools, each with its safety. HF_EXIT_FAILED if a server that should work
 * doesn't. */
int hf_query_print_probe(const struct hf_json_doc *doc, uint32_t status);

/* Starts the servers of a configuration and explains their tools. Returns enum hf_exit. */
int hf_query_probe(const struct hf_args *args);

#endif
