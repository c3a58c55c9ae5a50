/* A folder and all below it as a tar archive, made a slice at a time.
 *
 * Always true: a member has exactly the bytes that its head announces, or making fails (a file that
 * was shortened meanwhile); what could not be served is not in it. Links are stored as what they
 * lead to. Reads the disk, so it belongs in a job. Called by static_listing.c. */
#ifndef UVH_FILES_TAR_STREAM_H
#define UVH_FILES_TAR_STREAM_H

#include "base/bytes.h"
#include "codec/text/tar_head.h"
#include "files/dir_walk.h"

enum {
    UVH_TAR_STREAM_SLICE = 256 * 1024, /* bytes, about */
    UVH_TAR_STREAM_SLICE_MAX = UVH_TAR_STREAM_SLICE + 64 * 1024,
};

struct uvh_tar_stream_order {
    const struct uvh_file_root *root;
    const char *folder; /* as in uvh_dir_query */
    const char *name;   /* of the folder within the archive: not empty, no slash */
    bool hidden;
    size_t most_entries;
    uint64_t most_bytes; /* of all files together */
};

struct uvh_tar_stream {
    struct uvh_dir_walk walk;
    struct uvh_tar_stream_order order; /* what it points to has to outlive the stream */
    uint64_t bytes_left;               /* of all files that may still come */
    uint64_t size, offset;             /* of the file that is being read */
    int descriptor;                    /* -1 between files */
    bool begun;
};

/* Looks at everything once, so that what is too large is refused before anything was sent. 0,
 * UVHTTP_ETOOLARGE, UVHTTP_ENOMEM, or errno's (negative); then nothing is left to release. */
int uvh_tar_stream_open(struct uvh_tar_stream *stream, const uvhttp_allocator_t *allocator,
                        const struct uvh_tar_stream_order *order);
void uvh_tar_stream_close(struct uvh_tar_stream *stream);

/* Appends the next slice. 0, 1 with the last one; UVHTTP_ELENGTH (a file has become shorter),
 * UVHTTP_ETOOLARGE (there is more now), UVHTTP_ENOMEM, or errno's. */
int uvh_tar_stream_make(struct uvh_tar_stream *stream, struct uvh_bytes *slice);

#endif
