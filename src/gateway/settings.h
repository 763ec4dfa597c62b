/* What the configuration decides, as plain data: the daemon fills it from a file, tests fill it by hand.
 *
 * One arena holds everything; settings are immutable once a gateway runs with them, and a reload makes new ones. */
#ifndef HF_GATEWAY_SETTINGS_H
#define HF_GATEWAY_SETTINGS_H

#include "base/arena.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "mcp/era.h"
#include "policy/call.h"
#include "policy/provider.h"

#include <stdbool.h>
#include <stdint.h>

/* A named set under `policies:`. */
struct hf_policy {
  struct hf_timeout_options timeout;
  struct hf_retry_options retry;
  struct hf_breaker_options breaker; /* of each tool */
};

enum hf_transport_kind { HF_TRANSPORT_STDIO, HF_TRANSPORT_HTTP };

enum hf_instance_mode { HF_INSTANCE_SHARED, HF_INSTANCE_SESSION };

enum hf_start { HF_START_LAZY, HF_START_EAGER };

struct hf_strings {
  struct hf_str *item;
  size_t count;
};

/* What becomes of a value that does not fit its schema. */
enum hf_check_mode {
  HF_CHECK_ENFORCE, /* it goes no further */
  HF_CHECK_WARN,    /* it goes on, and is logged and counted */
  HF_CHECK_OFF,     /* nobody looks */
};

enum hf_repair_mode { HF_REPAIR_MODE_SAFE, HF_REPAIR_MODE_OFF };

/* Whether what goes to a tool and comes from it fits the tool's own schemas. */
struct hf_fit_settings {
  enum hf_check_mode validate; /* arguments, before anything is sent */
  enum hf_check_mode results;  /* structured content, against outputSchema */
  enum hf_repair_mode repair;  /* of arguments that do not fit (schema/repair.h) */
  bool complete;               /* show inputSchemas with what is missing in them (schema/fill.h) */
  bool repair_names;           /* of a tool that there is not, but nearly: only to one that only reads */
};

/* `correction.auto`: who is asked for better arguments before some that do not fit are refused. */
enum hf_ask_mode {
  HF_ASK_OFF,
  HF_ASK_CLIENT, /* the caller's own model, through its client */
  HF_ASK_MODEL,  /* the one of `correction.model` */
};

struct hf_ask_settings {
  enum hf_ask_mode mode;
  bool unsafe;     /* the gateway's model is asked also for tools whose calls cannot be repeated */
  hf_time timeout; /* of all tries of a call together */
};

enum hf_model_api { HF_MODEL_OPENAI, HF_MODEL_ANTHROPIC };

/* `correction.model:` a language model of the gateway's own. */
struct hf_model_settings {
  struct hf_str url; /* absent: there is none */
  enum hf_model_api api;
  struct hf_str name;  /* of the model */
  struct hf_str key;   /* absent: none is needed. Shown nowhere */
  hf_time timeout;     /* of one request */
  uint32_t max_tokens; /* of an answer */
  uint32_t budget;     /* tokens an hour, in and out; 0: as many as it takes */
};

struct hf_server_settings {
  struct hf_str name;
  enum hf_transport_kind transport;
  bool disabled;
  struct hf_str disabled_reason; /* an unset variable, "disabled: true"; absent when enabled */

  /* stdio */
  struct hf_str command;
  struct hf_strings args;
  struct hf_strings env; /* "NAME=value", on top of the inherited environment */
  struct hf_str cwd;     /* absent: the gateway's own */

  /* HTTP */
  struct hf_str url;
  bool sse;                  /* HTTP+SSE of 2024-11-05; else it is found out */
  struct hf_str endpoint;    /* of HTTP+SSE: the path of its messages where the server says a wrong one, or absent */
  struct hf_strings headers; /* "Name: value" */
  struct hf_str proxy;       /* absent: from the environment, as curl does */
  struct hf_str ca_file;     /* absent: the system's */
  struct hf_str cert_file;   /* client certificate and its key, or absent */
  struct hf_str key_file;
  bool tls_verify;
  uint32_t max_connections;

  enum hf_era era; /* UNKNOWN: probe */
  enum hf_instance_mode instance;
  bool stateful;         /* no silent renewal of a lost session, no re-send */
  struct hf_str standby; /* the server that is a second endpoint of this one, or absent */
  enum hf_start start;
  hf_time start_timeout; /* spawn or connect, probe and handshake */
  hf_time idle_stop;     /* stop an unused child after this; HF_TIME_NEVER: never */
  hf_time keepalive;     /* ping an idle upstream this often; HF_TIME_NEVER: never */
  uint32_t max_message;  /* bytes of one message from the server */

  struct hf_policy policy;             /* of calls to this server's tools, unless a tool says otherwise */
  struct hf_provider_options provider; /* breaker, budget, concurrency */
  struct hf_strings transient_errors;  /* patterns of `isError` texts that are worth a retry */
  struct hf_fit_settings fit;          /* of its tools, unless an entry says otherwise */
  uint16_t *not_executed;              /* HTTP statuses that prove it did not run */
  size_t not_executed_count;
};

/* A tool as the configuration names it: by its server's and its own name. */
struct hf_tool_name {
  struct hf_str server;
  struct hf_str tool;
};

/* Where a keyed tool takes its idempotency key. */
enum hf_key_place { HF_KEY_NONE, HF_KEY_ARGUMENT, HF_KEY_META, HF_KEY_HEADER };

struct hf_key_settings {
  enum hf_key_place place;
  struct hf_str name; /* of the argument (top level), the member of `_meta`, or the header */
  hf_time ttl;        /* how long the server remembers a key */
};

/* A condition on a JSON value. */
enum hf_operator {
  HF_OPERATOR_EQUALS,   /* the value there is `value` (numbers by value) */
  HF_OPERATOR_NOT,      /* there is a value, and it is not `value` */
  HF_OPERATOR_EXISTS,   /* there is one (`value` true), or there is none (false) */
  HF_OPERATOR_CONTAINS, /* the string there has `value` in it, the array has it as an element */
  HF_OPERATOR_AT_LEAST, /* the number there, or the length of the array, is at least `value` */
};

struct hf_condition {
  struct hf_str pointer; /* JSON Pointer into the result; absent: there is no condition */
  enum hf_operator op;
  struct hf_str value; /* raw JSON */
};

/* `reconcile:` how to find out whether an unsafe tool ran. */
struct hf_reconcile_settings {
  struct hf_tool_name tool; /* what is asked; absent: nothing */
  struct hf_str arguments;  /* raw JSON template over the arguments of the call (json/template.h) */
  struct hf_condition executed;
  struct hf_condition not_executed;
  hf_time timeout; /* kept of the deadline for it */
  hf_time settle;  /* HF_TIME_NEVER: not given */
};

struct hf_cache_settings {
  hf_time ttl;       /* younger answers are given without asking the server; 0: never */
  hf_time max_stale; /* older ones stand in for a failed call up to this age; 0: never */
  bool keep;         /* in the store, over restarts */
};

enum hf_degraded_mode {
  HF_DEGRADED_ANSWER,   /* the last good answer, else the default */
  HF_DEGRADED_EXPLICIT, /* neither: model and user are told, and asked how to go on */
};

/* `default:` what is answered when nothing else is left. Raw JSON templates over the call's arguments. */
struct hf_default_settings {
  struct hf_str text;       /* a JSON string, or absent */
  struct hf_str structured; /* a JSON object, or absent */
};

/* `tasks:` which calls are answered by an id, for clients that know that. */
/* What becomes of a call of the legacy era whose client has gone. */
enum hf_detach { HF_DETACH_KEEP, HF_DETACH_CANCEL };

enum hf_task_mode {
  HF_TASKS_AUTO,   /* those that take long, or that their server makes a task of, or whose client asks for it */
  HF_TASKS_NEVER,  /* none */
  HF_TASKS_ALWAYS, /* all */
};

/* What an entry of `tools:` decides for the tools of one server; an entry that spans servers becomes one per server. */
struct hf_tool_settings {
  struct hf_str server;  /* its name in the configuration */
  struct hf_str pattern; /* over "server__tool", both by their own names; `*` stands for any run of characters */
  bool has_safety;
  enum hf_safety safety;
  bool has_policy;
  struct hf_policy policy;            /* complete: the server's with this entry's options on top */
  bool hidden;                        /* not listed, not callable */
  struct hf_strings transient_errors; /* replaces the server's when not empty */
  uint32_t max_concurrent;            /* its calls in flight at one server; 0: only the server's limit holds */
  uint32_t priority;                  /* HF_PRIORITY_FIRST … HF_PRIORITY_LAST; a caller may only step back */
  bool hedge;
  struct hf_key_settings key;
  struct hf_reconcile_settings reconcile;
  hf_time coalesce; /* how long an equal call finds one whose client has gone; 0: equal calls are not joined at all */
  enum hf_detach detach;
  enum hf_task_mode tasks;
  hf_time task_after;         /* with HF_TASKS_AUTO: a call that has lasted this long becomes a task */
  struct hf_fit_settings fit; /* complete: the server's with this entry's options on top */
  struct hf_ask_settings ask;
  struct hf_condition expect; /* what a result must be, or absent */
  struct hf_strings hints;    /* "pattern\nadvice": what is said beside the tool's own errors that match */
  struct hf_cache_settings cache;
  enum hf_degraded_mode degraded;
  struct hf_default_settings fallback; /* `default:` */
  enum hf_letter_policy letters;
  struct hf_str source; /* where it stands, for `check`: "tools.search__*" */
};

enum hf_route_order { HF_ROUTE_PRIORITY, HF_ROUTE_LATENCY, HF_ROUTE_SPLIT };

struct hf_route_provider {
  struct hf_tool_name tool;
  struct hf_str arguments; /* raw JSON template over the route's arguments; absent: they pass as they are */
  struct hf_str result;    /* raw JSON template over the provider's result; absent: it passes as it is */
  uint32_t weight;         /* with HF_ROUTE_SPLIT */
};

/* An entry of `routes:`: a tool of the gateway's own, answered by one of its providers. */
struct hf_route_settings {
  struct hf_str name;
  struct hf_str description;   /* or absent */
  struct hf_str input_schema;  /* raw JSON, or absent: derived from the first provider's */
  struct hf_str output_schema; /* raw JSON, or absent */
  enum hf_route_order order;
  struct hf_route_provider *providers;
  size_t provider_count;   /* 1 … HF_CALL_TARGETS_MAX */
  struct hf_policy policy; /* complete */
  struct hf_tool_settings
      tool; /* cache, degraded, default, fit, letters, priority, coalesce of the route; else unused */
};

/* `store:` and `deadLetters:` */
struct hf_store_settings {
  bool enabled;
  bool redact;               /* arguments are never kept, only what redaction leaves of them */
  struct hf_strings secrets; /* JSON Pointers, or patterns over member names, whose values listings don't show */
  hf_time max_age;           /* letters older than this go … */
  uint32_t max_bytes;        /* … and the oldest ones, when all are larger than this */
  uint32_t quarantine;       /* a letter that comes back this often is set aside; 0: never */
  uint32_t queue;            /* writes that wait for the disk */
};

/* `alerts:` */
struct hf_alert_settings {
  struct hf_str webhook;     /* absent: none */
  struct hf_str secret;      /* signs it (HMAC-SHA-256); absent: unsigned */
  struct hf_strings command; /* argv; the alert on its standard input; empty: none */
  uint32_t depth;            /* letters that wait; 0: no alert */
  hf_time age;               /* of the oldest one; HF_TIME_NEVER: no alert */
};

struct hf_principal_settings {
  struct hf_str name;
  uint8_t token_sha256[32];
};

/* `correction:` how long a caller is helped that gets its calls wrong. */
struct hf_correction_settings {
  uint32_t max; /* tries, after which it is told to stop and ask; 0: never */
  hf_time ttl;  /* what it tried is forgotten when it has left it alone for this long */
};

struct hf_limits {
  uint32_t body_bytes;
  uint32_t header_bytes;
  uint32_t connections;
  uint32_t sessions;
  uint32_t sessions_per_principal;
  uint32_t streams; /* open SSE streams */
  uint32_t calls;   /* in flight */
  uint32_t calls_per_client;
  uint32_t json_depth;
  uint32_t json_nodes;
  uint32_t replay_bytes;      /* kept for Last-Event-ID, per stream */
  uint32_t write_backlog;     /* bytes waiting for a slow reader before it is cut off */
  uint32_t session_upstreams; /* upstreams of `instance: session`, all clients together */
  hf_time session_idle;       /* an unused session ends */
  hf_time client_read;        /* a request must arrive within this */
  hf_time client_write;       /* a reader that takes nothing for this long is cut off */
  hf_time sse_keepalive;
  hf_time list_wait;    /* how long a list waits for a slow server */
  hf_time list_ttl;     /* how long a list is fresh when the server cannot announce changes */
  hf_time list_ttl_min; /* bounds of what a server says about that */
  hf_time list_ttl_max;
  hf_time drain;        /* how long SIGTERM waits for calls in flight */
  uint32_t cache_bytes; /* of good answers that are kept in memory */
  uint32_t traces;      /* calls that `explain` still knows */
  uint32_t tasks;       /* in memory, those that have ended included */
  uint32_t tasks_per_client;
  hf_time task_ttl; /* the longest that a task is kept, and how long if its client does not say */
  uint32_t argument_bytes;
  uint32_t argument_depth;  /* objects and arrays within one another, the arguments themselves included */
  uint32_t feedback_tokens; /* of the text that tells a model what was wrong with its arguments, estimated */
};

/* Clients of HTTP+SSE, the transport of 2024-11-05. */
struct hf_sse_settings {
  bool enabled;
  struct hf_str base; /* put before the path in the endpoint that they are told; absent: that is relative */
};

struct hf_settings {
  unsigned refs;
  struct hf_arena arena; /* owns every string and array here */
  struct hf_str profile; /* "standard" */
  struct hf_str listen_host;
  uint16_t listen_port;
  enum hf_log_level log_level;
  enum hf_log_format log_format;
  struct hf_str control;             /* path of the control socket; absent: the usual place */
  struct hf_strings allowed_hosts;   /* beyond the listen address and loopback names */
  struct hf_strings allowed_origins; /* beyond the same origin */
  struct hf_sse_settings sse;
  struct hf_principal_settings *principals;
  size_t principal_count;
  struct hf_server_settings *servers;
  size_t server_count;
  struct hf_tool_settings *tools;
  size_t tool_count;
  struct hf_route_settings *routes;
  size_t route_count;
  struct hf_tool_settings tool_defaults; /* of tools without an entry, and of what an entry doesn't say */
  struct hf_store_settings store;
  struct hf_alert_settings alerts;
  struct hf_correction_settings correction;
  struct hf_model_settings model;
  struct hf_limits limits;
};

/* The entry that decides for a tool: exact beats the most literal characters. NULL if none matches; then
 * `tool_defaults` hold. */
const struct hf_tool_settings *hf_settings_tool(const struct hf_settings *settings, struct hf_str server,
                                                struct hf_str tool);

/* Would an upstream opened with `a` be the same if opened with `b`? Policies don't matter to it. */
bool hf_server_settings_same_upstream(const struct hf_server_settings *a, const struct hf_server_settings *b);

/* Does `pattern` (where `*` stands for any run of characters) match the two texts joined by "__"? */
bool hf_pattern_match(struct hf_str pattern, struct hf_str server, struct hf_str tool);

/* Does `pattern` match some part of `text`? */
bool hf_pattern_inside(struct hf_str pattern, struct hf_str text);

/* Is there any text that both patterns match? */
bool hf_pattern_overlap(struct hf_str a, struct hf_str b);

/* How exact a pattern is: SIZE_MAX without `*`, else its literal characters. */
size_t hf_pattern_rank(struct hf_str pattern);

enum { HF_SETTINGS_BYTES_MAX = 64 << 20 };

/* Empty ones, all zero, with an arena of HF_SETTINGS_BYTES_MAX. Returns owned (one reference), or NULL. */
struct hf_settings *hf_settings_new(void);

/* Settings are shared by what runs with them, so that a reload leaves those alone: each hf_settings_ref is matched by
 * an hf_settings_free, and the last one frees. NULL is fine to free. */
struct hf_settings *hf_settings_ref(struct hf_settings *settings);
void hf_settings_free(struct hf_settings *settings);

#endif
