/* The blocks before each member of a tar archive and after the last one: the format only
 * (POSIX.1-2017, pax, "pax Interchange Format" and "ustar Interchange Format").
 *
 * A member that ustar can represent gets a plain ustar header. Others (a path of more than 100
 * bytes or with non-ASCII characters, 8 GiB or more, a time before 1970) get pax records before it,
 * which every tar of the last twenty years reads. A path that is not UTF-8 is written unchanged; if
 * it needs a record, with "hdrcharset=BINARY". Owner and group are 0, the mode is 0644 or 0755. */
#ifndef UVH_CODEC_TEXT_TAR_HEAD_H
#define UVH_CODEC_TEXT_TAR_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UVH_TAR_BLOCK = 512,
    UVH_TAR_PATH_MAX = 6144, /* most bytes of a path */
    /* most bytes of all headers before one member */
    UVH_TAR_HEAD_MAX = 2 * UVH_TAR_BLOCK + UVH_TAR_PATH_MAX + 512,
    UVH_TAR_END = 2 * UVH_TAR_BLOCK, /* zero bytes after the last member */
};

struct uvh_tar_member {
    const char *path; /* relative; of a directory with a final slash */
    size_t path_length;
    uint64_t size;    /* bytes; 0 for a directory */
    int64_t modified; /* seconds since 1970 */
    bool directory;
};

/* Writes the headers; the member's bytes must follow, and zeros up to the next block
 * (uvh_tar_padding). Returns the number of bytes, a multiple of UVH_TAR_BLOCK; 0 if the path is
 * empty or too long. */
size_t uvh_tar_head_write(const struct uvh_tar_member *member, char out[UVH_TAR_HEAD_MAX]);

/* The number of zero bytes after a member of that size. */
size_t uvh_tar_padding(uint64_t size);

#endif
