/* Tasks, as clients have them: a call that is answered by an id, and whose own answer is fetched with it later.
 *
 * A task is a client of its own call. It takes the call over from the request that made it, in the place of that
 * request's reply, and from then on nobody waits on a line: the call has `timeout.task` for its deadline, and a client
 * that leaves ends nothing. What the call is answered with becomes the task's result. Where the call asks something
 * (`input_required`), the task asks its client, and with the answers makes the request again, as any modern client
 * does. So stages, policy and questions know nothing of tasks.
 *
 * There are two protocols for them, which are bridged here: the extension io.modelcontextprotocol/tasks of 2026-07-28
 * (tasks/get with result and questions in it, tasks/update, tasks/cancel, notifications/tasks) and that of 2025-11-25
 * (the request says `task`; tasks/get, tasks/result, which blocks and brings questions as requests, tasks/list,
 * tasks/cancel, notifications/tasks/status).
 *
 * Which calls become tasks is the option `tasks` of a tool: `always` as soon as a client takes tasks; `auto` when its
 * server has made one of it, or it has lasted for `taskAfter`, or a client of 2025-11-25 asks for it; `never`.
 *
 * Ids are unguessable and belong to the principal and endpoint of their call; to anybody else there is no such task.
 * State and results are in the store, if there is one, before a client is told of them, and are kept until the task
 * expires. What was left by a gateway that died is followed on where a server runs it (task/follow.h); of the rest it
 * is said that it may have run. */
#ifndef HF_GATEWAY_TASK_TASK_H
#define HF_GATEWAY_TASK_TASK_H

#include "gateway/exchange.h"
#include "gateway/stage/stage.h"
#include "json/value.h"
#include "json/write.h"

struct hf_tasks; /* all of a gateway's */
struct hf_task;  /* one, while this gateway has it in memory */

/* Returns owned, or NULL when out of memory. */
struct hf_tasks *hf_tasks_new(struct hf_gateway *gateway);

/* No client is left. Those that run end; what their servers run stays in the store as it is. Accepts NULL. */
void hf_tasks_free(struct hf_tasks *tasks);

/* Goes on with what earlier gateways left. Once, when there is a store. */
void hf_tasks_take_over(struct hf_gateway *gateway);

/* How many have not ended. */
size_t hf_tasks_running(const struct hf_tasks *tasks);

/* Does the client that made this request take a task for an answer? */
bool hf_task_is_taken(const struct hf_exchange *exchange);

/* Reads what a client of 2025-11-25 says of tasks in a request: from then on it is one of a modern client's. False: it
 * is answered because of it. */
bool hf_task_read_wish(struct hf_exchange *exchange);

/* Its tool is known, and makes no tasks, though the client has asked for one: it is answered, and gone. */
bool hf_task_refuse(struct hf_exchange *exchange);

/* The rows of the stages: first of all, one that was asked for; and, before anything is sent, one that is to be, now or
 * later by itself. */
enum hf_stage_result hf_task_wanted_before(struct hf_exchange *exchange);
enum hf_stage_result hf_task_before(struct hf_exchange *exchange);

/* The server has made a task of the call, under this id: written down, also for one that becomes a task only later; and
 * the call becomes one now, if its client takes that. */
void hf_task_at_server(struct hf_exchange *exchange, const struct hf_instance *instance, struct hf_str server_task);

/* What the call's server says about how it is: shown to whoever asks. Borrowed. */
void hf_task_says(struct hf_exchange *exchange, struct hf_str message);

/* A call that an earlier gateway left has got as far as its server: from there on it is followed. False: its server is
 * none of the tool's any more, so it is answered, and gone. */
bool hf_task_resumed(struct hf_exchange *exchange);

/* A request of a task's own client begins: the call itself, or one that brings it answers. */
void hf_task_joined(struct hf_exchange *exchange);

/* The exchange is about to be freed. */
void hf_task_left(struct hf_exchange *exchange);

/* The client is being closed: its tasks go on. */
void hf_tasks_client_closed(struct hf_client *client);

/* No new calls: who waits for a task is told to come back, and what servers run is left to the next gateway. */
void hf_tasks_drain(struct hf_gateway *gateway);

/* Time is up for what is left. */
void hf_tasks_stop(struct hf_gateway *gateway);

/* What is declared of tasks to a client: the members of its kind, into the object that is open. */
void hf_task_write_capabilities(const struct hf_client *client, enum hf_era era, struct hf_json_writer *w);

/* Answers and returns false if a modern client asks about tasks without having declared that it knows them. */
bool hf_task_is_declared(struct hf_exchange *exchange);

/* Writes a tool of a list, whose text is `raw` so far, as this client is to see it. */
void hf_task_write_listed(const struct hf_client *client, const struct hf_instance *instance,
                          const struct hf_item *item, struct hf_str raw, struct hf_json_writer *w);

/* What the list says of tasks of a route; NULL: nothing. */
const char *hf_task_route_support(const struct hf_client *client, const struct hf_route_settings *route);

/* May this client listen to what the filter says of tasks? */
bool hf_task_may_listen(const struct hf_exchange *exchange, const struct hf_json_doc *doc);

/* Reads the ids of tasks that a listen request names, and writes those that were agreed to. `doc` is the filter. */
void hf_task_listen(struct hf_exchange *exchange, const struct hf_json_doc *doc, struct hf_json_writer *agreed);

/* The listen stream has been opened: what has happened before is told there. */
void hf_task_listening(struct hf_exchange *exchange);

/* The requests about tasks, of both protocols. */
void hf_task_get(struct hf_exchange *exchange);
void hf_task_result(struct hf_exchange *exchange);
void hf_task_update(struct hf_exchange *exchange);
void hf_task_cancel(struct hf_exchange *exchange);
void hf_task_list(struct hf_exchange *exchange);

#endif
