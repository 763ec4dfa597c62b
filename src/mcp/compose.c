#include "mcp/compose.h"

#include "json/write.h"

enum { FRAME_MAX = 1024 }; /* what stands around params */

static void begin(struct hf_json_writer *w, struct hf_buf *buf) {
  hf_json_writer_init(w, buf);
  hf_json_write_object(w);
  hf_json_write_member_str(w, "jsonrpc", HF_STR("2.0"));
}

static int end(struct hf_json_writer *w) {
  hf_json_write_object_end(w);
  return hf_json_write_finish(w);
}

static void write_id(struct hf_json_writer *w, struct hf_str id) {
  hf_json_write_member_raw(w, "id", id.ptr ? id : HF_STR("null"));
}

static void write_call(struct hf_json_writer *w, struct hf_str method, struct hf_str params) {
  hf_json_write_member_str(w, "method", method);
  if (params.ptr)
    hf_json_write_member_raw(w, "params", params);
}

int hf_compose_request(struct hf_buf *buf, struct hf_str id, struct hf_str method, struct hf_str params) {
  struct hf_json_writer w;
  begin(&w, buf);
  write_id(&w, id);
  write_call(&w, method, params);
  return end(&w);
}

int hf_compose_notification(struct hf_buf *buf, struct hf_str method, struct hf_str params) {
  struct hf_json_writer w;
  begin(&w, buf);
  write_call(&w, method, params);
  return end(&w);
}

int hf_compose_notice(struct hf_pieces *pieces, enum hf_method method, struct hf_str params) {
  struct hf_buf text;
  hf_buf_init(&text, params.len + FRAME_MAX);
  int r = hf_compose_notification(&text, hf_method_info(method)->name, params);
  if (r == 0)
    r = hf_pieces_add_copy(pieces, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return r;
}

int hf_compose_result(struct hf_buf *buf, struct hf_str id, struct hf_str result) {
  struct hf_json_writer w;
  begin(&w, buf);
  write_id(&w, id);
  hf_json_write_member_raw(&w, "result", result);
  return end(&w);
}

int hf_compose_error(struct hf_buf *buf, struct hf_str id, int code, struct hf_str message, struct hf_str data) {
  struct hf_json_writer w;
  begin(&w, buf);
  write_id(&w, id);
  hf_json_write_key(&w, "error");
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "code", code);
  hf_json_write_member_str(&w, "message", message);
  if (data.ptr)
    hf_json_write_member_raw(&w, "data", data);
  hf_json_write_object_end(&w);
  return end(&w);
}

int hf_compose_unsupported_version(struct hf_buf *buf, struct hf_str id, enum hf_era era, struct hf_str requested) {
  enum { DATA_MAX = 16 << 10, REQUESTED_MAX = 256 };
  if (requested.len > REQUESTED_MAX)
    requested.len = REQUESTED_MAX;
  struct hf_buf data;
  hf_buf_init(&data, DATA_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &data);
  hf_json_write_object(&w);
  hf_json_write_key(&w, "supported");
  hf_json_write_array(&w);
  for (int v = HF_VERSION_NEWEST; v > HF_VERSION_UNKNOWN; v--)
    if (hf_version_era((enum hf_version)v) == era)
      hf_json_write_str(&w, hf_version_text((enum hf_version)v));
  hf_json_write_array_end(&w);
  hf_json_write_member_str(&w, "requested", requested);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_compose_error(buf, id, HF_RPC_UNSUPPORTED_VERSION, HF_STR("unsupported protocol version"),
                         hf_buf_str(&data));
  hf_buf_deinit(&data);
  return r;
}
