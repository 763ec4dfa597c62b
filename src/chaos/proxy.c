#include "chaos/proxy.h"

#include "chaos/child.h"
#include "chaos/pick.h"
#include "chaos/pipe.h"
#include "chaos/spoil.h"

#include "base/alloc.h"
#include "base/error.h"

enum { UNAVAILABLE = 3 };

struct proxy {
  struct hf_chaos *chaos;
  struct hf_chaos_pipe *client;
  struct hf_chaos_child *child;
  struct hf_map pending; /* raw id → struct pending, of requests whose answers are to be spoiled */
};

struct pending {
  struct hf_chaos_fault fault;
  struct hf_chaos_kind kind;
};

static void child_line(void *data, struct hf_str line) {
  struct proxy *proxy = data;
  struct hf_str id = {NULL, 0};
  if (proxy->pending.len > 0 && hf_chaos_well_formed(line) && hf_pick_member(line, "method").ptr == NULL) {
    id = hf_pick_member(line, "id");
  }
  struct pending *pending = id.ptr != NULL ? hf_map_remove(&proxy->pending, id) : NULL;
  if (pending == NULL) {
    hf_chaos_pipe_put(proxy->client, line);
    hf_chaos_pipe_put(proxy->client, HF_STR("\n"));
    return;
  }
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  hf_chaos_spoil_answer(proxy->chaos, &pending->fault, pending->kind, id, line, &answer);
  hf_free(pending);
  hf_chaos_pipe_answer(proxy->client, &answer);
}

static void child_rest(void *data, struct hf_str rest) {
  struct proxy *proxy = data;
  if (proxy->client != NULL) {
    hf_chaos_pipe_put(proxy->client, rest);
  }
}

/* The server is gone, and so are we, once what it said has been passed on. */
static void child_ended(void *data) {
  struct proxy *proxy = data;
  if (proxy->client != NULL) {
    hf_chaos_pipe_close_input(proxy->client);
  }
}

/* Remembers what is to become of the request's answer. */
static void expect(struct proxy *proxy, const struct hf_chaos_fault *fault, const struct hf_chaos_glance *glance) {
  struct pending *pending = hf_chaos_have(hf_calloc(1, sizeof *pending));
  *pending = (struct pending){.fault = *fault, .kind = glance->kind};
  struct pending *old = hf_map_remove(&proxy->pending, glance->id); /* a client that uses an id twice */
  hf_free(old);
  hf_chaos_must(hf_map_put(&proxy->pending, glance->id, pending));
}

static void answer_instead(struct proxy *proxy, const struct hf_chaos_fault *fault,
                           const struct hf_chaos_glance *glance) {
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  hf_chaos_spoil_instead(proxy->chaos, fault, glance, &answer);
  hf_chaos_pipe_answer(proxy->client, &answer);
}

static void client_line(void *data, struct hf_str line) {
  struct proxy *proxy = data;
  const struct hf_chaos_glance glance = hf_chaos_glance(proxy->chaos, line);
  if (glance.method[0] == '\0') {
    hf_chaos_child_put(proxy->child, line);
    return;
  }
  struct hf_chaos_fault fault = hf_chaos_meet(proxy->chaos, &glance);
  if (!fault.executes) {
    answer_instead(proxy, &fault, &glance);
    return;
  }
  if (fault.kind != HF_CHAOS_NONE || (glance.kind.list && proxy->chaos->drifts > 0)) {
    expect(proxy, &fault, &glance);
  }
  hf_chaos_child_put(proxy->child, line);
}

static void client_gone(void *data) {
  struct proxy *proxy = data;
  hf_chaos_child_close(proxy->child);
}

static void dying(void *data) {
  struct proxy *proxy = data;
  hf_chaos_child_kill(proxy->child);
}

int hf_chaos_proxy_run(uv_loop_t *loop, struct hf_chaos *chaos, char **command, struct hf_error *reterr) {
  struct proxy proxy = {.chaos = chaos};
  const struct hf_chaos_pipe_owner client = {&proxy, client_line, client_gone, dying};
  const struct hf_chaos_child_owner child = {&proxy, child_line, child_rest, child_ended};
  if (hf_chaos_child_new(loop, command, &child, &proxy.child, reterr) != 0) {
    return UNAVAILABLE;
  }
  hf_map_init(&proxy.pending, HF_CHAOS_PENDING_MAX);
  int code = UNAVAILABLE;
  if (hf_chaos_pipe_new(loop, &client, &proxy.client, reterr) != 0) {
    hf_chaos_child_kill(proxy.child);
    uv_run(loop, UV_RUN_DEFAULT);
  } else {
    uv_run(loop, UV_RUN_DEFAULT);
    code = hf_chaos_child_code(proxy.child);
  }
  hf_chaos_pipe_free(proxy.client);
  for (size_t i = 0; i < proxy.pending.len; i++) {
    hf_free(proxy.pending.entries[i].value);
  }
  hf_map_deinit(&proxy.pending);
  hf_chaos_child_free(proxy.child);
  return code;
}
