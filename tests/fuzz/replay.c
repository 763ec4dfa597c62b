/* Runs a fuzz target over files and folders without a fuzzer, so that each corpus is a test of every build. */
#include "require.h"

#include <dirent.h>
#include <string.h>

enum { INPUT_MAX = 1 << 20, PATH_BYTES = 4096 };

static long inputs;

static void run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  REQUIRE(file);
  uint8_t *buffer = malloc(INPUT_MAX);
  REQUIRE(buffer);
  size_t len = fread(buffer, 1, INPUT_MAX, file);
  REQUIRE(!ferror(file));
  fclose(file);
  /* An allocation of the exact size lets a sanitizer see a read past the end. */
  uint8_t *exact = malloc(len ? len : 1);
  REQUIRE(exact);
  memcpy(exact, buffer, len);
  free(buffer);
  LLVMFuzzerTestOneInput(exact, len);
  free(exact);
  inputs++;
}

static void run_folder(const char *path) {
  DIR *dir = opendir(path);
  REQUIRE(dir);
  struct dirent *entry;
  while ((entry = readdir(dir)) != NULL) {
    char file[PATH_BYTES];
    if (entry->d_name[0] == '.')
      continue;
    int n = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    REQUIRE(n > 0 && (size_t)n < sizeof file);
    run_file(file);
  }
  closedir(dir);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    run_folder(argv[i]);
  printf("%ld inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
