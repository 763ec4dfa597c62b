#include "cli/args.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* If one of the three is missing, what is opened next would take its place, and be written to as a log. */
static bool open_standard(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
      return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (!open_standard())
    return HF_EXIT_UNAVAILABLE;
  const char *name = argc > 1 ? argv[1] : NULL;
  if (!name) {
    hf_command_help(NULL);
    return HF_EXIT_USAGE;
  }
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    name = "help";
  else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
    name = "version";

  struct hf_error error;
  const struct hf_command *command = hf_command_find(name, &error);
  struct hf_args args;
  if (!command || hf_args_parse(command, argv + 2, &args, &error) < 0)
    return hf_complain(HF_EXIT_USAGE, "%s", error.text);
  if (args.flags & HF_FLAG_HELP) {
    hf_command_help(command);
    return HF_EXIT_GOOD;
  }
  return command->run(&args);
}
