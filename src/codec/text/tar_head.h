/* The blocks that go before each member of a tar archive and behind the last one: the format alone
 * (POSIX.1-2017, pax, "pax Interchange Format" and "ustar Interchange Format").
 *
 * A member that ustar can hold gets a plain ustar head. Others (a path of more than 100 bytes or
 * with other characters than ASCII, 8 GiB or more, a time before 1970) get pax records before it,
 * which every tar of the last twenty years reads. A path that is no UTF-8 is written as the bytes
 * it has; when it needs a record, with "hdrcharset=BINARY". Owner and group are 0, the mode is 0644
 * or 0755. Called by files/tar_stream.c. */
#ifndef UVH_CODEC_TEXT_TAR_HEAD_H
#define UVH_CODEC_TEXT_TAR_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UVH_TAR_BLOCK = 512,
    UVH_TAR_PATH_MAX = 6144, /* bytes of a path */
    UVH_TAR_HEAD_MAX =
        2 * UVH_TAR_BLOCK + UVH_TAR_PATH_MAX + 512, /* bytes of all that stands before one member */
    UVH_TAR_END = 2 * UVH_TAR_BLOCK,                /* zero bytes behind the last member */
};

struct uvh_tar_member {
    const char *path; /* relative; of a folder with a slash at its end */
    size_t path_length;
    uint64_t size;    /* bytes; 0 for a folder */
    int64_t modified; /* seconds since 1970 */
    bool folder;
};

/* Writes the head; the member's bytes follow, and zeros up to the next block (uvh_tar_padding). The
 * number of bytes, a multiple of UVH_TAR_BLOCK; 0 when the path is empty or too long. */
size_t uvh_tar_head_write(const struct uvh_tar_member *member, char out[UVH_TAR_HEAD_MAX]);

/* Zero bytes behind a member of that size. */
size_t uvh_tar_padding(uint64_t size);

#endif
