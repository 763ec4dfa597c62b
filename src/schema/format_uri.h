/* URIs (RFC 3986), IRIs (RFC 3987) and URI templates (RFC 6570). */
#ifndef HF_SCHEMA_FORMAT_URI_H
#define HF_SCHEMA_FORMAT_URI_H

#include "base/str.h"

bool hf_format_uri(struct hf_str text);
bool hf_format_uri_reference(struct hf_str text);
bool hf_format_iri(struct hf_str text);
bool hf_format_iri_reference(struct hf_str text);
bool hf_format_uri_template(struct hf_str text);

#endif
