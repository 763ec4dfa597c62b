#include "chaos/late.h"

#include "chaos/pick.h"

#include "base/alloc.h"

struct late {
  uv_timer_t timer;
  struct hf_chaos *chaos;
  struct hf_buf message;
  struct hf_buf head;
};

static void closed(uv_handle_t *handle) {
  struct late *late = handle->data;
  hf_buf_deinit(&late->message);
  hf_buf_deinit(&late->head);
  hf_free(late);
}

static void fire(uv_timer_t *timer) {
  struct late *late = timer->data;
  const struct hf_chaos_request request = {.message = hf_buf_str(&late->message), .head = hf_buf_str(&late->head)};
  hf_chaos_execute(late->chaos, &request);
  uv_close((uv_handle_t *)timer, closed);
}

void hf_chaos_late(uv_loop_t *loop, struct hf_chaos *chaos, const struct hf_chaos_request *request, long ms) {
  struct late *late = hf_chaos_have(hf_calloc(1, sizeof *late));
  late->chaos = chaos;
  hf_buf_init(&late->message, HF_CHAOS_MESSAGE_MAX);
  hf_buf_init(&late->head, HF_CHAOS_MESSAGE_MAX);
  hf_chaos_must(hf_buf_append_str(&late->message, request->message));
  hf_chaos_must(hf_buf_append_str(&late->head, request->head));
  uv_timer_init(loop, &late->timer);
  late->timer.data = late;
  uv_timer_start(&late->timer, fire, (uint64_t)ms, 0);
}
