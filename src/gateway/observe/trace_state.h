/* What a trace is made of: trace.c records it, trace_text.c tells it. */
#ifndef HF_GATEWAY_OBSERVE_TRACE_STATE_H
#define HF_GATEWAY_OBSERVE_TRACE_STATE_H

#include "gateway/observe/trace.h"
#include "gateway/outcome.h"

enum hf_trace_what {
  HF_TRACE_CALLED,
  HF_TRACE_NOTE,     /* a stage's own words: where they begin in `code`, their length in `ms` */
  HF_TRACE_JOINED,   /* likewise the id of the call whose answer it shares */
  HF_TRACE_PAUSE,    /* `ms` since the last attempt ended */
  HF_TRACE_FALLBACK, /* on to `provider` */
  HF_TRACE_WAITS,    /* `detail`: enum hf_trace_wait; `ms` until the breaker is due, absent while its probe is out */
  HF_TRACE_REFUSED,  /* `detail`: enum hf_denial; `ms` until it may be asked again */
  HF_TRACE_ATTEMPT,  /* `detail`: bits of enum hf_trace_start; `ms`: how long it had queued */
  HF_TRACE_SENT,
  HF_TRACE_LIFE,
  HF_TRACE_QUESTION,
  HF_TRACE_RESUMED,
  HF_TRACE_ANSWERED, /* `detail`: enum hf_attempt_result */
  HF_TRACE_FAILED,   /* `code`; `ms`: Retry-After */
  HF_TRACE_ABORTED,  /* `detail`: enum hf_abort_reason */
  HF_TRACE_REPORTED, /* `detail`: enum hf_blame, and HF_TRACE_DEFERRED */
  HF_TRACE_CHECK,
  HF_TRACE_CHECK_ABORTED,
  HF_TRACE_CHECKED, /* `detail`: enum hf_check */
  HF_TRACE_DEGRADE,
  HF_TRACE_DEGRADED, /* `detail`: enum hf_source; `ms`: the age */
  HF_TRACE_LETTER,
  HF_TRACE_LETTER_DONE, /* `detail`: it was written */
  HF_TRACE_CANCELLED,
  HF_TRACE_ENDED, /* `detail`: enum hf_call_end; `code`: enum hf_source; `ms`: the age of a cached answer */
  HF_TRACE_WHAT_COUNT
};

enum hf_trace_wait { HF_TRACE_WAITS_FOR_SERVER, HF_TRACE_WAITS_FOR_TOOL };
enum hf_trace_start { HF_TRACE_HEDGE = 1, HF_TRACE_PROBE = 2, HF_TRACE_NEW_SESSION = 4 };
enum { HF_TRACE_DEFERRED = 16, HF_TRACE_NO_BREAKER = 15, HF_TRACE_TEXT_MAX = 640, HF_TRACE_NAME_MAX = 128 };

#define HF_TRACE_NO_MS UINT32_MAX

struct hf_trace_step {
  uint32_t at_ms;
  uint32_t ms;
  int32_t code; /* of HTTP if positive, of JSON-RPC if negative */
  uint8_t what;
  uint8_t provider; /* target index */
  uint8_t attempt;  /* from 0; the last number stands for all beyond */
  uint8_t fault;
  uint8_t executed;
  uint8_t breaker; /* of provider and tool, a half byte each, or HF_TRACE_NO_BREAKER */
  uint8_t detail;
};

/* A copied text, cut to what there was room for. */
struct hf_trace_text {
  uint16_t at;
  uint16_t len;
};

struct hf_trace {
  struct hf_list link; /* in one of the lists of struct hf_traces */
  bool running;
  uint64_t number; /* the call's */
  hf_time started;
  hf_time acquired; /* when the permit was asked for that is not there yet */
  hf_time failed;   /* when the last attempt ended badly; HF_TIME_NEVER: none has */
  int64_t started_ms;
  uint64_t sent; /* bits of attempts that were handed over whole */
  uint64_t alive;
  unsigned at_provider;
  unsigned tried; /* bits of targets */
  unsigned step_count;
  unsigned dropped;
  bool probes; /* the permit that was granted is a probe's */
  bool has_outcome;
  struct hf_outcome outcome;
  char letter[HF_LETTER_ID_MAX];
  struct hf_trace_text tool;
  struct hf_trace_text route;
  struct hf_trace_text principal;
  struct hf_trace_text provider[HF_CALL_TARGETS_MAX];
  unsigned text_len;
  struct hf_trace_step *step; /* both in this block */
  char *text;
};

/* The block of a call under way. When it has ended, what was used of it is copied to one of that size. */
struct hf_trace_room {
  struct hf_trace trace;
  struct hf_trace_step step[HF_TRACE_STEPS_MAX];
  char text[HF_TRACE_TEXT_MAX];
};

static inline struct hf_str hf_trace_str(const struct hf_trace *trace, struct hf_trace_text text) {
  return (struct hf_str){text.len ? trace->text + text.at : NULL, text.len};
}

#endif
