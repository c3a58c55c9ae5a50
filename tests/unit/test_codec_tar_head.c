/* codec/text/tar_head.c: each field at its offset, and which members need records.
 * tests/wire/test_static_archive.py reads archives with tar programs. */
#include "codec/text/tar_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/types.h>

static char head[UVH_TAR_HEAD_MAX];

static size_t write_head(const char *path, uint64_t size, int64_t modified, bool directory)
{
    struct uvh_tar_member member = {path, strlen(path), size, modified, directory};
    memset(head, 0x55, sizeof(head));
    return uvh_tar_head_write(&member, head);
}

static unsigned long octal(const char *field)
{
    return strtoul(field, NULL, 8);
}

/* The checksum as a reader computes it. */
static void assert_sum(const char *block)
{
    unsigned long sum = 8 * ' ';
    for (size_t i = 0; i < UVH_TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? 0 : (unsigned char)block[i];
    assert_int_equal(octal(block + 148), sum);
}

static void file_head_has_ustar_fields(void **state)
{
    (void)state;
    assert_int_equal(write_head("folder/file", 1234, 784111777, false), UVH_TAR_BLOCK);
    assert_string_equal(head, "folder/file");
    assert_string_equal(head + 100, "0000644");
    assert_string_equal(head + 124, "00000002322");
    assert_int_equal(octal(head + 136), 784111777);
    assert_int_equal(head[156], '0');
    assert_memory_equal(head + 257, "ustar\00000", 8);
    assert_sum(head);
}

static void directory_head_has_ustar_fields(void **state)
{
    (void)state;
    assert_int_equal(write_head("folder/", 0, 0, true), UVH_TAR_BLOCK);
    assert_string_equal(head + 100, "0000755");
    assert_int_equal(head[156], '5');
    assert_sum(head);
}

/* The records before the member; "" if there are none. Checks their heads. */
static const char *records(const char *path, uint64_t size, int64_t modified)
{
    static char text[UVH_TAR_HEAD_MAX];
    size_t whole = write_head(path, size, modified, false);
    assert_int_equal(whole % UVH_TAR_BLOCK, 0);
    if (whole == UVH_TAR_BLOCK)
        return "";
    size_t length = octal(head + 124);
    assert_int_equal(head[156], 'x');
    assert_sum(head);
    assert_sum(head + whole - UVH_TAR_BLOCK);
    assert_int_equal(whole, 2 * UVH_TAR_BLOCK + length + uvh_tar_padding(length));
    for (size_t i = UVH_TAR_BLOCK + length; i < whole - UVH_TAR_BLOCK; i++)
        assert_int_equal(head[i], 0);
    for (size_t at = 0; at < length;) { /* each record begins with its length */
        size_t size_of_record = strtoul(head + UVH_TAR_BLOCK + at, NULL, 10);
        assert_in_range(size_of_record, 5, length - at);
        at += size_of_record;
        assert_int_equal(head[UVH_TAR_BLOCK + at - 1], '\n');
    }
    memcpy(text, head + UVH_TAR_BLOCK, length);
    text[length] = '\0';
    return text;
}

static void ustar_values_need_no_records(void **state)
{
    char path[101];
    (void)state;
    memset(path, 'a', 100);
    path[100] = '\0';
    assert_string_equal(records(path, UINT64_C(8589934591), INT64_C(8589934591)), "");
    assert_memory_equal(head, path, 100);
    assert_int_equal(head[100], '0');
    assert_string_equal(records("caf\xE9", 0, 0), ""); /* not UTF-8: unchanged */
}

static void other_values_get_pax_records(void **state)
{
    (void)state;
    assert_string_equal(records("\xC3\xBC", 1, 1), "11 path=\xC3\xBC\n");
    assert_string_equal(records("a", UINT64_C(8589934592), 1), "19 size=8589934592\n");
    assert_int_equal(octal(head + 2 * UVH_TAR_BLOCK + 124), 0);
    assert_string_equal(records("a", 1, -1), "12 mtime=-1\n");
    assert_string_equal(records("a", 1, INT64_MIN), "30 mtime=-9223372036854775808\n");
    assert_string_equal(records("a", 1, INT64_C(8589934592)), "20 mtime=8589934592\n");
}

/* Every length of a path and so each length of its record: the number includes its own digits. */
static void long_path_record_counts_own_length(void **state)
{
    static char path[UVH_TAR_PATH_MAX + 2], expected[UVH_TAR_PATH_MAX + 32];
    (void)state;
    for (size_t length = 101; length <= UVH_TAR_PATH_MAX; length++) {
        memset(path, 'p', length);
        path[length] = '\0';
        size_t whole = 0;
        for (size_t digits = 1; digits <= 4; digits++) {
            whole = digits + strlen(" path=\n") + length;
            if (snprintf(NULL, 0, "%zu", whole) == (int)digits)
                break;
        }
        snprintf(expected, sizeof(expected), "%zu path=%s\n", whole, path);
        assert_string_equal(records(path, 0, 0), expected);
    }
    path[0] = '\xFF';
    assert_memory_equal(records(path, UINT64_MAX >> 1, INT64_MIN), "21 hdrcharset=BINARY\n", 21);
    memset(path, 'p', UVH_TAR_PATH_MAX + 1);
    assert_int_equal(write_head(path, 0, 0, false), 0);
    assert_int_equal(write_head("", 0, 0, false), 0);
}

static void padding_fills_blocks(void **state)
{
    (void)state;
    assert_int_equal(uvh_tar_padding(0), 0);
    assert_int_equal(uvh_tar_padding(1), 511);
    assert_int_equal(uvh_tar_padding(511), 1);
    assert_int_equal(uvh_tar_padding(512), 0);
    assert_int_equal(uvh_tar_padding(UINT64_MAX), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_head_has_ustar_fields),
        cmocka_unit_test(directory_head_has_ustar_fields),
        cmocka_unit_test(ustar_values_need_no_records),
        cmocka_unit_test(other_values_get_pax_records),
        cmocka_unit_test(long_path_record_counts_own_length),
        cmocka_unit_test(padding_fills_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
