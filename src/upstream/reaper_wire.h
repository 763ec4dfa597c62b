/* What the gateway and its reaper say to each other, over one SOCK_SEQPACKET pair: fixed-size packets. */
#ifndef HF_UPSTREAM_REAPER_WIRE_H
#define HF_UPSTREAM_REAPER_WIRE_H

#include <stdint.h>

enum hf_reaper_order_kind {
  HF_REAPER_SPAWN,  /* with the descriptors of enum hf_reaper_fd */
  HF_REAPER_SIGNAL, /* `signal` to the child's group */
};

/* The descriptors that travel with HF_REAPER_SPAWN. */
enum hf_reaper_fd {
  HF_REAPER_FD_STDIN,
  HF_REAPER_FD_STDOUT,
  HF_REAPER_FD_STDERR,
  HF_REAPER_FD_PROGRAM, /* a memfd: struct hf_reaper_program and its strings */
  HF_REAPER_FD_COUNT,
};

/* Followed by NUL-terminated strings: the working directory (empty: inherit), `argc` arguments, `envc` variables. */
struct hf_reaper_program {
  uint32_t argc;
  uint32_t envc;
};

struct hf_reaper_order {
  uint32_t kind;
  int32_t signal;
  uint64_t child;
};

enum hf_reaper_report_kind {
  HF_REAPER_STARTED, /* `value`: its pid */
  HF_REAPER_FAILED,  /* the program could not be started: `value` is an enum hf_spawn_stage, `error` an errno; the end
                        follows */
  HF_REAPER_ENDED,   /* `value`: its wait status */
};

struct hf_reaper_report {
  uint32_t kind;
  int32_t value;
  int32_t error;
  uint32_t zero;
  uint64_t child;
};

enum { HF_REAPER_CHILDREN_MAX = 1024 };

/* Set in the environment of every child: the gateway's pid and the child's number, to know its strays by. */
#define HF_REAPER_MARK "HOLDFAST_CHILD"

#endif
