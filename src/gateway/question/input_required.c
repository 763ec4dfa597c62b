#include "gateway/question/input_required.h"

#include "gateway/outcome.h"
#include "json/write.h"

int hf_input_request_write(enum hf_method method, struct hf_str params, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "method", hf_method_info(method)->name);
  if (params.ptr)
    hf_json_write_member_raw(&w, "params", params);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

int hf_input_required_write(const struct hf_exchange *exchange, const struct hf_input_required *what,
                            struct hf_buf *out) {
  const struct hf_outcome outcome = {
      .executed = what->executed,
      .elapsed = exchange->client->gateway->loop->now - exchange->started,
      .retry_after = -1,
  };
  struct hf_buf marker;
  hf_buf_init(&marker, HF_OUTCOME_MARKER_MAX);
  int r = hf_outcome_marker(exchange, &outcome, &marker);
  if (r == 0) {
    struct hf_json_writer w;
    hf_json_writer_init(&w, out);
    hf_json_write_object(&w);
    hf_json_write_member_str(&w, "resultType", HF_STR("input_required"));
    hf_json_write_member_raw(&w, "inputRequests", what->requests);
    hf_json_write_member_str(&w, "requestState", what->state);
    hf_json_write_key(&w, "_meta");
    hf_json_write_object(&w);
    hf_json_write_member_raw(&w, HF_META_OUTCOME, hf_buf_str(&marker));
    hf_json_write_object_end(&w);
    hf_json_write_object_end(&w);
    r = hf_json_write_finish(&w);
  }
  hf_buf_deinit(&marker);
  return r;
}
