/* Alerts about dead letters: whom to tell, of what, and how often.
 *
 * Told is of letters of the first priority, of letters that are set aside or will be removed, and when more wait or
 * wait longer than is allowed. At most one alert of a kind goes out in a minute; what comes meanwhile is counted, and
 * told with the next one. Each alert is a line of the log, and goes to the webhook and the command that are configured
 * as a JSON object without arguments or secrets. */
#ifndef HF_DAEMON_ALERT_H
#define HF_DAEMON_ALERT_H

#include "base/error.h"
#include "gateway/loop.h"
#include "gateway/settings.h"
#include "gateway/store.h"

#include <uv.h>

struct hf_alerts;

struct hf_alerts_options {
  uv_loop_t *uv;                            /* borrowed */
  struct hf_loop *loop;                     /* borrowed */
  struct hf_store *store;                   /* asked how it is; borrowed */
  const struct hf_alert_settings *settings; /* copied */
  hf_time check_every;                      /* depth and age; 0: 10 s */
  hf_time gap;                              /* between two alerts of a kind; 0: a minute */
  hf_time backoff;                          /* as of the webhook; 0: its own */
  hf_time patience;                         /* with the command; 0: its own */
};

/* Returns 0 and owned, HF_ERR_NOMEM, or HF_ERR_IO. */
int hf_alerts_new(const struct hf_alerts_options *options, struct hf_alerts **ret_alerts);

/* Takes other settings. What is under way to the old webhook is given up. If it fails, the old ones stay. */
int hf_alerts_reload(struct hf_alerts *alerts, const struct hf_alert_settings *settings);

/* What the store tells (hf_store_news_fn). `ctx` is a struct hf_alerts. */
void hf_alerts_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter);

/* Memory of what is under way goes once the loop has run. NULL is fine. */
void hf_alerts_free(struct hf_alerts *alerts);

#endif
