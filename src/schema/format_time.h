/* Dates, times and durations as RFC 3339 spells them. */
#ifndef HF_SCHEMA_FORMAT_TIME_H
#define HF_SCHEMA_FORMAT_TIME_H

#include "base/str.h"

bool hf_format_date_time(struct hf_str text);
bool hf_format_date(struct hf_str text);
bool hf_format_time(struct hf_str text);
bool hf_format_duration(struct hf_str text);

#endif
