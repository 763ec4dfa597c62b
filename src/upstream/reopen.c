#include "upstream/reopen.h"

enum { DOUBLINGS_MAX = 16 };

hf_time hf_reopen_pause(const struct hf_reopen *reopen, unsigned failures, int64_t retry_ms, struct hf_random *random) {
  int64_t said = retry_ms > HF_REOPEN_RETRY_MAX_MS ? HF_REOPEN_RETRY_MAX_MS : retry_ms;
  hf_time wanted = said < 0 ? 0 : hf_time_max(HF_MS(said), reopen->least);
  hf_time first = said < 0 ? reopen->first : wanted;
  hf_time grown = hf_time_min(first << (failures < DOUBLINGS_MAX ? failures : DOUBLINGS_MAX), reopen->most);
  hf_time pause = hf_time_max(grown, wanted);
  hf_time spread = pause / 2;
  hf_time floor = hf_time_max(pause - spread, wanted);
  return floor + (hf_time)hf_random_below(random, (uint64_t)spread + 1);
}
