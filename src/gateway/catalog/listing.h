/* One list of one upstream: its tools, prompts, resources or resource templates.
 *
 * It is loaded page by page and kept until the server announces a change or its time is up; while it is loaded anew,
 * and when that fails, the old one stays. Announcements are taken together (pace.h); a loading that one of them asked
 * for and that failed is tried again, ever later. A cursor that does not advance, too many pages and too many items end
 * a list, with what was read; an item that cannot be read is left out alone. Items keep their own bytes. */
#ifndef HF_GATEWAY_CATALOG_LISTING_H
#define HF_GATEWAY_CATALOG_LISTING_H

#include "base/arena.h"
#include "base/map.h"
#include "gateway/catalog/pace.h"
#include "gateway/catalog/param_header.h"
#include "gateway/loop.h"
#include "gateway/upstream.h"
#include "gateway/validator.h"
#include "policy/classify.h"

enum hf_list_kind { HF_LIST_TOOLS, HF_LIST_PROMPTS, HF_LIST_RESOURCES, HF_LIST_TEMPLATES, HF_LIST_COUNT };

enum { HF_LIST_PAGES_MAX = 1000, HF_LIST_ITEMS_MAX = 10000, HF_LIST_BYTES_MAX = 64 << 20 };

enum hf_schema_side { HF_SCHEMA_INPUT, HF_SCHEMA_OUTPUT, HF_SCHEMA_SIDES };

/* Whether a tool of 2025-11-25 makes tasks (`execution.taskSupport`). */
enum hf_task_support {
  HF_TASK_SUPPORT_UNSAID,
  HF_TASK_SUPPORT_FORBIDDEN,
  HF_TASK_SUPPORT_OPTIONAL,
  HF_TASK_SUPPORT_REQUIRED
};

struct hf_item {
  struct hf_str key;                 /* its name or URI, unescaped */
  struct hf_str raw;                 /* the whole object */
  struct hf_str raw_key;             /* within `raw`: the value of the key, with its quotes */
  enum hf_safety annotated;          /* of a tool: what its annotations say */
  enum hf_task_support task_support; /* of a tool */
  struct hf_str schema;              /* of a tool: raw inputSchema and outputSchema within `raw`, or absent */
  struct hf_str output_schema;
  struct hf_str filled;            /* of a tool, once it was asked for: `raw` with its inputSchema completed */
  struct hf_str filled_key;        /* within that: the value of the key */
  struct hf_compiled *compiled;    /* of a tool: both, by enum hf_schema_side */
  struct hf_param_headers headers; /* of a tool: arguments that travel as headers too */
};

struct hf_items {
  struct hf_arena arena;
  struct hf_item *item;
  size_t count;
  size_t cap;
  struct hf_map by_key; /* to index plus one, as a pointer */
  uint64_t digest;      /* of the items in their order */
};

enum hf_listing_state {
  HF_LISTING_NONE,   /* not loaded yet */
  HF_LISTING_KNOWN,  /* items are good, if perhaps stale */
  HF_LISTING_ABSENT, /* the server has no such list */
  HF_LISTING_FAILED, /* could not be loaded, and never was */
};

struct hf_instance;

struct hf_listing {
  struct hf_instance *instance;
  enum hf_list_kind kind;
  enum hf_listing_state state;
  struct hf_items items;
  hf_time tried_at; /* when the last loading ended, well or not */
  hf_time loaded_at;
  hf_time expires; /* by the server's own word; HF_TIME_NEVER: it said nothing */
  bool is_public;  /* by its word, too: it is the same for everybody */
  bool is_old;     /* a change was announced since */
  struct hf_pace pace;
  unsigned failures; /* in a row */

  /* While it is being loaded. */
  bool loading;
  bool again; /* a change was announced meanwhile */
  struct hf_items next;
  hf_time next_expires; /* of the pages so far, the first to do so */
  bool next_is_public;  /* all of them */
  unsigned pages;
  struct hf_str cursor; /* raw, of the page under way; owned by `next.arena` */
  struct hf_attempt_ref *ref;
  struct hf_timer timer; /* of the page; while none is under way, until the list is loaded for a notice */
};

int hf_listing_init(struct hf_listing *listing, struct hf_instance *instance, enum hf_list_kind kind);
void hf_listing_deinit(struct hf_listing *listing);

/* Starts loading; the instance is READY. While it loads, remembers that it must be loaded again. */
void hf_listing_load(struct hf_listing *listing);

/* The server says that it has changed: it is old, and is loaded anew when it is time to. */
void hf_listing_notice(struct hf_listing *listing);

/* Until when it need not be asked for anew: the past if it is old. */
hf_time hf_listing_fresh_until(const struct hf_listing *listing);

/* The server has no such list. */
void hf_listing_set_absent(struct hf_listing *listing);

/* NULL if it is not in the list. */
const struct hf_item *hf_listing_find(const struct hf_listing *listing, struct hf_str key);

/* Completes the inputSchema of a tool of the list (schema/fill.h), once; where that cannot be done, `filled` is `raw`.
 */
void hf_listing_fill(struct hf_listing *listing, struct hf_item *item);

/* The schema of a tool of the list, compiled; NULL if it has none, or none that can be used, which is logged once. Good
 * as long as the item is. */
const struct hf_schema *hf_listing_schema(const struct hf_listing *listing, const struct hf_item *item,
                                          enum hf_schema_side side);

/* The method that lists this kind, and the notification that announces a change of it. */
enum hf_method hf_list_method(enum hf_list_kind kind);
enum hf_method hf_list_changed_method(enum hf_list_kind kind);

#endif
