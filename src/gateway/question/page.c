#include "gateway/question/page.h"

#include "base/alloc.h"
#include "gateway/catalog/capabilities.h"
#include "gateway/outcome.h"
#include "gateway/question/held.h"
#include "gateway/question/input_required.h"
#include "mcp/compose.h"
#include "json/value.h"
#include "json/write.h"

#include <stdio.h>

enum { PAGE_NODES_MAX = 4096, PAGE_TEXT_MAX = 1 << 20, PAGE_KEY_MAX = 24, REFUSAL_MAX = 1024 };

/* A state that was given out. */
struct page {
  struct hf_list link;
  uint64_t number;
};

bool hf_page_is_wanted(const struct hf_exchange *exchange, const struct hf_message *response) {
  return exchange->era == HF_ERA_MODERN && response->kind == HF_MESSAGE_ERROR &&
         response->error_code == HF_RPC_PAGE_REQUIRED;
}

static struct page *first(const struct hf_gateway *gateway) {
  return HF_CONTAINER_OF(gateway->pages.next, struct page, link);
}

static void forget(struct hf_gateway *gateway, struct page *page) {
  hf_list_remove(&page->link);
  gateway->page_count--;
  hf_free(page);
}

void hf_page_forget(struct hf_gateway *gateway) {
  while (!hf_list_empty(&gateway->pages))
    forget(gateway, first(gateway));
}

static int note(struct hf_gateway *gateway, uint64_t number) {
  struct page *page = hf_calloc(1, sizeof *page);
  if (!page)
    return HF_ERR_NOMEM;
  if (gateway->page_count >= HF_PAGES_MAX)
    forget(gateway, first(gateway));
  page->number = number;
  hf_list_push_back(&gateway->pages, &page->link);
  gateway->page_count++;
  return 0;
}

static bool use_up(struct hf_gateway *gateway, uint64_t number) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->pages) {
    struct page *page = HF_CONTAINER_OF(it, struct page, link);
    if (page->number != number)
      continue;
    forget(gateway, page);
    return true;
  }
  return false;
}

static void write_key(unsigned index, char key[PAGE_KEY_MAX]) {
  int n = snprintf(key, PAGE_KEY_MAX, "page-%u", index);
  (void)n;
}

/* Each page as a request to open it. Returns 0 or HF_ERR_INVALID if there is none. */
static int write_requests(const struct hf_json_doc *doc, struct hf_buf *out) {
  uint32_t list, page;
  if (hf_json_type(doc, 0) != HF_JSON_OBJECT || hf_json_member(doc, 0, HF_STR("elicitations"), &list) < 0 ||
      hf_json_type(doc, list) != HF_JSON_ARRAY)
    return HF_ERR_INVALID;
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  unsigned count = 0;
  struct hf_json_iter iter = hf_json_iter(doc, list);
  while (hf_json_next(doc, &iter, NULL, &page)) {
    char key[PAGE_KEY_MAX];
    if (hf_json_type(doc, page) != HF_JSON_OBJECT)
      continue;
    write_key(count++, key);
    hf_json_write_key(&w, key);
    hf_json_write_object(&w);
    hf_json_write_member_str(&w, "method", hf_method_info(HF_METHOD_ELICIT)->name);
    hf_json_write_member_raw(&w, "params", hf_json_span(doc, page));
    hf_json_write_object_end(&w);
  }
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  return r == 0 && count == 0 ? HF_ERR_INVALID : r;
}

static int read_pages(const struct hf_message *response, struct hf_buf *out) {
  const struct hf_str data = hf_message_raw(response, HF_FIELD_ERROR_DATA);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_nodes = PAGE_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = data.ptr && hf_json_scan_feed(&scan, data.ptr, data.len, true) == 0 ? 0 : HF_ERR_INVALID;
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(data.ptr, &scan);
    r = write_requests(&doc, out);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static int write_state(struct hf_exchange *exchange, struct hf_buf *out) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_signed_state state = {.kind = HF_STATE_PAGE,
                                  .expires_ms = gateway->loop->wall_ms + HF_HELD_MS,
                                  .number = hf_gateway_next_id(gateway),
                                  .tries = exchange->pages + 1};
  int r = hf_held_identify(exchange, &state.call);
  if (r == 0)
    r = note(gateway, state.number);
  return r == 0 ? hf_signed_state_write(&gateway->signer, &state, out) : r;
}

int hf_page_tell(struct hf_exchange *exchange, const struct hf_message *response, struct hf_message *ret_made) {
  if (!hf_capabilities_read(exchange->meta.capabilities).elicitation_url)
    return HF_ERR_UNSUPPORTED;
  if (exchange->pages >= HF_PAGE_TRIES_MAX)
    return HF_ERR_LIMIT;
  struct hf_buf requests, state, result, text;
  hf_buf_init(&requests, PAGE_TEXT_MAX);
  hf_buf_init(&state, HF_SIGNED_STATE_MAX);
  hf_buf_init(&result, 2 * PAGE_TEXT_MAX);
  hf_buf_init(&text, 2 * PAGE_TEXT_MAX);
  struct hf_refusal refusal;
  int r = read_pages(response, &requests);
  if (r == 0)
    r = write_state(exchange, &state);
  if (r == 0)
    r = hf_input_required_write(
        exchange, &(struct hf_input_required){.requests = hf_buf_str(&requests), .state = hf_buf_str(&state)}, &result);
  if (r == 0)
    r = hf_compose_result(&text, HF_STR("0"), hf_buf_str(&result));
  if (r == 0)
    r = hf_message_decode(&text, ret_made, &refusal);
  hf_buf_deinit(&requests);
  hf_buf_deinit(&state);
  hf_buf_deinit(&result);
  hf_buf_deinit(&text);
  return r;
}

static bool is_accepted(const struct hf_json_doc *doc, uint32_t response) {
  uint32_t action;
  return hf_json_type(doc, response) == HF_JSON_OBJECT &&
         hf_json_member(doc, response, HF_STR("action"), &action) == 0 && hf_json_type(doc, action) == HF_JSON_STRING &&
         hf_json_string_is(doc, action, HF_STR("accept"));
}

/* Every answer says yes, and there is one. */
static bool all_accepted(struct hf_str responses) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_nodes = PAGE_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  bool accepted = false;
  if (responses.ptr && hf_json_scan_feed(&scan, responses.ptr, responses.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(responses.ptr, &scan);
    struct hf_json_iter iter = hf_json_iter(&doc, 0);
    uint32_t key, value;
    accepted = iter.object && iter.at < iter.end;
    while (accepted && hf_json_next(&doc, &iter, &key, &value))
      accepted = is_accepted(&doc, value);
  }
  hf_json_scan_deinit(&scan);
  return accepted;
}

static bool refuse(struct hf_exchange *exchange, const char *why) {
  struct hf_buf text;
  hf_buf_init(&text, REFUSAL_MAX);
  (void)hf_buf_printf(&text,
                      "The call needs a page to be opened first, and %s. Nothing was executed. To try again, make the "
                      "call anew, without requestState and inputResponses.",
                      why);
  hf_outcome_answer_refusal(exchange, HF_FAULT_INPUT_REQUIRED, HF_RPC_INVALID_PARAMS, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return true;
}

bool hf_page_return(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_message *request = &exchange->request;
  struct hf_str text;
  if (exchange->era != HF_ERA_MODERN || hf_message_string(request, HF_FIELD_REQUEST_STATE, &text) < 0 ||
      !hf_signed_state_is_of(HF_STATE_PAGE, text) || !hf_signed_state_is_ours(&gateway->signer, text))
    return false;
  struct hf_fingerprint call;
  struct hf_signed_state state = {0};
  int r = hf_held_identify(exchange, &call);
  if (r == 0)
    r = hf_signed_state_read(&gateway->signer, text, &call, gateway->loop->wall_ms, &state);
  if (r < 0)
    return refuse(exchange, r == HF_ERR_CLOSED ? "this answer comes too late" : "this answer belongs to another call");
  if (!use_up(gateway, state.number))
    return refuse(exchange, "this answer was given before");
  if (!all_accepted(hf_message_raw(request, HF_FIELD_INPUT_RESPONSES)))
    return refuse(exchange, "the person did not agree to that");
  exchange->pages = state.tries;
  request->at[HF_FIELD_REQUEST_STATE] = HF_JSON_NONE;
  request->at[HF_FIELD_INPUT_RESPONSES] = HF_JSON_NONE;
  return false;
}
