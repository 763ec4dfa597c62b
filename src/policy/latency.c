#include "policy/latency.h"

enum { MOST = 512, EIGHTHS_BITS = 3, EIGHTHS = 1 << EIGHTHS_BITS, SMALLEST_BITS = 6 };

/* The kept quantile may miss this share of the answers. */
enum { STALE_SHARE = 16 };

static const hf_time FORGETS_EVERY = HF_SECONDS(300);

void hf_latency_init(struct hf_latency *latency) {
  *latency = (struct hf_latency){.p95 = HF_TIME_NEVER};
}

static unsigned bucket_of(hf_time took) {
  if (took < 1 << SMALLEST_BITS)
    return 0;
  unsigned octave = 63 - (unsigned)__builtin_clzll((uint64_t)took);
  unsigned eighth = (unsigned)(took >> (octave - EIGHTHS_BITS)) % EIGHTHS;
  unsigned bucket = (octave - SMALLEST_BITS) * EIGHTHS + eighth;
  return bucket < HF_LATENCY_BUCKETS ? bucket : HF_LATENCY_BUCKETS - 1;
}

static hf_time upper_edge(unsigned bucket) {
  unsigned octave = bucket / EIGHTHS + SMALLEST_BITS;
  return (hf_time)(EIGHTHS + bucket % EIGHTHS + 1) << (octave - EIGHTHS_BITS);
}

static void halve(struct hf_latency *latency) {
  latency->total = 0;
  for (unsigned i = 0; i < HF_LATENCY_BUCKETS; i++)
    latency->total += latency->buckets[i] /= 2;
}

static void forget(struct hf_latency *latency, hf_time now) {
  if (latency->total >= MOST)
    halve(latency);
  for (; now - latency->last >= FORGETS_EVERY && latency->total > 0; latency->last += FORGETS_EVERY)
    halve(latency);
  latency->last = hf_time_max(latency->last, now);
}

void hf_latency_add(struct hf_latency *latency, hf_time took, hf_time now) {
  forget(latency, now);
  latency->buckets[bucket_of(took)]++;
  latency->total++;
  if (++latency->unread * STALE_SHARE < latency->total)
    return;
  latency->unread = 0;
  latency->p95 = hf_latency_quantile(latency, 95);
}

/* From above, for it is mostly asked about the upper end. */
hf_time hf_latency_quantile(const struct hf_latency *latency, unsigned percent) {
  if (latency->total < HF_LATENCY_LEAST || (percent < 100 && latency->total * (100 - percent) < 100))
    return HF_TIME_NEVER;
  unsigned above = latency->total * (100 - percent) / 100;
  unsigned bucket = HF_LATENCY_BUCKETS - 1;
  for (unsigned seen = 0; bucket > 0; bucket--) {
    seen += latency->buckets[bucket];
    if (seen > above)
      break;
  }
  return upper_edge(bucket);
}
