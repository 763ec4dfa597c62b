/* Names and addresses of hosts, and of people at them. */
#ifndef HF_SCHEMA_FORMAT_HOST_H
#define HF_SCHEMA_FORMAT_HOST_H

#include "base/str.h"

bool hf_format_ipv4(struct hf_str text);
bool hf_format_ipv6(struct hf_str text);
bool hf_format_hostname(struct hf_str text);
bool hf_format_idn_hostname(struct hf_str text);
bool hf_format_email(struct hf_str text);
bool hf_format_idn_email(struct hf_str text);

#endif
