/* One file as it is served: its facts, its ready-made fields, and its bytes in memory or as an open
 * descriptor.
 *
 * Made by uvh_file_entry_load on any thread; afterwards it belongs to the loop's thread and is
 * counted by references. Always true: size, entity tag and body belong to the same state of the
 * file; nothing in it changes but what stands under "for the cache"; `descriptor` is -1 exactly
 * when the bytes are in memory. */
#ifndef UVH_FILES_FILE_ENTRY_H
#define UVH_FILES_FILE_ENTRY_H

#include <uvhttp/error.h>
#include <uvhttp/response.h>

#include "base/list.h"
#include "base/owner.h"
#include "codec/fields/coding.h"
#include "codec/fields/http_date.h"
#include "files/path_versions.h"
#include "files/static_rules.h"
#include "platform/file.h"

enum {
    /* W/, four 64-bit numbers in hex, a coding, quotes, NUL */
    UVH_FILE_ENTRY_ETAG_SIZE = 2 + 1 + 16 + 1 + 16 + 1 + 16 + 1 + 16 + 1 + 4 + 1 + 1,
};

/* What a plain GET needs stands together at the end, before the key: with thousands of files in
 * use, each line of these is one that no cache of the processor has. */
struct uvh_file_entry {
    uvhttp_prepared_t *validators; /* of 304 */
    size_t etag_length;
    char etag[UVH_FILE_ENTRY_ETAG_SIZE];
    int64_t modified; /* seconds since 1970: the Last-Modified that is sent */

    /* For looking at it again. */
    struct uvh_file_facts facts;
    const char *type;                     /* Content-Type, from the name it was found under */
    const struct uvh_static_rules *rules; /* NULL: none */
    char *ruled_path;                     /* what the rules were asked about; NULL without rules */
    bool
        /* false: changed so shortly before it was read that another change might not show in its
         * facts */
        settled;

    bool broken;              /* its descriptor failed: nothing more is to be sent of it */
    bool looking;             /* a look is under way */
    uint64_t siblings_digest; /* of what is known of the siblings; 0: there are none */
    /* milliseconds of the loop's clock: the file was in this state then or later */
    uint64_t looked_at;
    struct uvh_path_state state;

    /* The same content in other codings; of an entry that is in one itself there are none. */
    /* with one reference each; NULL: not there */
    struct uvh_file_entry *variants[UVH_CODING_COUNT];
    unsigned char siblings; /* of `codings`, those that lie beside it on the disk */
    unsigned char making;   /* of these, those that are being made */

    /* For the cache. */
    struct uvh_owner owner; /* of its references */
    const uvhttp_allocator_t *allocator;
    struct uvh_file_cache *cache; /* that it is in, or NULL */
    struct uvh_list
        by_memory; /* newest first, in a cache, when some body of it or its variants is in memory */
    struct uvh_list by_descriptor; /* the same, when some is on disk */

    /* For answers. */
    const char *body; /* `size` bytes when descriptor is -1 */
    uint64_t size;
    uvhttp_prepared_t *fields; /* of 200 and 206 */
    int descriptor;
    int references;
    uint64_t fresh_until; /* milliseconds; from then on it is looked at again */
    /* what the count of all changes was when `state` was last compared with what is */
    uint64_t seen;
    unsigned char coding; /* enum uvh_coding of the body */
    bool varies;          /* another client may get another coding */
    /* those it can be had in, as bits (1 << coding): there already, or to be made */
    unsigned char codings;

    /* For finding it. */
    uint64_t used;               /* when it was last found, counted in finds */
    struct uvh_file_entry *next; /* in the same bucket */
    uint64_t hash;
    size_t key_length;
    char key[]; /* NUL-terminated; behind it the body, if in memory */
};

/* Writes the entity tag of a file in that state, with a NUL; the length without it. The time of the
 * inode's change is in it, since a file that replaces another one may have the same size,
 * modification time and, when the file system uses it again, inode. */
size_t uvh_file_entry_format_etag(const struct uvh_file_facts *facts,
                                  char out[UVH_FILE_ENTRY_ETAG_SIZE]);

struct uvh_file_order {
    const uvhttp_allocator_t *allocator;
    const struct uvh_file_root *root;
    const struct uvh_static_rules *rules; /* NULL: none; outlive the entry */
    const char *path;                     /* of the file, below the root */
    uvhttp_slice_t key;                   /* what the cache knows it by */
    size_t memory_file_size;              /* bytes; larger files stay on disk */
    /* the path that says what type it is; NULL: `path`. Another one for a sibling */
    const char *named;
    enum uvh_coding coding; /* of a sibling */
    bool varies;            /* another client may get another coding */
};

/* Opens and reads a file; look at it first (uvh_file_look). `*entry` has one reference. Errors:
 * errno's (negative), UVHTTP_ENOTREG, UVHTTP_ENOMEM. Any thread. */
int uvh_file_entry_load(const struct uvh_file_order *order, struct uvh_file_entry **entry);

/* The content of `source` in a coding, made just now: with a weak entity tag, since the same
 * content may be made into other bytes another time. NULL without memory. Any thread, as long as
 * nobody changes `source`. */
struct uvh_file_entry *uvh_file_entry_encoded(const struct uvh_file_entry *source,
                                              enum uvh_coding coding, uvhttp_slice_t body);

/* Bytes in memory and open descriptors, of the entry and its variants. */
size_t uvh_file_entry_memory(const struct uvh_file_entry *entry);
size_t uvh_file_entry_descriptors(const struct uvh_file_entry *entry);

/* A second entry of the same state of the file, for another cache, with one reference; as if it was
 * never looked at again. NULL without memory or descriptors. Any thread, as long as nobody changes
 * `entry`. */
struct uvh_file_entry *uvh_file_entry_copy(const struct uvh_file_entry *entry);

/* The file needs not be read again: `facts` say the same as when it was read, and that is enough to
 * go by. */
bool uvh_file_entry_current(const struct uvh_file_facts *known, bool settled,
                            const struct uvh_file_facts *facts);

static inline void uvh_file_entry_ref(struct uvh_file_entry *entry)
{
    uvh_owner_check(&entry->owner);
    entry->references++;
}

/* The last one closes and frees. NULL is fine. */
void uvh_file_entry_unref(struct uvh_file_entry *entry);

#endif
