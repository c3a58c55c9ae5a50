/* Files of the application. */
#ifndef UVHTTP_FILE_H
#define UVHTTP_FILE_H

#include <uvhttp/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a whole file. `size` may be NULL. Waits for the disk. Any thread.
 *
 *     char *text;
 *     if (uvhttp_file_load("notes.json", &text, NULL) == 0)
 *         fputs(text, stdout);
 *     uvhttp_file_release(text);
 *
 * Returns 0 with its bytes in `*data`, followed by a NUL that `*size` does not count; or with
 * `*data` NULL
 *   UVHTTP_EINVAL   no path or `data`
 *   UVHTTP_ENOTREG  a directory or device
 *   UVHTTP_ENOMEM   out of memory
 *   libuv           errors of the file system (UV_ENOENT, UV_EACCES, ...) */
UVHTTP_EXPORT int uvhttp_file_load(const char *path, char **data, size_t *size);

/* Frees the bytes of uvhttp_file_load. NULL does nothing. Any thread. */
UVHTTP_EXPORT void uvhttp_file_release(char *data);

/* Writes a file that must not be lost: creates a new file in the same directory, flushes it to
 * disk, renames it to `path`, and flushes the directory. So a reader, and the next start after a
 * crash or a power failure, find the old contents or the new ones, never a part. `mode`: its
 * permission bits; 0: 0666 minus the process's umask. Waits for the disk, usually some
 * milliseconds. Any thread. A killed process may leave a file ".uvhttp-....part".
 * Returns 0, or with the old file unchanged, unless the directory cannot be flushed,
 *   UVHTTP_EINVAL  no path or file name; no `data` with a size above 0
 *   UVHTTP_ENOMEM  out of memory
 *   libuv          errors of the file system (UV_ENOENT, UV_EACCES, UV_ENOSPC, ...) */
UVHTTP_EXPORT int uvhttp_file_save(const char *path, const void *data, size_t size, unsigned mode);

#ifdef __cplusplus
}
#endif

#endif
