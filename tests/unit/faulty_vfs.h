/* SQLite's usual file system, with somebody in between who may refuse, or end the process. */
#ifndef HF_TEST_FAULTY_VFS_H
#define HF_TEST_FAULTY_VFS_H

#include <sqlite3.h>
#include <stdbool.h>

enum faulty_op { FAULTY_WRITE, FAULTY_SYNC, FAULTY_TRUNCATE, FAULTY_DELETE };

/* Asked before (`after` false) and after each operation that changes what is on the disk: returns SQLITE_OK, or the
 * error that the operation shall have instead. After an operation it only watches. From any thread. */
typedef int faulty_hook(void *ctx, enum faulty_op op, bool after);

#define FAULTY_VFS "faulty"

/* Registers it under that name, or gives it another hook. */
void faulty_vfs_set(faulty_hook *hook, void *ctx);

#endif
