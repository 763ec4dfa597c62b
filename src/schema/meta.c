#include "schema/meta.h"

struct hf_str hf_meta_find(struct hf_str uri) {
  (void)uri;
  return (struct hf_str){NULL, 0};
}
