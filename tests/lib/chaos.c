/* chaos: the product's faulty server (`holdfast chaos`) as a program of its own, which needs nothing of the product
 * that the tests are about. */
#include "chaos/run.h"

#include <stdio.h>

int main(int argc, char **argv) {
  struct hf_chaos_options options;
  struct hf_error error = {0};
  hf_chaos_options_init(&options);
  if (argc < 1 || hf_chaos_options_parse(&options, argv + 1, &error) != 0 ||
      (!options.help && hf_chaos_options_check(&options, &error) != 0)) {
    fprintf(stderr, "%s\n", error.text);
    return 2;
  }
  if (options.help) {
    hf_chaos_options_help();
    return 0;
  }
  int code = hf_chaos_run(&options, &error);
  if (error.code != 0) {
    fprintf(stderr, "%s\n", error.text);
  }
  return code;
}
