/* Numbers are little-endian. Whether a file has zip64 sizes is decided by its size before it is
 * sent, so that the local header, the descriptor and the central directory agree. */
#include "codec/text/zip_head.h"

#include <string.h>

#include "codec/text/utf8_sequence.h"

enum {
    VERSION = 45,           /* zip64 */
    MADE_BY = 3 << 8 | 45,  /* Unix: the attributes have a mode */
    DESCRIPTOR_FOLLOWS = 8, /* flags */
    UTF8 = 0x800,
    STORED = 0,
    DEFLATED = 8,
    DIRECTORY_ATTRIBUTE = 0x10,
    FILE_MODE = 0100644,
    DIRECTORY_MODE = 040755,
    DAY = 24 * 60 * 60,
};

#define ALL_ONES 0xffffffffU
/* A size that stays below 4 GiB with the heads of its blocks. */
#define LARGE_FILE 0xfff00000U

static char *put(char *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *at++ = (char)(value >> (8 * i) & 0xff);
    return at;
}

static char *put_text(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

static bool is_large(const struct uvh_zip_member *member)
{
    return member->size >= LARGE_FILE;
}

/* Days since 1970 to a date of MS-DOS (1980 to 2107, two seconds), in UTC. The algorithm counts
 * years from March, so that the leap day is the last one. */
static uint32_t dos_time(int64_t seconds)
{
    const int64_t first = 315532800, last = 4354819198; /* 1980-01-01, 2107-12-31 23:59:58 */
    seconds = seconds < first ? first : seconds > last ? last : seconds;
    uint32_t days = (uint32_t)(seconds / DAY) + 719468, rest = (uint32_t)(seconds % DAY);
    uint32_t era = days / 146097, day = days % 146097;
    uint32_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    uint32_t month = (5 * day + 2) / 153;
    uint32_t date = day - (153 * month + 2) / 5 + 1;
    year += era * 400 + (month >= 10);
    month = month < 10 ? month + 3 : month - 9;
    return (year - 1980) << 25 | month << 21 | date << 16 | rest / 3600 << 11 |
           rest / 60 % 60 << 5 | rest % 60 / 2;
}

/* From the version to the date: the same in both headers. */
static char *put_common(char *at, const struct uvh_zip_member *member)
{
    bool utf8 = uvh_utf8_sequence_is_valid_text(member->path, member->path_length);
    at = put(at, VERSION, 2);
    at = put(at, (member->directory ? 0 : DESCRIPTOR_FOLLOWS) | (utf8 ? UTF8 : 0), 2);
    at = put(at, member->directory ? STORED : DEFLATED, 2);
    return put(at, dos_time(member->modified), 4);
}

/* The extended timestamp of Info-ZIP: UTC, in seconds. */
static char *put_time(char *at, const struct uvh_zip_member *member)
{
    at = put(at, 0x5455, 2);
    at = put(at, 5, 2);
    at = put(at, 1, 1);
    int64_t time = member->modified; /* readers take it for signed */
    return put(at, time < 0 ? 0 : time > INT32_MAX ? INT32_MAX : (uint64_t)time, 4);
}

enum { TIME_SIZE = 9 };

size_t uvh_zip_local_write(const struct uvh_zip_member *member, char out[UVH_ZIP_HEAD_MAX])
{
    bool large = is_large(member);
    if (member->path_length == 0 || member->path_length > UVH_ZIP_PATH_MAX)
        return 0;
    char *at = put(out, 0x04034b50, 4);
    at = put_common(at, member);
    at = put(at, 0, 4);
    at = put(at, large ? ALL_ONES : 0, 4);
    at = put(at, large ? ALL_ONES : 0, 4);
    at = put(at, member->path_length, 2);
    at = put(at, TIME_SIZE + (large ? 20 : 0), 2);
    at = put_text(at, member->path, member->path_length);
    if (large) {
        at = put(at, 1, 2);
        at = put(at, 16, 2);
        at = put(put(at, 0, 8), 0, 8);
    }
    return (size_t)(put_time(at, member) - out);
}

void uvh_zip_block_write(size_t size, bool last, char out[UVH_ZIP_BLOCK_HEAD])
{
    char *at = put(out, last, 1);
    at = put(at, size, 2);
    put(at, ~size, 2);
}

size_t uvh_zip_descriptor_write(const struct uvh_zip_member *member,
                                char out[UVH_ZIP_DESCRIPTOR_MAX])
{
    size_t width = is_large(member) ? 8 : 4;
    char *at = put(out, 0x08074b50, 4);
    at = put(at, member->crc, 4);
    at = put(at, member->packed, width);
    return (size_t)(put(at, member->size, width) - out);
}

size_t uvh_zip_central_write(const struct uvh_zip_member *member, char out[UVH_ZIP_HEAD_MAX])
{
    bool large = is_large(member), far = member->offset >= ALL_ONES;
    size_t wide = (large ? 16U : 0U) + (far ? 8U : 0U);
    uint32_t mode = member->directory ? DIRECTORY_MODE : FILE_MODE;
    char *at = put(out, 0x02014b50, 4);
    at = put(at, MADE_BY, 2);
    at = put_common(at, member);
    at = put(at, member->crc, 4);
    at = put(at, large ? ALL_ONES : member->packed, 4);
    at = put(at, large ? ALL_ONES : member->size, 4);
    at = put(at, member->path_length, 2);
    at = put(at, TIME_SIZE + (wide > 0 ? wide + 4 : 0), 2);
    at = put(at, 0, 6); /* comment, disk, internal attributes */
    at = put(at, mode << 16 | (member->directory ? DIRECTORY_ATTRIBUTE : 0), 4);
    at = put(at, far ? ALL_ONES : member->offset, 4);
    at = put_text(at, member->path, member->path_length);
    if (wide > 0) {
        at = put(at, 1, 2);
        at = put(at, wide, 2);
        if (large)
            at = put(put(at, member->size, 8), member->packed, 8);
        if (far)
            at = put(at, member->offset, 8);
    }
    return (size_t)(put_time(at, member) - out);
}

size_t uvh_zip_end_write(uint64_t entries, uint64_t size, uint64_t offset,
                         char out[UVH_ZIP_END_MAX])
{
    bool wide = entries >= 0xffff || size >= ALL_ONES || offset >= ALL_ONES;
    char *at = out;
    if (wide) {
        at = put(at, 0x06064b50, 4);
        at = put(at, 44, 8);
        at = put(at, MADE_BY, 2);
        at = put(at, VERSION, 2);
        at = put(at, 0, 8);
        at = put(put(at, entries, 8), entries, 8);
        at = put(put(at, size, 8), offset, 8);
        at = put(at, 0x07064b50, 4);
        at = put(at, 0, 4);
        at = put(at, offset + size, 8);
        at = put(at, 1, 4);
    }
    at = put(at, 0x06054b50, 4);
    at = put(at, 0, 4);
    at = put(at, wide ? 0xffff : entries, 2);
    at = put(at, wide ? 0xffff : entries, 2);
    at = put(at, wide ? ALL_ONES : size, 4);
    at = put(at, wide ? ALL_ONES : offset, 4);
    return (size_t)(put(at, 0, 2) - out);
}
