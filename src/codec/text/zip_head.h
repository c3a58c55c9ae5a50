/* The records of a zip archive, for one that is written without seeking: the format only (APPNOTE
 * 6.3).
 *
 * A file is a deflate stream of stored blocks: its size after the local header is not known to
 * readers, and several of them accept that only for deflate. Its checksum and sizes follow it.
 * zip64 is used where a size or an offset needs more than 32 bits. Names are UTF-8, and marked as
 * such, if they are valid. */
#ifndef UVH_CODEC_TEXT_ZIP_HEAD_H
#define UVH_CODEC_TEXT_ZIP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UVH_ZIP_PATH_MAX = 6144, /* most bytes of a path */
    UVH_ZIP_HEAD_MAX = UVH_ZIP_PATH_MAX + 128,
    UVH_ZIP_BLOCK = 65535, /* most bytes of a stored block */
    UVH_ZIP_BLOCK_HEAD = 5,
    UVH_ZIP_DESCRIPTOR_MAX = 24,
    UVH_ZIP_END_MAX = 98,
};

struct uvh_zip_member {
    const char *path; /* relative; of a directory with a final slash */
    size_t path_length;
    uint64_t size;    /* bytes; 0 for a directory */
    uint64_t packed;  /* bytes of the deflate stream */
    uint64_t offset;  /* of the local header in the archive */
    int64_t modified; /* seconds since 1970 */
    uint32_t crc;     /* of the file's bytes */
    bool directory;
};

/* Before the file; `packed` and `crc` may be unknown. Returns the number of bytes; 0 if the path is
 * empty or too long. */
size_t uvh_zip_local_write(const struct uvh_zip_member *member, char out[UVH_ZIP_HEAD_MAX]);

/* Before each block; `last` for the last one of the file, which may be empty. */
void uvh_zip_block_write(size_t size, bool last, char out[UVH_ZIP_BLOCK_HEAD]);

/* After a file; not after a directory. */
size_t uvh_zip_descriptor_write(const struct uvh_zip_member *member,
                                char out[UVH_ZIP_DESCRIPTOR_MAX]);

/* The entry of the central directory, which follows all files. */
size_t uvh_zip_central_write(const struct uvh_zip_member *member, char out[UVH_ZIP_HEAD_MAX]);

/* After the central directory, which has this number of entries and bytes and begins at `offset`.
 */
size_t uvh_zip_end_write(uint64_t entries, uint64_t size, uint64_t offset,
                         char out[UVH_ZIP_END_MAX]);

#endif
