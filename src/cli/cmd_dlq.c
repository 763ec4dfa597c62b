#include "cli/dlq.h"

#include "cli/terminal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LEN = 64 };

#define PLACE (HF_FLAG_STATE | HF_FLAG_CONFIG | HF_FLAG_JSON | HF_FLAG_HELP)

static const struct hf_command commands[] = {
    {"dlq list", "", PLACE | HF_FLAG_FILTER | HF_FLAG_STATUS, 0, 0, false, "a line for each letter, the newest first",
     hf_dlq_list},
    {"dlq show", "ID…", PLACE | HF_FLAG_SECRETS, 1, SIZE_MAX, false, "all about a letter, and what to do about it",
     hf_dlq_show},
    {"dlq replay", "[ID…]", HF_FLAG_CONTROL | PLACE | HF_FLAG_FILTER | HF_FLAG_ALL | HF_FLAG_REPLAY, 0, SIZE_MAX, false,
     "have the running gateway call them again", hf_dlq_replay},
    {"dlq discard", "[ID…]", PLACE | HF_FLAG_FILTER | HF_FLAG_STATUS | HF_FLAG_ALL | HF_FLAG_REASON, 0, SIZE_MAX, false,
     "they are done with; retention removes them later", hf_dlq_discard},
    {"dlq requeue", "[ID…]", PLACE | HF_FLAG_FILTER | HF_FLAG_STATUS | HF_FLAG_ALL | HF_FLAG_REASON, 0, SIZE_MAX, false,
     "make them dead again, to be replayed", hf_dlq_requeue},
    {"dlq export", "", PLACE | HF_FLAG_FILTER | HF_FLAG_STATUS | HF_FLAG_SECRETS, 0, 0, false,
     "print letters, a line of JSON each", hf_dlq_export},
    {"dlq import", "[FILE]", PLACE, 0, 1, false, "take in what `export` printed", hf_dlq_import},
    {"dlq analyze", "", PLACE | HF_FLAG_FILTER | HF_FLAG_STATUS, 0, 0, false,
     "what fails where, its trend, and what to do", hf_dlq_analyze},
    {"dlq watch", "", PLACE | HF_FLAG_FILTER, 0, 0, false, "a line for each letter that comes or comes back",
     hf_dlq_watch},
    {NULL},
};

void hf_dlq_print_commands(void) {
  for (const struct hf_command *command = commands; command->name; command++)
    printf("  holdfast %-12s %s%*s %s\n", command->name, command->operands,
           8 - (int)hf_terminal_columns(hf_str_from(command->operands)), "", command->help);
  printf("\n`holdfast dlq COMMAND --help` tells the options. Manual: holdfast-dlq(1).\n");
}

int hf_cmd_dlq(const struct hf_args *args) {
  struct hf_error error = {0};
  const char *word = args->rest[0];
  if (!word || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    hf_command_help(hf_command_find("dlq", &error));
    return word ? HF_EXIT_GOOD : HF_EXIT_USAGE;
  }
  char name[NAME_MAX_LEN];
  int n = snprintf(name, sizeof name, "dlq %.40s", word);
  struct hf_args own;
  const struct hf_command *command = n > 0 ? hf_command_find_in(commands, name, "dlq --help", &error) : NULL;
  if (!command || hf_args_parse(command, args->rest + 1, &own, &error) < 0)
    return hf_complain(HF_EXIT_USAGE, "%s", error.text);
  if (own.flags & HF_FLAG_HELP) {
    hf_command_help(command);
    return HF_EXIT_GOOD;
  }
  return command->run(&own);
}
