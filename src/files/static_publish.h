/* The part of an upload that accesses names on the disk: finds the directory, checks whether the
 * file may have its name, and renames it.
 *
 * static_upload.c runs both functions in jobs, in the quick and in the heavy lane; the spool
 * (spool.c) writes the bytes between them. One thread at a time uses it, and it refers to nothing
 * that changes meanwhile except the file system. */
#ifndef UVH_FILES_STATIC_PUBLISH_H
#define UVH_FILES_STATIC_PUBLISH_H

#include "codec/fields/conditional.h"
#include "codec/fields/digest_field.h"
#include "files/file_entry.h"
#include "files/path_versions.h"
#include "files/static_settings.h"
#include "platform/lock.h"
#include "uploads/body_digest.h"
#include "uploads/spool.h"

/* One file. */
struct uvh_static_part {
    struct uvh_static_part *next;
    struct uvh_spool_file file; /* stays hidden until it is published */
    const char *name;
};

struct uvh_static_publish {
    const struct uvh_static_settings *settings;
    /* Of the root: serializes the last check of a name and the rename. */
    struct uvh_lock *lock;
    struct uvh_path_versions *versions; /* of the root */
    struct uvh_store *store;
    const char *directory; /* below the root, without leading or trailing slash; "" is the root */
    struct uvh_static_part *parts;
    bool form; /* any number of parts; else one, to which the following applies */
    struct uvh_conditional_fields conditions;
    /* Accept-Encoding, as one line; base NULL: none, or no conditions. */
    uvhttp_slice_t accepted;
    struct uvh_body_digest digest;

    /* The result: a status and a reason to refuse with, or an error, or neither. */
    int status;
    const char *reason;
    int error;                           /* negative errno */
    char etag[UVH_FILE_ENTRY_ETAG_SIZE]; /* of the new file; for a form, of the last one */
};

/* Opens the directory in the store. Without a form, checks whether the file may have its name, and
 * creates it. */
void uvh_static_publish_prepare(struct uvh_static_publish *publish);

/* All bytes are written: checks again, and renames all files. */
void uvh_static_publish_run(struct uvh_static_publish *publish);

#endif
