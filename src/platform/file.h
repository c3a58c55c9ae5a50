/* Files below one folder, for serving them: look, open, read, list, and never anything outside that
 * folder.
 *
 * Preconditions of every path here: relative to the root, '/' between names, no NUL; "" is the root
 * itself. Links are followed as the root's policy says, by itself as long as each step stays
 * beneath the root: an absolute link, or one that climbs out, gives -EXDEV. The kernel does that
 * where it has openat2, otherwise a checked walk does (beneath.c). Nothing blocks on a FIFO or has
 * an effect on a device: uvh_file_look opens nothing. Results are 0 or a negative errno, which is
 * libuv's code. All functions: any thread; a root may be shared between threads. */
#ifndef UVH_PLATFORM_FILE_H
#define UVH_PLATFORM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uvh_file_kind {
    UVH_FILE_REGULAR,
    UVH_FILE_FOLDER,
    UVH_FILE_LINK,   /* only from uvh_file_list, uvh_file_list_in and uvh_file_look_in */
    UVH_FILE_OTHER,  /* FIFO, socket, device */
    UVH_FILE_UNKNOWN /* only from uvh_file_list_in: the file system does not say it with the name */
};

struct uvh_file_facts {
    uint64_t size; /* bytes */
    uint64_t inode;
    uint64_t device;
    int64_t modified_seconds; /* of the content, since 1970 */
    int64_t changed_seconds;  /* of content or attributes: cannot be set back by a program */
    uint32_t modified_nanoseconds;
    uint32_t changed_nanoseconds;
    enum uvh_file_kind kind;
};

/* What links on a path may do; those of the root's own path are followed. */
enum uvh_file_links {
    UVH_FILE_LINKS_INSIDE,   /* lead to a place beneath the root; else -EXDEV */
    UVH_FILE_LINKS_ANYWHERE, /* lead anywhere */
    UVH_FILE_LINKS_NONE,     /* nothing: -ELOOP for any */
    /* lead anywhere, to what belongs to the link's owner; else -EACCES. So does every link on the
     * way there. */
    UVH_FILE_LINKS_OWNER
};

struct uvh_file_root {
    int descriptor;
    bool walk; /* no openat2 here: check every step in the program */
    enum uvh_file_links links;
    const struct uvh_file_root *next; /* tried for what is missing here; NULL: there is no other */
};

/* The folder stays the same one whatever happens to its path later. Links in `path` are the
 * caller's own and followed. `links` and `next` may be set before the root is used. */
int uvh_file_root_open(struct uvh_file_root *root, const char *path);
void uvh_file_root_close(struct uvh_file_root *root);

/* Uses the checked walk although the kernel has openat2: for tests. */
void uvh_file_root_force_walk(struct uvh_file_root *root);

/* Nothing is there by that name; other errors are about something that is. */
bool uvh_file_is_missing(int error);

/* What is there, without opening it. A folder that was removed while open is -ENOENT. */
int uvh_file_look(const struct uvh_file_root *root, const char *path, struct uvh_file_facts *facts);

/* Opens for reading; look first, so that only files and folders are opened (if one was swapped for
 * a FIFO in between, this still returns at once). Close `*descriptor` with uvh_file_close. */
int uvh_file_open(const struct uvh_file_root *root, const char *path, int *descriptor,
                  struct uvh_file_facts *facts);
/* The same for any path of the file system, which is the caller's own choice: nothing is
 * confined. */
int uvh_file_open_anywhere(const char *path, int *descriptor, struct uvh_file_facts *facts);
/* What is there, without opening it, for any path. */
int uvh_file_look_anywhere(const char *path, struct uvh_file_facts *facts);
int uvh_file_facts_of(int descriptor, struct uvh_file_facts *facts);
void uvh_file_close(int descriptor);

/* A folder below the root, to make things in: `*descriptor` is one to reach names by, not to read
 * it. The folder stays the same one whatever happens to its path later. With `make` those of its
 * path that are missing are made. Close it with uvh_file_close. */
int uvh_file_open_folder(const struct uvh_file_root *root, const char *path, bool make,
                         int *descriptor);

/* What has the name in an open folder; links are not followed. */
int uvh_file_look_in(int folder, const char *name, struct uvh_file_facts *facts);

/* Another descriptor for the same open file, or a negative errno. */
int uvh_file_duplicate(int descriptor);

/* True when both are the same file in the same state. */
bool uvh_file_facts_equal(const struct uvh_file_facts *a, const struct uvh_file_facts *b);

/* Reads `size` bytes from `offset`; returns how many there were (fewer only at the end of the
 * file), or a negative errno. */
int64_t uvh_file_read(int descriptor, void *data, size_t size, uint64_t offset);

/* Calls `each` for every name in a folder, in the system's order, without "." and "..". The facts
 * are those of the name itself, so a link is UVH_FILE_LINK. The first root that has the folder is
 * listed. A name that vanished meanwhile is left out. A result of `each` other than 0 ends the
 * listing and is returned. */
typedef int (*uvh_file_name_cb)(const char *name, const struct uvh_file_facts *facts, void *arg);
int uvh_file_list(const struct uvh_file_root *root, const char *folder, uvh_file_name_cb each,
                  void *arg);

/* The same for a folder that uvh_file_open_folder has opened, with nothing but what stands in the
 * folder itself: no name is looked at. */
typedef int (*uvh_file_kind_cb)(const char *name, enum uvh_file_kind kind, void *arg);
int uvh_file_list_in(int folder, uvh_file_kind_cb each, void *arg);

/* Appends `size` bytes to a file with one write, so that the lines of several threads and processes
 * do not mix; makes it, for its owner alone, if it is missing. 0, or a negative errno. */
int uvh_file_append(const char *path, const void *data, size_t size);

/* How many descriptors the process may have open. */
size_t uvh_file_descriptor_limit(void);

/* The number that the next descriptor gets, INT_MAX when there is none. */
int uvh_file_lowest_free_descriptor(void);

#endif
