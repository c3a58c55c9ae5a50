/* One file as it is served: its facts, its ready-made fields, and its bytes in memory or as an open descriptor.
 *
 * Made by uvh_file_entry_load on any thread; afterwards it belongs to the loop's thread and is counted by references. Always true:
 * size, entity tag and body belong to the same state of the file; nothing in it changes but what stands under "for the cache";
 * `descriptor` is -1 exactly when the bytes are in memory. */
#ifndef UVH_MODULES_FILE_ENTRY_H
#define UVH_MODULES_FILE_ENTRY_H

#include <uvhttp/error.h>
#include <uvhttp/response.h>

#include "base/list.h"
#include "codec/http_date.h"
#include "platform/file.h"

struct uvh_watched_folder;

enum {
    UVH_FILE_ENTRY_ETAG_SIZE =
        1 + 16 + 1 + 16 + 1 + 16 + 1 + 1, /* three 64-bit numbers in hex, quotes, NUL */
};

struct uvh_file_entry {
    /* For answers. */
    const char *body; /* `size` bytes when descriptor is -1 */
    uint64_t size;
    int descriptor;
    int references;
    uvhttp_prepared_t *fields;     /* of 200 and 206 */
    uvhttp_prepared_t *validators; /* of 304 */
    size_t etag_length;
    char etag[UVH_FILE_ENTRY_ETAG_SIZE];
    int64_t modified; /* seconds since 1970: the Last-Modified that is sent */

    /* For looking at it again. */
    struct uvh_file_facts facts;
    const char *type; /* Content-Type, from the name it was found under */
    bool
        settled; /* false: changed so shortly before it was read that another change might not show in its facts */

    /* For the cache. */
    struct uvh_list recent;      /* newest first; unlinked when in no cache */
    struct uvh_file_entry *next; /* in the same bucket */
    uint64_t hash;
    uint64_t used;        /* when it was last found, counted in finds */
    uint64_t looked_at;   /* milliseconds of the loop's clock: the file was in this state then or later */
    uint64_t fresh_until; /* milliseconds; from then on it is looked at again */
    bool looking;         /* a look is under way */
    uint64_t seen; /* what the count of all changes was when this entry was last compared with its folder */
    struct uvh_watched_folder *folder; /* where it comes from; NULL: not watched */
    uint64_t folder_changes;           /* that folder's count when the file was looked at */

    const uvhttp_allocator_t *allocator;
    size_t key_length;
    char key[]; /* NUL-terminated; behind it the body, if in memory */
};

struct uvh_file_order {
    const uvhttp_allocator_t *allocator;
    const struct uvh_file_root *root;
    const char *path;        /* of the file, below the root */
    uvhttp_slice_t key;      /* what the cache knows it by */
    size_t memory_file_size; /* bytes; larger files stay on disk */
};

/* Opens and reads a file; look at it first (uvh_file_look). `*entry` has one reference. Errors: errno's (negative), UVHTTP_ENOTREG,
 * UVHTTP_ENOMEM. Any thread. */
int uvh_file_entry_load(const struct uvh_file_order *order, struct uvh_file_entry **entry);

/* A second entry of the same state of the file, for another cache, with one reference; as if it was never looked at again. NULL without memory or
 * descriptors. Any thread, as long as nobody changes `entry`. */
struct uvh_file_entry *uvh_file_entry_copy(const struct uvh_file_entry *entry);

/* The file needs not be read again: `facts` say the same as when it was read, and that is enough to go by. */
bool uvh_file_entry_current(const struct uvh_file_facts *known, bool settled,
                            const struct uvh_file_facts *facts);

static inline void uvh_file_entry_ref(struct uvh_file_entry *entry)
{
    entry->references++;
}

/* The last one closes and frees. NULL is fine. */
void uvh_file_entry_unref(struct uvh_file_entry *entry);

#endif
