#include "store/owner.h"

#include "base/alloc.h"
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ids are 32 bits, and the byte of each is at its number; the door is beyond all of them. */
static const off_t door = (off_t)1 << 40;

enum { TRIES = 16 };

static int lock_byte(int fd, int command, short type, off_t at, struct flock *ret_lock) {
  *ret_lock = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
  int r;
  do
    r = fcntl(fd, command, ret_lock);
  while (r < 0 && errno == EINTR);
  return r < 0 ? -errno : 0;
}

int hf_owner_open(struct hf_owner *owner, const char *path, struct hf_error *reterr) {
  *owner = (struct hf_owner){.fd = -1};
  if (!path)
    return 0;
  owner->path = hf_concat(path, "-owners");
  if (!owner->path)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  owner->fd = open(owner->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (owner->fd >= 0)
    return 0;
  int error = errno;
  hf_owner_close(owner);
  return hf_error_set(reterr, HF_ERR_IO, "cannot open '%s-owners': %s", path, strerror(error));
}

int hf_owner_take(struct hf_owner *owner, struct hf_error *reterr) {
  for (int i = 0; i < TRIES; i++) {
    uint32_t number;
    struct flock lock;
    if (hf_random_secret(&number, sizeof number) < 0)
      return hf_error_set(reterr, HF_ERR_IO, "no random numbers");
    int r = owner->fd < 0 ? 0 : lock_byte(owner->fd, F_OFD_SETLK, F_WRLCK, number, &lock);
    if (r == 0) {
      int n = snprintf(owner->id, sizeof owner->id, "%08x", number);
      return n == HF_OWNER_ID_LEN ? 0 : HF_ERR_IO;
    }
    if (r != -EAGAIN && r != -EACCES)
      return hf_error_set(reterr, HF_ERR_IO, "cannot lock '%s': %s", owner->path, strerror(-r));
  }
  return hf_error_set(reterr, HF_ERR_BUSY, "no id is free in '%s'", owner->path);
}

void hf_owner_close(struct hf_owner *owner) {
  if (owner->fd >= 0)
    close(owner->fd);
  hf_free(owner->path);
  *owner = (struct hf_owner){.fd = -1};
}

int hf_owner_enter(struct hf_owner *owner) {
  struct flock lock;
  return owner->fd < 0 || lock_byte(owner->fd, F_OFD_SETLKW, F_WRLCK, door, &lock) == 0 ? 0 : HF_ERR_IO;
}

void hf_owner_leave(struct hf_owner *owner) {
  struct flock lock;
  if (owner->fd >= 0)
    (void)lock_byte(owner->fd, F_OFD_SETLK, F_UNLCK, door, &lock);
}

/* Somebody may have replaced the file: then the locks of the others are elsewhere, and nothing is certain. */
static bool is_the_file(const struct hf_owner *owner) {
  struct stat ours;
  struct stat theirs;
  return fstat(owner->fd, &ours) == 0 && stat(owner->path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
         ours.st_dev == theirs.st_dev;
}

bool hf_owner_is_dead(const struct hf_owner *owner, const char *id) {
  if (owner->fd < 0 || strcmp(owner->id, id) == 0 || !is_the_file(owner))
    return false;
  char *end;
  errno = 0;
  unsigned long number = strtoul(id, &end, 16);
  struct flock lock;
  return errno == 0 && *end == '\0' && strlen(id) == HF_OWNER_ID_LEN &&
         lock_byte(owner->fd, F_OFD_GETLK, F_WRLCK, (off_t)number, &lock) == 0 && lock.l_type == F_UNLCK;
}
