#include "chaos/memory.h"

#include "chaos/ledger.h"
#include "chaos/pick.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096, READ_BYTES = 65536 };

void hf_chaos_memory_init(struct hf_chaos_memory *memory) {
  *memory = (struct hf_chaos_memory){.file = -1};
  hf_buf_init(&memory->unread, READ_BYTES + LINE_MAX_BYTES);
}

void hf_chaos_memory_deinit(struct hf_chaos_memory *memory) {
  for (size_t i = 0; memory->ring != NULL && i < HF_CHAOS_MEMORY_MAX; i++) {
    hf_free(memory->ring[i].tool);
  }
  hf_free(memory->ring);
  hf_buf_deinit(&memory->unread);
  if (memory->file >= 0) {
    (void)close(memory->file);
  }
}

/* Copies `text` to `at`, ends it, and returns what is behind it. */
static char *keep(char *at, struct hf_str text) {
  if (text.len > 0) {
    memcpy(at, text.ptr, text.len);
  }
  at[text.len] = '\0';
  return at + text.len + 1;
}

static const struct hf_chaos_execution *add(struct hf_chaos_memory *memory, struct hf_str tool, struct hf_str key,
                                            struct hf_str arguments, int64_t at_ms) {
  if (memory->ring == NULL) {
    memory->ring = hf_chaos_have(hf_calloc(HF_CHAOS_MEMORY_MAX, sizeof *memory->ring));
  }
  struct hf_chaos_execution *e = &memory->ring[memory->count % HF_CHAOS_MEMORY_MAX];
  hf_free(e->tool);
  e->tool = hf_chaos_have(hf_malloc(tool.len + key.len + arguments.len + 3));
  e->key = keep(e->tool, tool);
  e->arguments = keep(e->key, key);
  keep(e->arguments, arguments);
  e->at_ms = at_ms;
  e->number = ++memory->count;
  return e;
}

static struct hf_str next_word(struct hf_str *line) {
  const char *blank = line->len > 0 ? memchr(line->ptr, ' ', line->len) : NULL;
  struct hf_str word = {line->ptr, blank ? (size_t)(blank - line->ptr) : line->len};
  size_t used = word.len + (blank != NULL);
  *line = (struct hf_str){line->ptr + used, line->len - used};
  return word;
}

static void take_line(struct hf_chaos_memory *memory, struct hf_str line) {
  struct hf_str tool = next_word(&line);
  struct hf_str key = next_word(&line);
  long at_ms = hf_pick_number(next_word(&line), 0);
  if (hf_pick_number(next_word(&line), 0) != memory->pid) {
    add(memory, tool, key, line, at_ms);
  }
}

/* Takes in what others have written meanwhile. */
static void catch_up(struct hf_chaos_memory *memory) {
  ssize_t got = 0;
  while (memory->file >= 0 && hf_buf_reserve(&memory->unread, READ_BYTES) == 0 &&
         (got = read(memory->file, memory->unread.data + memory->unread.len, READ_BYTES)) > 0) {
    memory->unread.len += (size_t)got;
    const char *end;
    size_t used = 0;
    while ((end = memchr(memory->unread.data + used, '\n', memory->unread.len - used)) != NULL) {
      size_t len = (size_t)(end - memory->unread.data) - used;
      take_line(memory, (struct hf_str){memory->unread.data + used, len});
      used += len + 1;
    }
    hf_buf_consume(&memory->unread, used);
  }
}

void hf_chaos_memory_follow(struct hf_chaos_memory *memory, const char *path) {
  struct stat stat;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0 && (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))) {
    (void)close(fd);
    fd = -1;
  }
  memory->file = fd;
  catch_up(memory);
  memory->pid = (long)getpid(); /* what this process writes from now on, it is told */
}

const struct hf_chaos_execution *hf_chaos_memory_add(struct hf_chaos_memory *memory, const char *tool, const char *key,
                                                     struct hf_str arguments, int64_t at_ms) {
  char shown[HF_CHAOS_LEDGER_KEY_MAX + 1];
  hf_chaos_ledger_key(key, shown);
  size_t len = arguments.len < HF_CHAOS_LEDGER_ARGUMENTS_MAX ? arguments.len : HF_CHAOS_LEDGER_ARGUMENTS_MAX;
  return add(memory, hf_str_from(tool), hf_str_from(shown), (struct hf_str){arguments.ptr, len}, at_ms);
}

/* The oldest one that is remembered. */
static unsigned long oldest(const struct hf_chaos_memory *memory) {
  return memory->count > HF_CHAOS_MEMORY_MAX ? memory->count - HF_CHAOS_MEMORY_MAX : 0;
}

const struct hf_chaos_execution *hf_chaos_memory_find(struct hf_chaos_memory *memory, const char *tool, const char *key,
                                                      int64_t since_ms) {
  char shown[HF_CHAOS_LEDGER_KEY_MAX + 1];
  hf_chaos_ledger_key(key, shown);
  catch_up(memory);
  for (unsigned long i = oldest(memory); i < memory->count; i++) {
    const struct hf_chaos_execution *e = &memory->ring[i % HF_CHAOS_MEMORY_MAX];
    if (e->at_ms >= since_ms && strcmp(e->key, shown) == 0 && strcmp(e->tool, tool) == 0) {
      return e;
    }
  }
  return NULL;
}

static bool includes(struct hf_str arguments, struct hf_str asked) {
  struct hf_str name;
  struct hf_str value;
  size_t at = 0;
  while (hf_pick_next(asked, &at, &name, &value)) {
    char text[HF_CHAOS_LEDGER_KEY_MAX + 1];
    if (name.len >= sizeof text) {
      return false;
    }
    keep(text, name);
    if (!hf_str_equal(hf_pick_member(arguments, text), value)) {
      return false;
    }
  }
  return true;
}

unsigned long hf_chaos_memory_count(struct hf_chaos_memory *memory, const char *tool, struct hf_str asked) {
  unsigned long count = 0;
  catch_up(memory);
  for (unsigned long i = oldest(memory); i < memory->count; i++) {
    const struct hf_chaos_execution *e = &memory->ring[i % HF_CHAOS_MEMORY_MAX];
    count += strcmp(e->tool, tool) == 0 && includes(hf_str_from(e->arguments), asked);
  }
  return count;
}

bool hf_chaos_memory_same(const struct hf_chaos_execution *execution, struct hf_str arguments) {
  size_t len = strlen(execution->arguments);
  return arguments.len >= len && (arguments.len == len || len >= HF_CHAOS_LEDGER_ARGUMENTS_MAX) &&
         memcmp(arguments.ptr, execution->arguments,
                len < HF_CHAOS_LEDGER_ARGUMENTS_MAX ? len : HF_CHAOS_LEDGER_ARGUMENTS_MAX) == 0;
}
