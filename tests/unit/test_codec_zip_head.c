/* codec/text/zip_head.c: records of a zip archive with large numbers; whole archives are read by
 * independent programs in tests/wire/test_static_archive.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "codec/text/zip_head.h"

static uint64_t number_at(const char *at, size_t size)
{
    uint64_t number = 0;
    while (size-- > 0)
        number = number << 8 | (unsigned char)at[size];
    return number;
}

static void crc_is_that_of_gzip(void **state)
{
    (void)state;
    assert_int_equal(uvh_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(uvh_crc32(uvh_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
    assert_int_equal(uvh_crc32(0, NULL, 0), 0);
}

static void large_file_has_zip64_sizes(void **state)
{
    (void)state;
    char head[UVH_ZIP_HEAD_MAX], end[UVH_ZIP_DESCRIPTOR_MAX];
    struct uvh_zip_member member = {.path = "a",
                                    .path_length = 1,
                                    .size = 5ULL << 30,
                                    .packed = (5ULL << 30) + 5,
                                    .offset = 6ULL << 30};
    assert_int_equal(uvh_zip_local_write(&member, head), 30 + 1 + 20 + 9);
    assert_int_equal(number_at(head + 22, 4), 0xffffffff);
    assert_int_equal(number_at(head + 31, 4), 16 << 16 | 1);
    assert_int_equal(uvh_zip_descriptor_write(&member, end), 24);
    assert_int_equal(number_at(end + 16, 8), 5ULL << 30);
    assert_int_equal(uvh_zip_central_write(&member, head), 46 + 1 + 28 + 9);
    assert_int_equal(number_at(head + 20, 4), 0xffffffff);
    assert_int_equal(number_at(head + 42, 4), 0xffffffff);
    assert_int_equal(number_at(head + 51, 8), 5ULL << 30);
    assert_int_equal(number_at(head + 59, 8), (5ULL << 30) + 5);
    assert_int_equal(number_at(head + 67, 8), 6ULL << 30);
}

static void end_has_zip64_numbers_if_needed(void **state)
{
    (void)state;
    char end[UVH_ZIP_END_MAX];
    assert_int_equal(uvh_zip_end_write(65534, 10, 20, end), 22);
    assert_int_equal(number_at(end + 10, 2), 65534);
    assert_int_equal(uvh_zip_end_write(65535, 10, 20, end), UVH_ZIP_END_MAX);
    assert_int_equal(number_at(end + 32, 8), 65535);
    assert_int_equal(number_at(end + 64, 8), 30);
    assert_int_equal(uvh_zip_end_write(1, 10, 5ULL << 30, end), UVH_ZIP_END_MAX);
    assert_int_equal(number_at(end + 48, 8), 5ULL << 30);
}

static void dates_are_limited_to_those_of_dos(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        unsigned year, month, day, hour;
    } rows[] = {{-1, 1980, 1, 1, 0},
                {1709210001, 2024, 2, 29, 12},
                {1709251200, 2024, 3, 1, 0},
                {946684799, 1999, 12, 31, 23},
                {INT64_MAX, 2107, 12, 31, 23}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char head[UVH_ZIP_HEAD_MAX];
        struct uvh_zip_member member = {.path = "a", .path_length = 1, .modified = rows[i].seconds};
        uvh_zip_local_write(&member, head);
        uint64_t time = number_at(head + 10, 4);
        assert_int_equal(time >> 25, rows[i].year - 1980);
        assert_int_equal(time >> 21 & 15, rows[i].month);
        assert_int_equal(time >> 16 & 31, rows[i].day);
        assert_int_equal(time >> 11 & 31, rows[i].hour);
        /* the extra field with seconds follows the path, "a" */
        int64_t seconds = rows[i].seconds < 0 ? 0 : rows[i].seconds;
        assert_int_equal(number_at(head + 30 + 1 + 5, 4),
                         seconds > INT32_MAX ? INT32_MAX : seconds);
    }
}

static void path_limits_are_enforced(void **state)
{
    (void)state;
    char head[UVH_ZIP_HEAD_MAX];
    static char path[UVH_ZIP_PATH_MAX + 1];
    memset(path, 'a', sizeof(path));
    struct uvh_zip_member member = {.path = path, .path_length = sizeof(path)};
    assert_int_equal(uvh_zip_local_write(&member, head), 0);
    member.path_length = 0;
    assert_int_equal(uvh_zip_local_write(&member, head), 0);
    member = (struct uvh_zip_member){
        .path = path, .path_length = UVH_ZIP_PATH_MAX, .size = UINT64_MAX, .offset = UINT64_MAX};
    assert_in_range(uvh_zip_central_write(&member, head), 1, UVH_ZIP_HEAD_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_is_that_of_gzip),
        cmocka_unit_test(large_file_has_zip64_sizes),
        cmocka_unit_test(end_has_zip64_numbers_if_needed),
        cmocka_unit_test(dates_are_limited_to_those_of_dos),
        cmocka_unit_test(path_limits_are_enforced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
