/* The heads of the transport's requests: what each era wants in them, and no secret anywhere else. */
#include "base/error.h"
#include "gateway/loop.h"
#include "mcp/era.h"
#include "mcp/field_value.h"
#include "mcp/methods.h"
#include "policy/retry.h"
#include "upstream/http_state.h"

bool hf_http_is_type(struct hf_str value, struct hf_str type) {
  const char *semicolon = value.len ? memchr(value.ptr, ';', value.len) : NULL;
  if (semicolon)
    value.len = (size_t)(semicolon - value.ptr);
  return hf_str_equal_nocase(hf_str_trim(value), type);
}

bool hf_http_may_be_json(struct hf_str type) {
  static const char *const types[] = {"application/json", "text/json", "text/plain", "application/octet-stream"};
  static const struct hf_str suffix = HF_STR("+json");
  const char *semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;
  if (semicolon)
    type.len = (size_t)(semicolon - type.ptr);
  type = hf_str_trim(type);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (hf_str_equal_nocase(type, hf_str_from(types[i])))
      return true;
  return !type.len ||
         (type.len > suffix.len && hf_bytes_equal_nocase(type.ptr + type.len - suffix.len, suffix.ptr, suffix.len));
}

bool hf_http_is_passing(int status) {
  return status == 408 || status == 425 || status == 429 || status >= 500;
}

hf_time hf_http_retry_after(const struct hf_http *http, const struct hf_http1_reader *response) {
  hf_time after = -1;
  struct hf_str value = hf_http1_header(response, HF_STR("retry-after"));
  if (value.ptr)
    (void)hf_retry_after_parse(value, http->loop->wall_ms, &after);
  return after;
}

static int write_name(struct hf_buf *head, struct hf_str name) {
  struct hf_buf value;
  hf_buf_init(&value, HF_REQUEST_HEAD_MAX);
  int r = hf_field_value_encode(&value, name);
  if (r == 0)
    r = hf_http1_write_header(head, HF_STR("Mcp-Name"), hf_buf_str(&value));
  hf_buf_deinit(&value);
  return r;
}

static bool is_argument(struct hf_str header) {
  static const struct hf_str prefix = HF_STR("Mcp-Param-");
  return header.len >= prefix.len && hf_bytes_equal_nocase(header.ptr, prefix.ptr, prefix.len);
}

static int write_modern(struct hf_http *http, struct hf_buf *head, const struct hf_outgoing *out) {
  struct hf_str version = http->version.len ? hf_buf_str(&http->version) : hf_version_text(HF_VERSION_NEWEST);
  int r = hf_http1_write_header(head, HF_STR("MCP-Protocol-Version"), version);
  struct hf_str method = hf_method_info(out->method)->name;
  if (r == 0 && method.len)
    r = hf_http1_write_header(head, HF_STR("Mcp-Method"), method);
  if (r == 0 && out->name.ptr)
    r = write_name(head, out->name);
  return r;
}

/* Arguments are repeated in headers towards modern servers alone; an idempotency key is a server's own affair, whatever
 * its era. */
static int write_params(struct hf_buf *head, const struct hf_outgoing *out, bool modern) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < out->param_count; i++)
    if (modern || !is_argument(out->params[i].name))
      r = hf_http1_write_header(head, out->params[i].name, out->params[i].value);
  return r;
}

static int write_legacy(struct hf_http *http, struct hf_buf *head, bool *ret_carried_session) {
  int r = 0;
  if (http->session.len) {
    r = hf_http1_write_header(head, HF_STR("Mcp-Session-Id"), hf_buf_str(&http->session));
    *ret_carried_session = true;
  }
  if (r == 0 && http->version.len)
    r = hf_http1_write_header(head, HF_STR("MCP-Protocol-Version"), hf_buf_str(&http->version));
  return r;
}

static int write_length(struct hf_buf *head, size_t len) {
  int r = hf_buf_append_str(head, HF_STR("Content-Type: application/json\r\nContent-Length: "));
  char digits[HF_DECIMAL_MAX];
  if (r == 0)
    r = hf_buf_append_str(head, hf_str_decimal(len, digits));
  return r < 0 ? r : hf_buf_append_str(head, HF_STR("\r\n"));
}

int hf_http_write_head(struct hf_http *http, struct hf_buf *head, struct hf_str method, struct hf_str target,
                       const struct hf_outgoing *out, struct hf_str last_event_id, bool *ret_carried_session) {
  *ret_carried_session = false;
  int r = hf_http1_write_start(head, method, target);
  if (r == 0)
    r = hf_buf_append_str(head, hf_buf_str(&http->fixed_head));
  if (r == 0)
    r = out ? hf_buf_append_str(head, HF_STR("Accept: application/json, text/event-stream\r\n"))
            : hf_buf_append_str(head, HF_STR("Accept: text/event-stream\r\n"));
  if (r == 0 && out)
    r = write_length(head, out->text.len);
  bool opening = out && out->method == HF_METHOD_INITIALIZE;
  bool modern = out && (http->era == HF_ERA_MODERN || out->method == HF_METHOD_DISCOVER);
  if (r == 0 && modern)
    r = write_modern(http, head, out);
  else if (r == 0 && !opening)
    r = write_legacy(http, head, ret_carried_session);
  if (r == 0 && out && !opening)
    r = write_params(head, out, modern);
  if (r == 0 && last_event_id.len)
    r = hf_http1_write_header(head, HF_STR("Last-Event-ID"), last_event_id);
  return r < 0 ? r : hf_http1_write_end(head);
}
