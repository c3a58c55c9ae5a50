/* Lines of the access log from any facts and any pattern. Properties: a line has one line end, at
 * its end, and does not exceed the maximum size. Apache's formats contain printable ASCII only, and
 * an unescaped value is a prefix of the given value. JSON is a flat object of strings, numbers and
 * literals in UTF-8 without control characters.
 *
 * The first byte of the input determines the numbers, the next eight the lengths of pattern and
 * values. */
#include "fuzz/fuzz_check.h"
#include "observe/access_format.h"

enum { SLICES = 8 };

static struct uvh_access_format format;
static char line[UVH_ACCESS_LINE_SIZE];

/* Checks a JSON string from its first character on. Returns the position after the closing
 * quote. */
static const char *check_string(const char *at)
{
    for (; *at != '"'; at++) {
        require((unsigned char)*at >= ' ' && *at != 0x7f);
        if (*at != '\\')
            continue;
        at++;
        require(*at == '"' || *at == '\\' || *at == 'u');
        if (*at == 'u') {
            for (int i = 1; i <= 4; i++)
                require(strchr("0123456789abcdef", at[i]) != NULL && at[i] != '\0');
            at += 4;
        }
    }
    return at + 1;
}

/* Decodes one code point at a time with arithmetic instead of a table of lead bytes. */
static void check_utf8(const unsigned char *at, size_t length)
{
    static const uint32_t minimum[] = {0, 0x80, 0x800, 0x10000};
    while (length > 0) {
        unsigned continuation = *at < 0x80         ? 0
                                : (*at >> 5) == 6  ? 1
                                : (*at >> 4) == 14 ? 2
                                : (*at >> 3) == 30 ? 3
                                                   : 9;
        require(continuation < 9 && continuation < length);
        uint32_t point = continuation == 0 ? *at : *at & (0x3fU >> continuation);
        for (unsigned i = 1; i <= continuation; i++) {
            require((at[i] & 0xc0) == 0x80);
            point = point << 6 | (at[i] & 0x3fU);
        }
        require(point >= minimum[continuation] && point <= 0x10ffff &&
                (point < 0xd800 || point > 0xdfff));
        at += continuation + 1;
        length -= continuation + 1;
    }
}

static void check_json(size_t length)
{
    const char *at = line;
    check_utf8((const unsigned char *)line, length);
    require(*at == '{');
    do {
        at++;
        require(*at == '"');
        at = check_string(at + 1);
        require(*at++ == ':');
        if (*at == '"')
            at = check_string(at + 1);
        else
            at += strspn(at, "0123456789.truefalsn");
    } while (*at == ',');
    require(at[0] == '}' && at[1] == '\n' && at + 2 == line + length);
}

/* Unescapes a line that consists of one value. */
static void check_beginning(size_t length, uvhttp_slice_t value)
{
    if (value.length == 0) {
        require(length == 2 && line[0] == '-');
        return;
    }
    size_t at = 0;
    for (size_t i = 0; i + 1 < length; i++, at++) {
        unsigned byte = (unsigned char)line[i];
        if (byte == '\\' && line[i + 1] == 'x') {
            char digits[3] = {line[i + 2], line[i + 3], '\0'};
            byte = (unsigned)strtoul(digits, NULL, 16);
            i += 3;
        } else if (byte == '\\') {
            byte = (unsigned char)line[++i];
        }
        require(at < value.length && (unsigned char)value.base[at] == byte);
    }
    require(at == value.length || length > UVH_ACCESS_VALUE_SIZE - 8);
}

static size_t write_line(const uvhttp_access_facts_t *facts, int zone)
{
    size_t length = uvh_access_format_line(&format, facts, zone, line);
    require(length >= 1 && length <= sizeof(line));
    require(memchr(line, '\n', length) == line + length - 1);
    return length;
}

static void check_all(const uvhttp_access_facts_t *facts, const char *pattern, int zone)
{
    static const char *const apache[] = {uvh_access_format_common, uvh_access_format_combined};
    for (int i = 0; i < 2; i++) {
        require(uvh_access_format_compile(&format, apache[i], false) == 0);
        size_t length = write_line(facts, zone);
        for (size_t k = 0; k + 1 < length; k++)
            require(line[k] >= ' ' && line[k] < 0x7f);
    }
    require(uvh_access_format_compile(&format, "{target}", false) == 0);
    check_beginning(write_line(facts, zone), facts->target);
    require(uvh_access_format_compile(&format, uvh_access_format_json, true) == 0);
    check_json(write_line(facts, zone));
    if (uvh_access_format_compile(&format, pattern, false) == 0)
        write_line(facts, zone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uvhttp_slice_t slices[SLICES] = {{NULL, 0}};
    char *copies[SLICES];
    if (size < 1 + SLICES)
        return 0;
    const uint8_t *rest = data + 1 + SLICES;
    size_t left = size - 1 - SLICES;
    for (int i = 0; i < SLICES; i++) {
        /* A byte of 200 or more means a length of several thousand bytes. */
        size_t length = data[1 + i] < 200 ? data[1 + i] : (size_t)(data[1 + i] - 199) * 1024;
        length = length < left ? length : left;
        copies[i] = exact_copy(rest, length);
        slices[i] = (uvhttp_slice_t){copies[i], length};
        rest += length;
        left -= length;
    }
    uvhttp_access_facts_t facts = {
        .client = slices[1],
        .user = slices[7],
        .method = slices[2],
        .target = slices[3],
        .host = slices[4],
        .referer = slices[5],
        .user_agent = slices[6],
        .request_id = slices[7],
        .http_minor = data[0] & 1,
        .outcome = {.status = data[0], .unix_ms = (int64_t)data[0] << 34},
    };
    char *pattern = calloc(1, slices[0].length + 1);
    require(pattern != NULL);
    memcpy(pattern, copies[0], slices[0].length);
    check_all(&facts, pattern, (data[0] & 127) * 15 - 900);
    free(pattern);
    for (int i = 0; i < SLICES; i++)
        free(copies[i]);
    return 0;
}
