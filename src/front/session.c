#include "front/session.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/random.h"

static struct hf_session *session_of(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_session, link);
}

static struct hf_stream *stream_of(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_stream, link);
}

void hf_sessions_init(struct hf_sessions *sessions, size_t max, size_t max_per_owner) {
  hf_map_init(&sessions->by_key, max);
  hf_map_init(&sessions->owners, max);
  hf_list_init(&sessions->order);
  sessions->max = max;
  sessions->max_per_owner = max_per_owner;
}

void hf_sessions_deinit(struct hf_sessions *sessions) {
  for (size_t i = 0; i < sessions->owners.len; i++)
    hf_free(sessions->owners.entries[i].value);
  hf_map_deinit(&sessions->owners);
  hf_map_deinit(&sessions->by_key);
}

/* An owner without sessions is forgotten with its last one, so they are as bounded as sessions are. The key of nobody
 * in particular is empty, which no principal's name is. */
static struct hf_owner *owner_get(struct hf_sessions *sessions, struct hf_str name) {
  struct hf_str key = name.ptr ? name : HF_STR("");
  struct hf_owner *owner = hf_map_get(&sessions->owners, key);
  if (owner)
    return owner;
  owner = hf_calloc(1, sizeof(*owner) + key.len + 1);
  if (!owner)
    return NULL;
  memcpy(owner + 1, key.ptr, key.len);
  if (name.ptr)
    owner->name = (struct hf_str){(const char *)(owner + 1), key.len};
  if (hf_map_put(&sessions->owners, key, owner) < 0) {
    hf_free(owner);
    return NULL;
  }
  return owner;
}

static void owner_leave(struct hf_sessions *sessions, struct hf_owner *owner) {
  if (owner->sessions > 0)
    return;
  (void)hf_map_remove(&sessions->owners, owner->name.ptr ? owner->name : HF_STR(""));
  hf_free(owner);
}

static int add(struct hf_sessions *sessions, struct hf_str key, struct hf_str principal, struct hf_str endpoint,
               hf_time now, struct hf_session **ret_session) {
  if (sessions->by_key.len >= sessions->max)
    return HF_ERR_LIMIT;
  struct hf_owner *owner = owner_get(sessions, principal);
  if (!owner)
    return HF_ERR_NOMEM;
  if (owner->sessions >= sessions->max_per_owner)
    return HF_ERR_LIMIT;
  struct hf_session *session = hf_calloc(1, sizeof(*session) + key.len + 1 + endpoint.len + 1);
  if (session) {
    memcpy(session->key, key.ptr, key.len);
    session->key_len = key.len;
  }
  if (!session || hf_map_put(&sessions->by_key, key, session) < 0) {
    hf_free(session);
    owner_leave(sessions, owner);
    return HF_ERR_NOMEM;
  }
  if (endpoint.ptr) {
    char *copy = session->key + key.len + 1;
    memcpy(copy, endpoint.ptr, endpoint.len);
    session->endpoint = (struct hf_str){copy, endpoint.len};
  }
  session->owner = owner;
  owner->sessions++;
  session->used = now;
  hf_list_init(&session->requests);
  hf_list_init(&session->streams);
  hf_list_push_back(&sessions->order, &session->link);
  *ret_session = session;
  return 0;
}

int hf_sessions_open(struct hf_sessions *sessions, struct hf_str principal, struct hf_str endpoint, hf_time now,
                     struct hf_session **ret_session) {
  unsigned char secret[HF_SESSION_ID_LEN / 2 + sizeof(uint32_t)];
  char id[HF_SESSION_ID_LEN];
  if (hf_random_secret(secret, sizeof(secret)) < 0)
    return HF_ERR_IO;
  hf_hex(secret, HF_SESSION_ID_LEN / 2, id);
  struct hf_session *session;
  int error = add(sessions, (struct hf_str){id, sizeof(id)}, principal, endpoint, now, &session);
  if (error)
    return error;
  session->era = HF_ERA_LEGACY;
  memcpy(&session->tag, secret + HF_SESSION_ID_LEN / 2, sizeof(session->tag));
  *ret_session = session;
  return 0;
}

static bool same(struct hf_str a, struct hf_str b) {
  if (!a.ptr || !b.ptr)
    return a.ptr == b.ptr;
  return hf_str_equal(a, b);
}

struct hf_session *hf_sessions_find(const struct hf_sessions *sessions, struct hf_str id, struct hf_str principal,
                                    struct hf_str endpoint) {
  struct hf_session *session = hf_map_get(&sessions->by_key, id);
  if (!session || session->era != HF_ERA_LEGACY || !same(session->owner->name, principal) ||
      !same(session->endpoint, endpoint))
    return NULL;
  return session;
}

int hf_sessions_stateless(struct hf_sessions *sessions, struct hf_str principal, struct hf_str endpoint, hf_time now,
                          struct hf_session **ret_session) {
  struct hf_buf key;
  hf_buf_init(&key, 4096);
  int error =
      hf_buf_printf(&key, "stateless%c%zu%c", principal.ptr ? '+' : '-', principal.len, endpoint.ptr ? '+' : '-');
  if (!error && principal.len > 0)
    error = hf_buf_append_str(&key, principal);
  if (!error && endpoint.len > 0)
    error = hf_buf_append_str(&key, endpoint);
  if (!error) {
    *ret_session = hf_map_get(&sessions->by_key, hf_buf_str(&key));
    if (!*ret_session && !(error = add(sessions, hf_buf_str(&key), principal, endpoint, now, ret_session)))
      (*ret_session)->era = HF_ERA_MODERN;
  }
  hf_buf_deinit(&key);
  return error;
}

void hf_sessions_touch(struct hf_sessions *sessions, struct hf_session *session, hf_time now) {
  session->used = now;
  hf_list_remove(&session->link);
  hf_list_push_back(&sessions->order, &session->link);
}

void hf_sessions_doom(struct hf_sessions *sessions, struct hf_session *session) {
  session->used = INT64_MIN;
  hf_list_remove(&session->link);
  hf_list_push_front(&sessions->order, &session->link);
}

struct hf_session *hf_sessions_expired(struct hf_sessions *sessions, hf_time before) {
  struct hf_list *it;
  struct hf_list *tmp;
  HF_LIST_FOREACH (it, tmp, &sessions->order) {
    struct hf_session *session = session_of(it);
    if (session->used >= before)
      return NULL;
    if (hf_list_empty(&session->requests))
      return session;
  }
  return NULL;
}

void hf_sessions_remove(struct hf_sessions *sessions, struct hf_session *session) {
  (void)hf_map_remove(&sessions->by_key, (struct hf_str){session->key, session->key_len});
  hf_list_remove(&session->link);
  session->owner->sessions--;
  owner_leave(sessions, session->owner);
  session->owner = NULL;
  session->client = NULL;
  session->ended = true;
}

void hf_session_free(struct hf_session *session) {
  while (!hf_list_empty(&session->streams))
    hf_session_drop_stream(stream_of(session->streams.next));
  hf_free(session);
}

struct hf_stream *hf_session_stream(const struct hf_session *session, uint32_t number) {
  for (struct hf_list *it = session->streams.next; it != &session->streams; it = it->next)
    if (stream_of(it)->options.number == number)
      return stream_of(it);
  return NULL;
}

void hf_session_drop_stream(struct hf_stream *stream) {
  hf_stream_deinit(stream);
  hf_free(stream);
}

/* Streams that are kept for a client that comes back. What is still to be written to them goes on being so. */
struct kept {
  bool standalone;
  bool read; /* all of it was written to some reader */
  size_t count;
  size_t bytes;
};

static bool is_kept_as(const struct hf_stream *stream, const struct kept *kept) {
  return !stream->reader && stream->standalone == kept->standalone && (kept->standalone || stream->ended) &&
         hf_stream_drained(stream) == kept->read;
}

static void drop_surplus(struct hf_session *session, const struct kept *kept) {
  size_t count = 0;
  size_t bytes = 0;
  for (struct hf_list *it = session->streams.prev; it != &session->streams;) {
    struct hf_stream *stream = stream_of(it);
    it = it->prev;
    if (!is_kept_as(stream, kept))
      continue;
    count++;
    bytes += stream->kept;
    if (count >= kept->count || bytes > kept->bytes)
      hf_session_drop_stream(stream);
  }
}

static unsigned retry_of(const struct hf_session *session) {
  return session->era == HF_ERA_LEGACY ? HF_SESSION_RETRY_MS + session->tag % HF_SESSION_RETRY_MS : 0;
}

struct hf_stream *hf_session_add_stream(struct hf_session *session, bool standalone, size_t replay, size_t backlog) {
  if (standalone) {
    drop_surplus(session, &(struct kept){true, false, HF_SESSION_GET_STREAMS, SIZE_MAX});
  } else {
    drop_surplus(session, &(struct kept){false, true, HF_SESSION_READ_STREAMS, SIZE_MAX});
    drop_surplus(session, &(struct kept){false, false, HF_SESSION_UNREAD_STREAMS, replay * HF_SESSION_UNREAD_SHARE});
  }
  struct hf_stream *stream = hf_malloc(sizeof(*stream));
  if (!stream)
    return NULL;
  hf_stream_init(stream, &(struct hf_stream_options){.tag = session->tag,
                                                     .number = session->next_stream++,
                                                     .ids = session->era == HF_ERA_LEGACY && !session->sse,
                                                     .retry_ms = retry_of(session),
                                                     .replay = replay,
                                                     .backlog = backlog});
  stream->standalone = standalone;
  hf_list_push_back(&session->streams, &stream->link);
  return stream;
}

static bool is_standalone(const struct hf_stream *stream, bool read) {
  return stream->standalone && !stream->ended && (stream->reader != NULL) == read;
}

static struct hf_stream *unread(const struct hf_session *session) {
  struct hf_stream *newest = NULL;
  for (struct hf_list *it = session->streams.prev; it != &session->streams; it = it->prev) {
    struct hf_stream *stream = stream_of(it);
    if (!is_standalone(stream, false))
      continue;
    if (stream->next)
      return stream;
    if (!newest)
      newest = stream;
  }
  return newest;
}

struct hf_stream *hf_session_standalone(const struct hf_session *session) {
  for (struct hf_list *it = session->streams.prev; it != &session->streams; it = it->prev)
    if (is_standalone(stream_of(it), true))
      return stream_of(it);
  return unread(session);
}

struct hf_stream *hf_session_left(const struct hf_session *session) {
  struct hf_stream *left = unread(session);
  struct hf_stream *oldest = NULL;
  size_t readers = 0;
  for (struct hf_list *it = session->streams.prev; !left && it != &session->streams; it = it->prev) {
    if (!is_standalone(stream_of(it), true))
      continue;
    oldest = stream_of(it);
    readers++;
  }
  return readers >= HF_SESSION_GET_STREAMS ? oldest : left;
}
