#include "faulty_vfs.h"

#include <assert.h>
#include <stddef.h>

/* A file of ours is followed in memory by one of the usual file system. */
struct faulty_file {
  sqlite3_file base;
  sqlite3_file *real;
};

static struct {
  sqlite3_vfs vfs;
  sqlite3_vfs *real;
  faulty_hook *hook;
  void *ctx;
} faulty;

static sqlite3_file *real_of(sqlite3_file *file) {
  return ((struct faulty_file *)(void *)file)->real;
}

static int ask(enum faulty_op op) {
  return faulty.hook ? faulty.hook(faulty.ctx, op, false) : SQLITE_OK;
}

static int done(enum faulty_op op, int rc) {
  if (faulty.hook)
    (void)faulty.hook(faulty.ctx, op, true);
  return rc;
}

static int file_close(sqlite3_file *file) {
  return real_of(file)->pMethods ? real_of(file)->pMethods->xClose(real_of(file)) : SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at) {
  return real_of(file)->pMethods->xRead(real_of(file), bytes, len, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at) {
  int rc = ask(FAULTY_WRITE);
  return rc ? rc : done(FAULTY_WRITE, real_of(file)->pMethods->xWrite(real_of(file), bytes, len, at));
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  int rc = ask(FAULTY_TRUNCATE);
  return rc ? rc : done(FAULTY_TRUNCATE, real_of(file)->pMethods->xTruncate(real_of(file), size));
}

static int file_sync(sqlite3_file *file, int flags) {
  int rc = ask(FAULTY_SYNC);
  return rc ? rc : done(FAULTY_SYNC, real_of(file)->pMethods->xSync(real_of(file), flags));
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
  return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *result) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), result);
}

static int file_control(sqlite3_file *file, int op, void *arg) {
  return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int file_sector(sqlite3_file *file) {
  return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_device(sqlite3_file *file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret) {
  return real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, ret);
}

static int shm_lock(sqlite3_file *file, int offset, int n, int flags) {
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void shm_barrier(sqlite3_file *file) {
  real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shm_unmap(sqlite3_file *file, int delete) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), delete);
}

static const sqlite3_io_methods methods = {
    2,         file_close,  file_read,       file_write,   file_truncate, file_sync,   file_size,
    file_lock, file_unlock, file_check_lock, file_control, file_sector,   file_device, shm_map,
    shm_lock,  shm_barrier, shm_unmap,       NULL,         NULL,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags) {
  (void)vfs;
  struct faulty_file *faulty_file = (struct faulty_file *)(void *)file;
  faulty_file->real = (sqlite3_file *)(void *)(faulty_file + 1);
  int rc = faulty.real->xOpen(faulty.real, name, faulty_file->real, flags, ret_flags);
  file->pMethods = faulty_file->real->pMethods ? &methods : NULL;
  return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_dir) {
  (void)vfs;
  int rc = ask(FAULTY_DELETE);
  return rc ? rc : done(FAULTY_DELETE, faulty.real->xDelete(faulty.real, name, sync_dir));
}

void faulty_vfs_set(faulty_hook *hook, void *ctx) {
  faulty.hook = hook;
  faulty.ctx = ctx;
  if (faulty.real)
    return;
  faulty.real = sqlite3_vfs_find(NULL);
  faulty.vfs = *faulty.real;
  faulty.vfs.pNext = NULL;
  faulty.vfs.zName = FAULTY_VFS;
  faulty.vfs.szOsFile = (int)sizeof(struct faulty_file) + faulty.real->szOsFile;
  faulty.vfs.xOpen = vfs_open;
  faulty.vfs.xDelete = vfs_delete;
  int rc = sqlite3_vfs_register(&faulty.vfs, 0);
  assert(rc == SQLITE_OK);
  (void)rc;
}
