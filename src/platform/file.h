/* Files below one directory, for serving them: stat, open, read, list; never outside that
 * directory.
 *
 * Preconditions of every path here: relative to the root, '/' between names, no NUL; "" is the root
 * itself. Links are followed by the root's policy. By default each step must stay beneath the root:
 * an absolute link, or one that leaves the root, gives -EXDEV. openat2 enforces that, or a checked
 * path walk without it (beneath.c). FIFOs do not block and devices see no effect, because
 * uvh_file_facts_read opens nothing. Functions return 0 or a negative errno, which is libuv's code.
 * Any thread; threads may share a root. */
#ifndef UVH_PLATFORM_FILE_H
#define UVH_PLATFORM_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum uvh_file_kind {
    UVH_FILE_REGULAR,
    UVH_FILE_DIRECTORY,
    UVH_FILE_LINK,  /* only from uvh_file_list, uvh_file_list_in and uvh_file_facts_read_in */
    UVH_FILE_OTHER, /* FIFO, socket, device */
    /* only from uvh_file_list_in: the file system does not report the type with the name */
    UVH_FILE_UNKNOWN
};

struct uvh_file_facts {
    uint64_t size; /* bytes */
    uint64_t inode;
    uint64_t device;
    int64_t modified_seconds; /* mtime, seconds since 1970 */
    int64_t changed_seconds;  /* ctime, seconds since 1970: a program cannot set it back */
    uint32_t modified_nanoseconds;
    uint32_t changed_nanoseconds;
    enum uvh_file_kind kind;
};

/* Policy for links on a path; links in the root's own path are always followed. */
enum uvh_file_links {
    UVH_FILE_LINKS_INSIDE,   /* followed to a path beneath the root; else -EXDEV */
    UVH_FILE_LINKS_ANYWHERE, /* followed anywhere */
    UVH_FILE_LINKS_NONE,     /* not followed: -ELOOP for any link */
    /* followed anywhere if link and target have the same owner; else -EACCES. The same for every
     * link on the way there. */
    UVH_FILE_LINKS_OWNER
};

struct uvh_file_root {
    int descriptor;
    const char *path;       /* absolute, for uvh_file_root_follow; NULL: not followed */
    _Atomic uint64_t moves; /* how often uvh_file_root_follow has replaced the directory */
    bool walk;              /* do not use openat2: check every step in the program */
    enum uvh_file_links links;
    const struct uvh_file_root *next; /* tried for names missing in this root; or NULL */
};

/* Links in `path` are trusted and followed. `path`, `links` and `next` may be set before the root
 * is used. */
int uvh_file_root_open(struct uvh_file_root *root, const char *path);
void uvh_file_root_close(struct uvh_file_root *root);

/* If the root's path leads to another directory now, because it was replaced or a link on the path
 * was changed, the descriptor refers to that one afterwards. If it leads to none, nothing is found
 * below the root. Keeps the directory on other errors, such as EMFILE. The number of the descriptor
 * stays the same, so other threads may use the root meanwhile. Two system calls if nothing has
 * changed. */
void uvh_file_root_follow(const struct uvh_file_root *root);
uint64_t uvh_file_root_moves(const struct uvh_file_root *root);

/* Copies a root and those after it, with descriptors and directories of their own, which are not
 * followed. Returns 0, UVHTTP_ENOMEM or a negative errno. */
int uvh_file_roots_copy(const struct uvh_file_root *root, const uvhttp_allocator_t *allocator,
                        struct uvh_file_root **copies);
/* NULL is allowed. */
void uvh_file_roots_free(struct uvh_file_root *copies, const uvhttp_allocator_t *allocator);

/* The absolute form of a path, whose links are kept. Returns 0 or a negative errno. */
int uvh_file_make_absolute(const char *path, char *absolute, size_t size);

/* True for "no such name"; other errors are about an existing one. */
bool uvh_file_is_missing(int error);

/* Stats a path without opening it. A directory that was removed while open is -ENOENT. */
int uvh_file_facts_read(const struct uvh_file_root *root, const char *path,
                        struct uvh_file_facts *facts);

/* Opens for reading; call uvh_file_facts_read first, so that only files and directories are opened.
 * If a FIFO replaces the file in between, this call still does not block. Close `*descriptor` with
 * uvh_file_close. */
int uvh_file_open(const struct uvh_file_root *root, const char *path, int *descriptor,
                  struct uvh_file_facts *facts);
/* The same for any trusted path of the file system, without confinement. */
int uvh_file_open_anywhere(const char *path, int *descriptor, struct uvh_file_facts *facts);
/* Stats any path without opening it. */
int uvh_file_facts_read_anywhere(const char *path, struct uvh_file_facts *facts);
int uvh_file_facts_of(int descriptor, struct uvh_file_facts *facts);
void uvh_file_close(int descriptor);

/* Opens a directory below the root to create files in it: `*descriptor` is an O_PATH descriptor for
 * *at() calls and cannot be read. It keeps the same directory even if its path changes later.
 * `make`: missing directories of the path are created. Close it with uvh_file_close. */
int uvh_file_open_directory(const struct uvh_file_root *root, const char *path, bool make,
                            int *descriptor);

/* Stats a name in an open directory; links are not followed. */
int uvh_file_facts_read_in(int directory, const char *name, struct uvh_file_facts *facts);

/* Duplicates a descriptor. Returns the new one, or a negative errno. */
int uvh_file_duplicate(int descriptor);

/* True if both are the same file in the same state. */
bool uvh_file_facts_equal(const struct uvh_file_facts *a, const struct uvh_file_facts *b);

/* Reads `size` bytes from `offset`. Returns the bytes read (fewer only at the end of the file), or
 * a negative errno. */
int64_t uvh_file_read(int descriptor, void *data, size_t size, uint64_t offset);

/* Calls `each` for every name in a directory, in the system's order, without "." and "..". The
 * facts are those of the name itself, so a link is UVH_FILE_LINK. The first root that has the
 * directory is listed. Names that disappear meanwhile are skipped. A non-zero result of `each` ends
 * the listing and is returned. */
typedef int (*uvh_file_name_cb)(const char *name, const struct uvh_file_facts *facts, void *arg);
int uvh_file_list(const struct uvh_file_root *root, const char *directory, uvh_file_name_cb each,
                  void *arg);

/* The same for a directory opened by uvh_file_open_directory, with the data of the directory itself
 * only: no name is stat'ed. */
typedef int (*uvh_file_kind_cb)(const char *name, enum uvh_file_kind kind, void *arg);
int uvh_file_list_in(int directory, uvh_file_kind_cb each, void *arg);

/* Appends `size` bytes to a file with one write, so that lines of several threads and processes do
 * not mix. Creates a missing file with permissions for its owner only. Returns 0, or a negative
 * errno. */
int uvh_file_append(const char *path, const void *data, size_t size);

/* The soft limit of open descriptors (RLIMIT_NOFILE). */
size_t uvh_file_descriptor_limit(void);

/* The number of the next descriptor, INT_MAX if there is none. */
int uvh_file_lowest_free_descriptor(void);

#endif
