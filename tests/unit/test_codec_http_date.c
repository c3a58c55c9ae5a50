/* Dates: known values, the three formats, round trips over centuries, and invalid dates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/fields/http_date.h"

static int64_t parse(const char *text)
{
    int64_t seconds = INT64_MIN;
    bool valid = uvh_http_date_parse((uvhttp_slice_t){text, strlen(text)}, &seconds);
    assert_int_equal(valid, seconds != INT64_MIN);
    return seconds;
}

static const char *format(int64_t seconds)
{
    static char text[UVH_HTTP_DATE_SIZE + 2];
    text[UVH_HTTP_DATE_SIZE] = '#';
    uvh_http_date_format(seconds, text);
    assert_int_equal(text[UVH_HTTP_DATE_SIZE], '#'); /* exactly 29 bytes */
    text[UVH_HTTP_DATE_SIZE] = '\0';
    return text;
}

static void known_dates_are_formatted(void **state)
{
    (void)state;
    assert_string_equal(format(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_string_equal(format(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_string_equal(format(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
    assert_string_equal(format(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
    assert_string_equal(format(4102444799), "Thu, 31 Dec 2099 23:59:59 GMT");
    assert_string_equal(format(4107542400), "Mon, 01 Mar 2100 00:00:00 GMT");
    assert_string_equal(format(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_string_equal(format(-62167219200), "Sat, 01 Jan 0000 00:00:00 GMT");
}

static void years_out_of_range_are_clamped(void **state)
{
    (void)state;
    assert_string_equal(format(253402300800), "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_string_equal(format(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_string_equal(format(INT64_MIN), "Sat, 01 Jan 0000 00:00:00 GMT");
}

static void iso_format_matches_rfc3339(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {784111777, "1994-11-06T08:49:37Z"}, {0, "1970-01-01T00:00:00Z"},
        {-1, "1969-12-31T23:59:59Z"},        {951782400, "2000-02-29T00:00:00Z"},
        {INT64_MAX, "9999-12-31T23:59:59Z"}, {INT64_MIN, "0000-01-01T00:00:00Z"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[UVH_HTTP_DATE_ISO_SIZE + 1] = {0};
        uvh_http_date_format_iso(cases[i].seconds, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void three_date_formats_are_parsed(void **state)
{
    (void)state;
    assert_int_equal(parse("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
    assert_int_equal(parse("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
    assert_int_equal(parse("Sun Nov  6 08:49:37 1994"), 784111777);
    assert_int_equal(parse("Wed Nov 16 08:49:37 1994"), 784111777 + 10 * 86400);
    assert_int_equal(parse("Thursday, 01-Jan-70 00:00:00 GMT"), 0);
    assert_int_equal(parse("Tuesday, 31-Dec-69 23:59:59 GMT"), 3155759999);
    assert_int_equal(parse("Tue, 30 Jun 2015 23:59:60 GMT"), 1435708800);
    assert_int_equal(parse("Sat, 01 Jan 0000 00:00:00 GMT"), -62167219200);
}

/* Counts days one by one, independently of the implementation. */
static void days_of_six_centuries_round_trip(void **state)
{
    (void)state;
    static const int lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const char *const months[12] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    static const char *const days[7] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    int64_t day = 0;
    for (int year = 1970; year < 2570; year++) {
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for (int month = 0; month < 12; month++) {
            for (int date = 1; date <= lengths[month] + (leap && month == 1); date++, day++) {
                char expected[64];
                snprintf(expected, sizeof expected, "%s, %02d %s %04d 23:05:59 GMT", days[day % 7],
                         date, months[month], year);
                assert_string_equal(format(day * 86400 + 83159), expected);
                assert_int_equal(parse(expected), day * 86400 + 83159);
            }
        }
    }
}

static void seconds_round_trip(void **state)
{
    (void)state;
    for (int64_t second = -62167219200; second <= 253402300799; second += 86399 * 37)
        assert_int_equal(parse(format(second)), second);
    for (int64_t second = 0; second < 86400; second++)
        assert_int_equal(parse(format(second)), second);
}

static void invalid_dates_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "Sun",
                                      "0",
                                      "784111777",
                                      "Sun, 06 Nov 1994 08:49:37",
                                      "Sun, 06 Nov 1994 08:49:37 UTC",
                                      "Sun, 06 Nov 1994 08:49:37 GMT ",
                                      " Sun, 06 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:49:37 GMTx",
                                      "sun, 06 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 nov 1994 08:49:37 GMT",
                                      "Sun, 6 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 94 08:49:37 GMT",
                                      "Sun 06 Nov 1994 08:49:37 GMT",
                                      "Sun,06 Nov 1994 08:49:37 GMT",
                                      "Sun, 00 Nov 1994 08:49:37 GMT",
                                      "Sun, 31 Nov 1994 08:49:37 GMT",
                                      "Sun, 29 Feb 1900 08:49:37 GMT",
                                      "Sun, 30 Feb 2000 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 24:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:60:37 GMT",
                                      "Sun, 06 Nov 1994 08:49:61 GMT",
                                      "Sun, 06 Nov 1994 8:49:37 GMT",
                                      "Sun, 06 Nov 1994 08-49-37 GMT",
                                      "Sun, +6 Nov 1994 08:49:37 GMT",
                                      "Sunday, 06-Nov-1994 08:49:37 GMT",
                                      "Sunday, 06 Nov 94 08:49:37 GMT",
                                      "Sun, 06-Nov-94 08:49:37 GMT",
                                      "Sunday 06-Nov-94 08:49:37 GMT",
                                      "Sun Nov 6 08:49:37 1994",
                                      "Sun Nov 006 08:49:37 1994",
                                      "Sun Nov  6 08:49:37 94",
                                      "Sun Nov  6 08:49:37 1994 GMT",
                                      "Xxx, 06 Nov 1994 08:49:37 GMT",
                                      "1994-11-06T08:49:37Z"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (parse(bad[i]) != INT64_MIN)
            fail_msg("accepted: %s", bad[i]);
    }
}

static void truncated_dates_are_refused(void **state)
{
    (void)state;
    static const char *const dates[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t length = 0; length < strlen(dates[i]); length++) {
            int64_t seconds;
            char *copy = malloc(length + 1);
            assert_non_null(copy);
            memcpy(copy, dates[i], length);
            assert_false(uvh_http_date_parse((uvhttp_slice_t){copy, length}, &seconds));
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_dates_are_formatted),
        cmocka_unit_test(years_out_of_range_are_clamped),
        cmocka_unit_test(iso_format_matches_rfc3339),
        cmocka_unit_test(three_date_formats_are_parsed),
        cmocka_unit_test(days_of_six_centuries_round_trip),
        cmocka_unit_test(seconds_round_trip),
        cmocka_unit_test(invalid_dates_are_refused),
        cmocka_unit_test(truncated_dates_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
