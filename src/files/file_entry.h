/* A file as it is served: its facts, its prepared fields, and its bytes in memory or as an open
 * descriptor.
 *
 * Created on any thread; then it belongs to the loop's thread and is reference counted. Invariants:
 * size, entity tag and body belong to the same state of the file. They, the facts, `modified`,
 * type, coding, `varies`, the rules and their path, prepared fields, allocator and key never
 * change; all else is state of the loop's thread. `descriptor` is -1 exactly when the bytes are in
 * memory. */
#ifndef UVH_FILES_FILE_ENTRY_H
#define UVH_FILES_FILE_ENTRY_H

#include <uvhttp/error.h>
#include <uvhttp/response.h>

#include "base/hash_table.h"
#include "base/list.h"
#include "base/owner.h"
#include "codec/fields/coding.h"
#include "codec/fields/http_date.h"
#include "files/path_versions.h"
#include "files/static_rules.h"
#include "platform/file.h"

enum {
    /* W/, four 64-bit numbers in hex, a coding, quotes, NUL. */
    UVH_FILE_ENTRY_ETAG_SIZE = 2 + 1 + 16 + 1 + 16 + 1 + 16 + 1 + 16 + 1 + 4 + 1 + 1,
};

/* The fields that a plain GET needs are adjacent at the end, before the key: with thousands of
 * files in use, each of their cache lines is a miss. */
struct uvh_file_entry {
    uvhttp_prepared_t *validators; /* of 304 */
    size_t etag_length;
    char etag[UVH_FILE_ENTRY_ETAG_SIZE];
    int64_t modified; /* seconds since 1970: the Last-Modified that is sent */

    /* For revalidation. */
    struct uvh_file_facts facts;
    const char *type;                     /* Content-Type: by an option, a rule or the name */
    const struct uvh_static_rules *rules; /* NULL: none */
    char *ruled_path;                     /* that the rules apply to; NULL without rules */
    /* False: changed so shortly before it was read that another change might not show in its
     * facts. */
    bool settled;

    bool broken;              /* its descriptor failed: no more of it is sent */
    bool looking;             /* revalidation is in progress */
    uint64_t siblings_digest; /* of the known siblings; 0: there are none */
    /* Milliseconds of the loop's clock: the file was in this state then or later. */
    uint64_t checked_at;
    struct uvh_path_state state;

    /* The same content in other codings, with one reference each; NULL: not there. An entry that is
     * itself coded has none. */
    struct uvh_file_entry *variants[UVH_CODING_COUNT];
    unsigned char siblings; /* of `codings`, those stored as siblings on the disk */
    unsigned char making;   /* those being made now */

    /* For the cache. */
    struct uvh_owner owner; /* of its references */
    const uvhttp_allocator_t *allocator;
    struct uvh_file_cache *cache;  /* the cache that holds it, or NULL */
    struct uvh_list by_memory;     /* in a cache's LRU list, if a body is in memory */
    struct uvh_list by_descriptor; /* the same, if one is on disk */

    /* For responses. */
    const char *body; /* `size` bytes when descriptor is -1 */
    uint64_t size;
    uvhttp_prepared_t *fields; /* of 200 and 206 */
    int descriptor;
    int references;
    uint64_t fresh_until; /* milliseconds; then it is revalidated */
    /* The count of all changes when `state` was last compared with the current one. */
    uint64_t seen;
    unsigned char coding; /* enum uvh_coding of the body */
    bool varies;          /* other clients may get another coding */
    /* Available codings, as bits (1 << coding): already there, or to be made. */
    unsigned char codings;

    /* For lookup. */
    uint64_t used;             /* time of the last lookup, as a count of lookups */
    struct uvh_hash_link link; /* in the cache's table */
    size_t key_length;
    char key[]; /* NUL-terminated; the body follows it, if in memory */
};

/* Writes the entity tag of a file in that state, with a NUL; returns its length without the NUL.
 * The tag includes the inode's change time, since a replacement may have the same size,
 * modification time and, when the file system reuses it, inode. */
size_t uvh_file_entry_format_etag(const struct uvh_file_facts *facts,
                                  char out[UVH_FILE_ENTRY_ETAG_SIZE]);

struct uvh_file_load_options {
    const uvhttp_allocator_t *allocator;
    const struct uvh_file_root *root;     /* NULL: `path` is any path of the file system */
    const struct uvh_static_rules *rules; /* NULL: none; must outlive the entry */
    const char *path;                     /* of the file, below the root if there is one */
    const char *type;                     /* must outlive the entry; NULL: by the name */
    uvhttp_slice_t key;                   /* its key in the cache */
    size_t memory_file_size;              /* bytes; larger files stay on disk */
    /* The path that determines type and rules, for example app.js for its sibling app.js.gz; NULL:
     * `path`. */
    const char *named;
    enum uvh_coding coding; /* of a sibling */
    bool varies;            /* other clients may get another coding */
};

/* Opens and reads a file; below a root stat it first (uvh_file_facts_read), so that no device is
 * opened. `*entry` has one reference. Returns 0, a negative errno, UVHTTP_ENOTREG, UVHTTP_EHEADER
 * (an invalid type), or UVHTTP_ENOMEM. Any thread. */
int uvh_file_entry_load(const struct uvh_file_load_options *options, struct uvh_file_entry **entry);

/* The content of `source` in a coding, just made: with a weak entity tag, since compressing again
 * may give other bytes. NULL when out of memory. Any thread: it reads only what never changes
 * in `source`. */
struct uvh_file_entry *uvh_file_entry_encoded(const struct uvh_file_entry *source,
                                              enum uvh_coding coding, uvhttp_slice_t body);

/* Bytes in memory and open descriptors, of the entry and its variants. */
size_t uvh_file_entry_memory(const struct uvh_file_entry *entry);
size_t uvh_file_entry_descriptors(const struct uvh_file_entry *entry);

/* A second entry of the same state of the file, for another cache, with one reference and not yet
 * revalidated. NULL when out of memory or descriptors. Any thread, while no thread changes
 * `entry`. */
struct uvh_file_entry *uvh_file_entry_copy(const struct uvh_file_entry *entry);

/* The file need not be read again: `facts` equal the `known` ones, and `settled` says that a change
 * would show in them. */
bool uvh_file_entry_current(const struct uvh_file_facts *known, bool settled,
                            const struct uvh_file_facts *facts);

static inline void uvh_file_entry_ref(struct uvh_file_entry *entry)
{
    uvh_owner_check(&entry->owner);
    entry->references++;
}

/* The last reference closes and frees. NULL is allowed. */
void uvh_file_entry_unref(struct uvh_file_entry *entry);

#endif
