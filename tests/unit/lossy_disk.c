#include "lossy_disk.h"

#include "base/random.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 8, NAME_BYTES = 256, SIZE_MAX_BYTES = 4 << 20, PIECE = 512, REGIONS_MAX = 8, REGION_BYTES = 32768 };

/* What was asked since the last sync: a write, or (no bytes) a truncation to `at`. */
struct change {
  struct change *next;
  size_t at;
  size_t len;
  bool lost; /* a sync of it failed */
  char bytes[];
};

struct image {
  char *bytes; /* SIZE_MAX_BYTES */
  size_t len;
};

struct disk_file {
  char name[NAME_BYTES];
  bool exists;
  bool exists_durably;
  struct image now;
  struct image durable;
  struct change *changes, **changes_end;
};

static struct {
  bool registered;
  sqlite3_vfs vfs;
  struct disk_file files[FILES_MAX];
  void *regions[REGIONS_MAX];
  long boundary;
  long down_at;
  bool down;
  long syncs;
  long fail_sync;
} disk;

struct handle {
  sqlite3_file base;
  struct disk_file *file;
};

static struct disk_file *file_of(sqlite3_file *file) {
  return ((struct handle *)(void *)file)->file;
}

static bool goes_down(void) {
  disk.down |= ++disk.boundary == disk.down_at;
  return disk.down;
}

static void write_image(struct image *image, size_t at, const void *bytes, size_t len) {
  assert(at + len <= SIZE_MAX_BYTES);
  if (at > image->len)
    memset(image->bytes + image->len, 0, at - image->len);
  memcpy(image->bytes + at, bytes, len);
  if (at + len > image->len)
    image->len = at + len;
}

static void apply(struct image *image, const struct change *change) {
  if (change->len)
    write_image(image, change->at, change->bytes, change->len);
  else if (change->at < image->len)
    image->len = change->at;
}

static void forget_changes(struct disk_file *file) {
  while (file->changes) {
    struct change *next = file->changes->next;
    free(file->changes);
    file->changes = next;
  }
  file->changes_end = &file->changes;
}

static void add_change(struct disk_file *file, size_t at, const void *bytes, size_t len) {
  struct change *change = malloc(sizeof *change + len);
  assert(change);
  *change = (struct change){.at = at, .len = len};
  if (len)
    memcpy(change->bytes, bytes, len);
  *file->changes_end = change;
  file->changes_end = &change->next;
  apply(&file->now, change);
}

static int disk_close(sqlite3_file *file) {
  (void)file;
  return SQLITE_OK;
}

static int disk_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at) {
  const struct image *now = &file_of(file)->now;
  if (disk.down)
    return SQLITE_IOERR_READ;
  const size_t there = (size_t)at < now->len ? now->len - (size_t)at : 0;
  const size_t n = there < (size_t)len ? there : (size_t)len;
  memcpy(bytes, now->bytes + at, n);
  memset((char *)bytes + n, 0, (size_t)len - n);
  return n < (size_t)len ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int disk_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at) {
  if (goes_down())
    return SQLITE_IOERR_WRITE;
  add_change(file_of(file), (size_t)at, bytes, (size_t)len);
  return SQLITE_OK;
}

static int disk_truncate(sqlite3_file *file, sqlite3_int64 size) {
  if (goes_down())
    return SQLITE_IOERR_TRUNCATE;
  add_change(file_of(file), (size_t)size, NULL, 0);
  return SQLITE_OK;
}

static int disk_sync(sqlite3_file *handle, int flags) {
  (void)flags;
  if (goes_down())
    return SQLITE_IOERR_FSYNC;
  struct disk_file *file = file_of(handle);
  disk.syncs++;
  if (disk.fail_sync && --disk.fail_sync == 0) {
    for (struct change *change = file->changes; change; change = change->next)
      change->lost = true;
    return SQLITE_IOERR_FSYNC;
  }
  struct change **at = &file->changes;
  while (*at) {
    struct change *change = *at;
    if (change->lost) {
      at = &change->next;
      continue;
    }
    apply(&file->durable, change);
    *at = change->next;
    free(change);
  }
  file->changes_end = at;
  file->exists_durably = true;
  return SQLITE_OK;
}

static int disk_size(sqlite3_file *file, sqlite3_int64 *size) {
  *size = (sqlite3_int64)file_of(file)->now.len;
  return disk.down ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int disk_lock(sqlite3_file *file, int level) {
  (void)file;
  (void)level;
  return SQLITE_OK;
}

static int disk_check_lock(sqlite3_file *file, int *result) {
  (void)file;
  *result = 0;
  return SQLITE_OK;
}

static int disk_control(sqlite3_file *file, int op, void *arg) {
  (void)file;
  (void)op;
  (void)arg;
  return SQLITE_NOTFOUND;
}

static int disk_sector(sqlite3_file *file) {
  (void)file;
  return PIECE;
}

static int disk_device(sqlite3_file *file) {
  (void)file;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int disk_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret) {
  (void)file;
  assert(region < REGIONS_MAX && size == REGION_BYTES);
  if (!disk.regions[region] && extend)
    disk.regions[region] = calloc(1, REGION_BYTES);
  *ret = disk.regions[region];
  return SQLITE_OK;
}

static int disk_shm_lock(sqlite3_file *file, int offset, int n, int flags) {
  (void)file;
  (void)offset;
  (void)n;
  (void)flags;
  return SQLITE_OK;
}

static void disk_shm_barrier(sqlite3_file *file) {
  (void)file;
}

static int disk_shm_unmap(sqlite3_file *file, int delete) {
  (void)file;
  (void)delete;
  for (int i = 0; i < REGIONS_MAX; i++) {
    free(disk.regions[i]);
    disk.regions[i] = NULL;
  }
  return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    2,           disk_close,   disk_read,     disk_write,       disk_truncate,  disk_sync,
    disk_size,   disk_lock,    disk_lock,     disk_check_lock,  disk_control,   disk_sector,
    disk_device, disk_shm_map, disk_shm_lock, disk_shm_barrier, disk_shm_unmap, NULL,
    NULL,
};

static struct disk_file *find_file(const char *name, bool make) {
  for (int i = 0; i < FILES_MAX; i++)
    if (disk.files[i].exists && strcmp(disk.files[i].name, name) == 0)
      return &disk.files[i];
  for (int i = 0; make && i < FILES_MAX; i++) {
    struct disk_file *file = &disk.files[i];
    if (file->exists || (file->exists_durably && strcmp(file->name, name) != 0))
      continue;
    assert(strlen(name) < NAME_BYTES);
    memcpy(file->name, name, strlen(name) + 1);
    file->exists = true;
    if (!file->changes)
      file->changes_end = &file->changes;
    if (!file->now.bytes) {
      file->now.bytes = malloc(SIZE_MAX_BYTES);
      file->durable.bytes = malloc(SIZE_MAX_BYTES);
      assert(file->now.bytes && file->durable.bytes);
    }
    return file;
  }
  return NULL;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *handle, int flags, int *ret_flags) {
  (void)vfs;
  handle->pMethods = NULL;
  struct disk_file *file = disk.down ? NULL : find_file(name ? name : "", flags & SQLITE_OPEN_CREATE);
  if (!file)
    return SQLITE_CANTOPEN;
  ((struct handle *)(void *)handle)->file = file;
  handle->pMethods = &methods;
  if (ret_flags)
    *ret_flags = flags;
  return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_dir) {
  (void)vfs;
  if (goes_down())
    return SQLITE_IOERR_DELETE;
  struct disk_file *file = find_file(name, false);
  if (!file)
    return SQLITE_IOERR_DELETE_NOENT;
  file->exists = false;
  file->now.len = 0;
  if (sync_dir) {
    file->exists_durably = false;
    file->durable.len = 0;
    forget_changes(file);
  }
  return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret) {
  (void)vfs;
  (void)flags;
  *ret = find_file(name, false) != NULL;
  return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret) {
  (void)vfs;
  assert((int)strlen(name) < size);
  memcpy(ret, name, strlen(name) + 1);
  return SQLITE_OK;
}

static void forget_files(void) {
  for (int i = 0; i < FILES_MAX; i++) {
    struct disk_file *file = &disk.files[i];
    forget_changes(file);
    file->exists = file->exists_durably = false;
    file->now.len = file->durable.len = 0;
  }
  (void)disk_shm_unmap(NULL, 1);
}

void lossy_disk_reset(long n) {
  if (!disk.registered) {
    disk.registered = true;
    disk.vfs = *sqlite3_vfs_find(NULL);
    disk.vfs.pNext = NULL;
    disk.vfs.zName = LOSSY_DISK;
    disk.vfs.szOsFile = sizeof(struct handle);
    disk.vfs.xOpen = vfs_open;
    disk.vfs.xDelete = vfs_delete;
    disk.vfs.xAccess = vfs_access;
    disk.vfs.xFullPathname = vfs_full_path;
    int rc = sqlite3_vfs_register(&disk.vfs, 0);
    assert(rc == SQLITE_OK);
    (void)rc;
  }
  forget_files();
  disk.boundary = disk.syncs = disk.fail_sync = 0;
  disk.down_at = n;
  disk.down = false;
}

static void shred(struct image *image, const struct change *change, struct hf_random *random) {
  if (!change->len && hf_random_below(random, 2))
    apply(image, change);
  for (size_t at = 0; at < change->len; at += PIECE) {
    const size_t len = change->len - at < PIECE ? change->len - at : PIECE;
    if (hf_random_below(random, 2))
      write_image(image, change->at + at, change->bytes + at, len);
  }
}

void lossy_disk_reboot(enum lossy_fate fate, uint64_t seed) {
  struct hf_random random;
  hf_random_init(&random, seed);
  for (int i = 0; i < FILES_MAX; i++) {
    struct disk_file *file = &disk.files[i];
    for (const struct change *change = file->changes; change; change = change->next) {
      if (fate == LOSSY_KEEP && !change->lost)
        apply(&file->durable, change);
      else if (fate == LOSSY_SHRED && !change->lost)
        shred(&file->durable, change, &random);
    }
    if (fate == LOSSY_KEEP || (fate == LOSSY_SHRED && hf_random_below(&random, 2)))
      file->exists_durably |= file->exists;
    file->exists = file->exists_durably;
    if (!file->exists)
      file->durable.len = 0;
    if (file->now.bytes)
      memcpy(file->now.bytes, file->durable.bytes, file->durable.len);
    file->now.len = file->durable.len;
    forget_changes(file);
  }
  (void)disk_shm_unmap(NULL, 1);
  disk.down = false;
  disk.down_at = 0;
  disk.fail_sync = 0;
}

bool lossy_disk_is_down(void) {
  return disk.down;
}

void lossy_disk_fail_sync(long n) {
  disk.fail_sync = n;
}

long lossy_disk_boundaries(void) {
  return disk.boundary;
}

long lossy_disk_syncs(void) {
  return disk.syncs;
}
