/* The part of an upload that touches names on the disk: which folder it goes to, whether it may
 * have its name, and giving it that name.
 *
 * static_upload.c has both functions carried out by jobs, in the quick and in the heavy lane, the
 * spool (spool.c) writes the bytes between them. Touched by one thread at a time; refers to nothing
 * that changes meanwhile but the file system. */
#ifndef UVH_FILES_STATIC_PUBLISH_H
#define UVH_FILES_STATIC_PUBLISH_H

#include "codec/fields/conditional.h"
#include "codec/fields/digest_field.h"
#include "files/file_entry.h"
#include "files/path_versions.h"
#include "files/static_settings.h"
#include "platform/digest.h"
#include "platform/lock.h"
#include "uploads/spool.h"

/* One file. */
struct uvh_static_part {
    struct uvh_static_part *next;
    struct uvh_spool_file file; /* stays hidden until it is published */
    const char *name;
};

struct uvh_static_publish {
    const struct uvh_static_settings *settings;
    /* of the root: from the last look at a name to giving it, nobody else publishes */
    struct uvh_lock *lock;
    struct uvh_path_versions *versions; /* of the root */
    struct uvh_store *store;
    const char *folder; /* below the root, without a slash at its ends; "" is the root */
    struct uvh_static_part *parts;
    bool form; /* any number of parts; else one, to which the rest applies */
    struct uvh_conditional_fields conditions;
    /* Accept-Encoding, as one line; base NULL: none, or there are no conditions */
    uvhttp_slice_t accepted;
    struct uvh_digest_field digests; /* as the client says */
    /* of what came; NULL where the client says nothing */
    struct uvh_digest *sums[UVH_DIGEST_KINDS];

    /* What became of it: a status to refuse with and why, or an error, or neither. */
    int status;
    const char *reason;
    int error;                           /* errno's (negative) */
    char etag[UVH_FILE_ENTRY_ETAG_SIZE]; /* of the new file, of a form that of the last */
};

/* Opens the folder in the store, and when it is no form looks whether the file may have its name,
 * and begins it. */
void uvh_static_publish_prepare(struct uvh_static_publish *publish);

/* All bytes are written: looks again, and gives all files their names. */
void uvh_static_publish_run(struct uvh_static_publish *publish);

#endif
