/* What the gateway shows of itself to operators: readiness, status, metrics. Reads everything, changes nothing. */
#ifndef HF_GATEWAY_REPORT_H
#define HF_GATEWAY_REPORT_H

#include "gateway/gateway.h"

const char *hf_upstream_phase_name(enum hf_upstream_phase phase);

#endif
