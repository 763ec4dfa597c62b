/* Where a gateway keeps what outlives it. */
#ifndef HF_DAEMON_STATE_H
#define HF_DAEMON_STATE_H

/* The path of the file `name` in `dir`, or, if that is NULL, in $XDG_STATE_HOME/holdfast or ~/.local/state/holdfast.
 * Returns owned, or NULL when out of memory. */
char *hf_state_path(const char *dir, const char *name);

/* The same from the root, so that it means the same elsewhere. */
char *hf_state_absolute(const char *dir, const char *name);

/* The name of the database there. */
#define HF_STATE_DATABASE "holdfast.db"

#endif
