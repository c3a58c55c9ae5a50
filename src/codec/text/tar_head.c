/* Fields of a header are text at fixed offsets; numbers are octal. A pax record is "LENGTH
 * KEY=VALUE\n", where LENGTH includes itself. */
#include "codec/text/tar_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/text/utf8_sequence.h"

/* Offsets of the fields ("ustar Header Block"). */
enum {
    NAME = 0,
    NAME_SIZE = 100,
    MODE = 100,
    UID = 108,
    GID = 116,
    SIZE = 124,
    TIME = 136,
    CHECKSUM = 148,
    TYPE = 156,
    MAGIC = 257,
    VERSION = 263,
    SHORT_DIGITS = 7,
    LONG_DIGITS = 11,
};

#define LONG_MAX_VALUE UINT64_C(077777777777)

static void put_octal(char *field, int digits, uint64_t number)
{
    field[digits] = '\0';
    for (int i = digits - 1; i >= 0; i--) {
        field[i] = (char)('0' + (number & 7));
        number >>= 3;
    }
}

/* The sum of all bytes of the block, with the field itself as spaces. */
static void put_checksum(char *block)
{
    unsigned sum = 0;
    memset(block + CHECKSUM, ' ', 8);
    for (size_t i = 0; i < UVH_TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    put_octal(block + CHECKSUM, 6, sum);
}

/* Values that do not fit are 0, and are written to a pax record. */
static void put_block(char *block, const char *name, size_t name_length, char type, uint64_t size,
                      int64_t modified)
{
    memset(block, 0, UVH_TAR_BLOCK);
    memcpy(block + NAME, name, name_length < NAME_SIZE ? name_length : NAME_SIZE);
    put_octal(block + MODE, SHORT_DIGITS, type == '5' ? 0755 : 0644);
    put_octal(block + UID, SHORT_DIGITS, 0);
    put_octal(block + GID, SHORT_DIGITS, 0);
    put_octal(block + SIZE, LONG_DIGITS, size > LONG_MAX_VALUE ? 0 : size);
    put_octal(block + TIME, LONG_DIGITS,
              modified < 0 || (uint64_t)modified > LONG_MAX_VALUE ? 0 : (uint64_t)modified);
    block[TYPE] = type;
    memcpy(block + MAGIC, "ustar", 6);
    memcpy(block + VERSION, "00", 2);
    put_checksum(block);
}

static size_t digits_of(size_t number)
{
    size_t digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* Appends a record. Returns the start of the next one. */
static size_t put_record(char *out, size_t at, const char *key, const char *value, size_t length)
{
    size_t rest = 1 + strlen(key) + 1 + length + 1; /* " key=value\n" */
    size_t whole = rest + digits_of(rest);
    whole = rest + digits_of(whole);
    at += (size_t)snprintf(out + at, UVH_TAR_HEAD_MAX - at, "%zu %s=", whole, key);
    memcpy(out + at, value, length);
    at += length;
    out[at++] = '\n';
    return at;
}

static size_t put_number_record(char *out, size_t at, const char *key, int64_t number)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%" PRId64, number);
    return put_record(out, at, key, text, (size_t)length);
}

static bool is_ascii(const struct uvh_tar_member *member)
{
    for (size_t i = 0; i < member->path_length; i++) {
        if ((unsigned char)member->path[i] >= 0x80)
            return false;
    }
    return true;
}

/* Writes the records that the member needs, from `at` on. Returns their end; `at` if there are
 * none. */
static size_t put_records(const struct uvh_tar_member *member, char *out, size_t at)
{
    bool ascii = is_ascii(member);
    bool text = ascii || uvh_utf8_sequence_is_valid_text(member->path, member->path_length);
    bool long_path = member->path_length > NAME_SIZE;
    if (long_path && !text)
        at = put_record(out, at, "hdrcharset", "BINARY", 6);
    if (long_path || (text && !ascii))
        at = put_record(out, at, "path", member->path, member->path_length);
    if (member->size > LONG_MAX_VALUE)
        at = put_number_record(out, at, "size", (int64_t)member->size);
    if (member->modified < 0 || (uint64_t)member->modified > LONG_MAX_VALUE)
        at = put_number_record(out, at, "mtime", member->modified);
    return at;
}

size_t uvh_tar_padding(uint64_t size)
{
    return (size_t)((UVH_TAR_BLOCK - size % UVH_TAR_BLOCK) % UVH_TAR_BLOCK);
}

size_t uvh_tar_head_write(const struct uvh_tar_member *member, char out[UVH_TAR_HEAD_MAX])
{
    /* the name that programs without pax support show */
    static const char records_name[] = "././@PaxHeader";
    if (member->path_length == 0 || member->path_length > UVH_TAR_PATH_MAX)
        return 0;
    size_t at = put_records(member, out, UVH_TAR_BLOCK);
    size_t records = at - UVH_TAR_BLOCK;
    if (records == 0) {
        at = 0;
    } else {
        put_block(out, records_name, strlen(records_name), 'x', records, 0);
        size_t padding = uvh_tar_padding(records);
        memset(out + at, 0, padding);
        at += padding;
    }
    put_block(out + at, member->path, member->path_length, member->directory ? '5' : '0',
              member->size, member->modified);
    return at + UVH_TAR_BLOCK;
}
