/* Dates of HTTP, see http_date.h. Days are counted in the proleptic Gregorian calendar, in years
 * that begin in March: the leap day is then the last day of a year and needs no special case. */
#include "codec/fields/http_date.h"

#include <string.h>

#include <uvhttp/text.h>

#include "codec/text/chars.h"

enum { DAY_SECONDS = 86400, ERA_DAYS = 146097, EPOCH_DAYS = 719468 };
/* 0000-01-01T00:00:00 and 9999-12-31T23:59:59 */
#define FIRST_SECOND INT64_C(-62167219200)
#define LAST_SECOND  INT64_C(253402300799)

struct civil {
    int year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
    int hour, minute, second;
};

static const char day_names[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char long_day_names[7][10] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday"};
static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* Days since 1970-01-01. `year` is not negative. */
static int64_t days_of(int year, int month, int day)
{
    /* one era more, so that nothing is negative */
    int64_t shifted = (int64_t)year - (month <= 2) + 400;
    int64_t era = shifted / 400;
    int64_t year_of_era = shifted % 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (era - 1) * ERA_DAYS + day_of_era - EPOCH_DAYS;
}

static void date_of(int64_t days, struct civil *civil)
{
    int64_t shifted = days + EPOCH_DAYS + ERA_DAYS;
    int64_t era = shifted / ERA_DAYS - 1;
    int64_t day_of_era = shifted % ERA_DAYS;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t march_month = (5 * day_of_year + 2) / 153;
    civil->day = (int)(day_of_year - (153 * march_month + 2) / 5 + 1);
    civil->month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
    civil->year = (int)(year_of_era + era * 400 + (civil->month <= 2));
}

static void put_two(char *out, int number)
{
    out[0] = (char)('0' + number / 10);
    out[1] = (char)('0' + number % 10);
}

/* Writes hours, minutes and seconds with ':' between them. */
static void put_time(char *out, const struct civil *civil)
{
    put_two(out, civil->hour);
    out[2] = ':';
    put_two(out + 3, civil->minute);
    out[5] = ':';
    put_two(out + 6, civil->second);
}

static void put_year(char *out, int year)
{
    put_two(out, year / 100);
    put_two(out + 2, year % 100);
}

/* The day of the week, 0 for Sunday. */
static int civil_of(int64_t unix_seconds, struct civil *civil)
{
    if (unix_seconds < FIRST_SECOND)
        unix_seconds = FIRST_SECOND;
    if (unix_seconds > LAST_SECOND)
        unix_seconds = LAST_SECOND;
    int64_t since = unix_seconds - FIRST_SECOND;
    int second = (int)(since % DAY_SECONDS);
    date_of(since / DAY_SECONDS + FIRST_SECOND / DAY_SECONDS, civil);
    civil->hour = second / 3600;
    civil->minute = second / 60 % 60;
    civil->second = second % 60;
    return (int)((since / DAY_SECONDS + 6) % 7); /* 0000-01-01 was a Saturday */
}

void uvh_http_date_format(int64_t unix_seconds, char out[UVH_HTTP_DATE_SIZE])
{
    struct civil civil;
    memcpy(out, day_names[civil_of(unix_seconds, &civil)], 3);
    memcpy(out + 3, ", ", 2);
    put_two(out + 5, civil.day);
    out[7] = ' ';
    memcpy(out + 8, month_names[civil.month - 1], 3);
    out[11] = ' ';
    put_year(out + 12, civil.year);
    out[16] = ' ';
    put_time(out + 17, &civil);
    memcpy(out + 25, " GMT", 4);
}

void uvh_http_date_format_iso(int64_t unix_seconds, char out[UVH_HTTP_DATE_ISO_SIZE])
{
    struct civil civil;
    civil_of(unix_seconds, &civil);
    put_year(out, civil.year);
    out[4] = '-';
    put_two(out + 5, civil.month);
    out[7] = '-';
    put_two(out + 8, civil.day);
    out[10] = 'T';
    put_time(out + 11, &civil);
    out[19] = 'Z';
}

size_t uvhttp_rfc3339_encode(int64_t unix_seconds, char *out, size_t size)
{
    if (out != NULL && size > UVH_HTTP_DATE_ISO_SIZE) {
        uvh_http_date_format_iso(unix_seconds, out);
        out[UVH_HTTP_DATE_ISO_SIZE] = '\0';
    }
    return UVH_HTTP_DATE_ISO_SIZE;
}

/* The functions below parse one part of a date at the start of `rest`; false if it is not there. */

static bool take_text(uvhttp_slice_t *rest, const char *text)
{
    size_t length = strlen(text);
    if (rest->length < length || memcmp(rest->base, text, length) != 0)
        return false;
    *rest = (uvhttp_slice_t){rest->base + length, rest->length - length};
    return true;
}

static bool take_digits(uvhttp_slice_t *rest, int count, int *number)
{
    if (rest->length < (size_t)count)
        return false;
    *number = 0;
    for (int i = 0; i < count; i++) {
        if (!uvh_chars_is(rest->base[i], UVH_CHAR_DIGIT))
            return false;
        *number = *number * 10 + (rest->base[i] - '0');
    }
    *rest = (uvhttp_slice_t){rest->base + count, rest->length - (size_t)count};
    return true;
}

static bool take_month(uvhttp_slice_t *rest, int *month)
{
    for (*month = 1; *month <= 12; ++*month) {
        if (take_text(rest, month_names[*month - 1]))
            return true;
    }
    return false;
}

static bool take_time(uvhttp_slice_t *rest, struct civil *civil)
{
    return take_digits(rest, 2, &civil->hour) && take_text(rest, ":") &&
           take_digits(rest, 2, &civil->minute) && take_text(rest, ":") &&
           take_digits(rest, 2, &civil->second);
}

/* After "Sun, ": "06 Nov 1994 08:49:37 GMT" */
static bool take_fixdate(uvhttp_slice_t *rest, struct civil *civil)
{
    return take_digits(rest, 2, &civil->day) && take_text(rest, " ") &&
           take_month(rest, &civil->month) && take_text(rest, " ") &&
           take_digits(rest, 4, &civil->year) && take_text(rest, " ") && take_time(rest, civil) &&
           take_text(rest, " GMT");
}

/* After "Sunday, ": "06-Nov-94 08:49:37 GMT" */
static bool take_rfc850(uvhttp_slice_t *rest, struct civil *civil)
{
    if (!take_digits(rest, 2, &civil->day) || !take_text(rest, "-") ||
        !take_month(rest, &civil->month) || !take_text(rest, "-") ||
        !take_digits(rest, 2, &civil->year) || !take_text(rest, " "))
        return false;
    civil->year += civil->year < 70 ? 2000 : 1900;
    return take_time(rest, civil) && take_text(rest, " GMT");
}

/* After "Sun ": "Nov  6 08:49:37 1994" */
static bool take_asctime(uvhttp_slice_t *rest, struct civil *civil)
{
    if (!take_month(rest, &civil->month) || !take_text(rest, " "))
        return false;
    bool day = take_text(rest, " ") ? take_digits(rest, 1, &civil->day)
                                    : take_digits(rest, 2, &civil->day);
    return day && take_text(rest, " ") && take_time(rest, civil) && take_text(rest, " ") &&
           take_digits(rest, 4, &civil->year);
}

static bool take_date(uvhttp_slice_t *rest, struct civil *civil)
{
    for (int i = 0; i < 7; i++) {
        if (take_text(rest, long_day_names[i]))
            return take_text(rest, ", ") && take_rfc850(rest, civil);
        if (!take_text(rest, day_names[i]))
            continue;
        return take_text(rest, ", ") ? take_fixdate(rest, civil)
                                     : take_text(rest, " ") && take_asctime(rest, civil);
    }
    return false;
}

static int days_in_month(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

bool uvh_http_date_parse(uvhttp_slice_t text, int64_t *unix_seconds)
{
    struct civil civil;
    uvhttp_slice_t rest = text;
    if (!take_date(&rest, &civil) || rest.length != 0)
        return false;
    /* A leap second is second 60. */
    if (civil.day < 1 || civil.day > days_in_month(civil.year, civil.month) || civil.hour > 23 ||
        civil.minute > 59 || civil.second > 60)
        return false;
    int64_t days = days_of(civil.year, civil.month, civil.day);
    *unix_seconds = days * DAY_SECONDS + civil.hour * 3600 + civil.minute * 60 + civil.second;
    return true;
}
