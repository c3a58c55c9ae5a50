/* See status_text.h. Integers only: the decimal point of printf depends on the locale. */
#include "observe/status_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "codec/text/html.h"

enum { TEN = 10, THOUSAND = 1000 };

void uvh_status_text_count(struct uvh_bytes *page, uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            uvh_bytes_append(page, ",", 1);
        uvh_bytes_append(page, &digits[i], 1);
    }
}

/* One decimal below ten, otherwise none. */
static void append_tenths(struct uvh_bytes *page, uint64_t thousandths)
{
    uint64_t tenths = (thousandths + 50) / 100;
    if (tenths >= 100 || tenths == 0)
        uvh_status_text_count(page, (thousandths + THOUSAND / 2) / THOUSAND);
    else
        uvh_bytes_append_format(page, "%" PRIu64 ".%" PRIu64, tenths / TEN, tenths % TEN);
}

void uvh_status_text_rate(struct uvh_bytes *page, uint64_t thousandths)
{
    append_tenths(page, thousandths);
}

void uvh_status_text_size(struct uvh_bytes *page, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    if (bytes < THOUSAND) {
        uvh_bytes_append_format(page, "%" PRIu64 " B", bytes);
        return;
    }
    /* the value in thousandths of the unit */
    for (; bytes >= 999500 && unit < UVH_COUNT_OF(units) - 1; unit++)
        bytes /= THOUSAND;
    append_tenths(page, bytes);
    uvh_bytes_append_format(page, " %s", units[unit]);
}

void uvh_status_text_duration(struct uvh_bytes *page, uint64_t microseconds)
{
    if (microseconds < THOUSAND) {
        uvh_bytes_append_format(page, "%" PRIu64 " µs", microseconds);
    } else if (microseconds < 999500) {
        append_tenths(page, microseconds);
        uvh_bytes_append_text(page, " ms");
    } else {
        append_tenths(page, microseconds / THOUSAND);
        uvh_bytes_append_text(page, " s");
    }
}

void uvh_status_text_share(struct uvh_bytes *page, uint64_t thousandths)
{
    uvh_bytes_append_format(page, "%" PRIu64 ".%" PRIu64 " %%", thousandths / TEN,
                            thousandths % TEN);
}

void uvh_status_text_time(struct uvh_bytes *page, uint64_t seconds)
{
    uint64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (days > 0)
        uvh_bytes_append_format(page, "%" PRIu64 " d %" PRIu64 " h", days, hours % 24);
    else if (hours > 0)
        uvh_bytes_append_format(page, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
    else if (minutes > 0)
        uvh_bytes_append_format(page, "%" PRIu64 " min", minutes);
    else
        uvh_bytes_append_format(page, "%" PRIu64 " s", seconds);
}

void uvh_status_text_html(struct uvh_bytes *page, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *reference = uvh_html_reference(*text);
        if (reference != NULL)
            uvh_bytes_append_text(page, reference);
        else
            uvh_bytes_append(page, text, 1);
    }
}
