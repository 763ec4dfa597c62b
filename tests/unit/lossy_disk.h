/* A disk in memory that loses its power: what was written since the last sync may be there afterwards, or not, or in
 * part.
 *
 * It is a file system for SQLite (one connection at a time). Each write, sync, truncation and deletion is a boundary;
 * before the nth one the power goes, and everything fails until lossy_disk_reboot. */
#ifndef HF_TEST_LOSSY_DISK_H
#define HF_TEST_LOSSY_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define LOSSY_DISK "lossy"

enum lossy_fate {
  LOSSY_DROP,  /* nothing that was not synced is there */
  LOSSY_KEEP,  /* all of it is */
  LOSSY_SHRED, /* some of it is, in pieces of 512 bytes, as the seed decides */
};

/* Registers the file system, forgets all files, and sets the power to fail before boundary `n` (from 1; 0: never). */
void lossy_disk_reset(long n);

/* The power is back, without failures from now on. */
void lossy_disk_reboot(enum lossy_fate fate, uint64_t seed);

/* Did the power go? */
bool lossy_disk_is_down(void);

/* Lets the nth sync from now (1: the next) fail. What it should have written stays readable, but never gets to the
 * disk, unless it is written anew: as Linux does. */
void lossy_disk_fail_sync(long n);

/* Boundaries and syncs since the reset. */
long lossy_disk_boundaries(void);
long lossy_disk_syncs(void);

#endif
