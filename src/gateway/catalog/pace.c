#include "gateway/catalog/pace.h"

static hf_time longest(const struct hf_pace *pace) {
  return pace->fruitless ? HF_PACE_MAX : HF_PACE_MAX_NEWS;
}

static bool is_in_series(const struct hf_pace *pace, hf_time now) {
  return pace->began > 0 && now <= hf_time_add(hf_time_add(pace->began, 2 * pace->pause), HF_PACE_MAX_NEWS);
}

hf_time hf_pace_notice(const struct hf_pace *pace, hf_time now) {
  if (!is_in_series(pace, now))
    return now;
  const hf_time next = hf_time_add(pace->began, hf_time_min(pace->pause, longest(pace)));
  return next > now ? next : now;
}

void hf_pace_began(struct hf_pace *pace, hf_time now) {
  if (is_in_series(pace, now))
    pace->pause = hf_time_min(2 * pace->pause, HF_PACE_MAX);
  else
    *pace = (struct hf_pace){.pause = HF_PACE_MIN};
  pace->began = now;
}

void hf_pace_ended(struct hf_pace *pace, bool news) {
  pace->fruitless = !news;
  pace->pause = hf_time_min(pace->pause, longest(pace));
}
