/* A directory and everything below it as a tar or zip archive, made one slice at a time.
 *
 * Invariants: a member has exactly the bytes that its head announces, or the stream fails (a file
 * was truncated meanwhile). Files that could not be served are not included. Links are stored as
 * their targets. Reads the disk, so it belongs in a job. */
#ifndef UVH_FILES_ARCHIVE_STREAM_H
#define UVH_FILES_ARCHIVE_STREAM_H

#include "base/bytes.h"
#include "codec/text/tar_head.h"
#include "codec/text/zip_head.h"
#include "files/dir_walk.h"

enum {
    UVH_ARCHIVE_STREAM_SLICE = 256 * 1024, /* bytes, about */
    UVH_ARCHIVE_STREAM_SLICE_MAX = UVH_ARCHIVE_STREAM_SLICE + 64 * 1024,
};

struct uvh_archive_stream_options {
    const struct uvh_file_root *root;
    const char *directory; /* as in uvh_dir_query */
    const char *name;      /* of the directory within the archive: not empty, no slash */
    bool hidden;
    const char *const *hide; /* as in uvh_dir_query */
    bool zip;                /* instead of tar */
    size_t most_entries;
    uint64_t most_bytes; /* limit of all files together */
};

struct uvh_archive_stream {
    struct uvh_dir_walk walk;
    struct uvh_file_root *roots; /* its own, which stay the same if others take their places */
    struct uvh_archive_stream_options options; /* its pointers must outlive the stream */
    uint64_t bytes_left;                       /* of all files, still allowed */
    uint64_t size, offset;                     /* of the current file */
    int descriptor;                            /* -1 between files */
    bool begun;
    char path[UVH_TAR_PATH_MAX + 1]; /* of the current member in the archive */

    /* zip */
    struct uvh_bytes central;     /* the central directory; all of it at the end */
    struct uvh_zip_member member; /* the current file; its path is `path` */
    uint64_t entries;
    uint64_t sent;      /* bytes of all slices before this one */
    size_t slice_begin; /* length of the slice before the call */
    size_t tail_sent;   /* bytes of `central` */
    bool tail;          /* all files are done */
};

/* Stats all files once, so that an archive that is too large is refused before anything is sent.
 * Returns 0, UVHTTP_ETOOLARGE, UVHTTP_ENOMEM, or a negative errno; on error nothing is left to
 * release. */
int uvh_archive_stream_open(struct uvh_archive_stream *stream, const uvhttp_allocator_t *allocator,
                            const struct uvh_archive_stream_options *options);
void uvh_archive_stream_close(struct uvh_archive_stream *stream);

/* Appends the next slice. Returns 0, 1 with the last one; UVHTTP_ELENGTH (a file became shorter),
 * UVHTTP_ETOOLARGE (the limit is exceeded now), UVHTTP_ENOMEM, or a negative errno. */
int uvh_archive_stream_make(struct uvh_archive_stream *stream, struct uvh_bytes *slice);

#endif
