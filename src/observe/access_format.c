/* A pattern is compiled once into a list of parts. Writing a line reserves buffer space for all
 * parts that must still follow. */
#include "observe/access_format.h"

#include <string.h>

#include <uvhttp/error.h>

#include "codec/fields/http_date.h"
#include "codec/text/json.h"
#include "codec/text/number.h"

enum { NUMBER_SIZE = 40 }; /* longer than any number or time */

enum name {
    TEXT = 0,
    CLIENT,
    USER,
    METHOD,
    TARGET,
    ROUTE,
    PROTOCOL,
    REQUEST,
    HOST,
    REFERER,
    USER_AGENT,
    REQUEST_ID,
    TRACE_ID,
    SPAN_ID,
    LAST_STRING = SPAN_ID,
    STATUS,
    BYTES,
    DURATION_MS,
    DURATION_US,
    ABORTED,
    TIME,
    TIME_ISO,
    UNIX_MS,
    NAME_COUNT
};

static const char *const names[NAME_COUNT] = {
    [TEXT] = "",
    [CLIENT] = "client",
    [USER] = "user",
    [METHOD] = "method",
    [TARGET] = "target",
    [ROUTE] = "route",
    [PROTOCOL] = "protocol",
    [REQUEST] = "request",
    [HOST] = "host",
    [REFERER] = "referer",
    [USER_AGENT] = "user_agent",
    [REQUEST_ID] = "request_id",
    [TRACE_ID] = "trace_id",
    [SPAN_ID] = "span_id",
    [STATUS] = "status",
    [BYTES] = "bytes",
    [DURATION_MS] = "duration_ms",
    [DURATION_US] = "duration_us",
    [ABORTED] = "aborted",
    [TIME] = "time",
    [TIME_ISO] = "time_iso",
    [UNIX_MS] = "unix_ms",
};

const char uvh_access_format_common[] = "{client} - {user} [{time}] \"{request}\" {status} {bytes}";
const char uvh_access_format_combined[] =
    "{client} - {user} [{time}] \"{request}\" {status} {bytes} \"{referer}\" \"{user_agent}\"";
const char uvh_access_format_json[] =
    "{{\"time\":\"{time_iso}\",\"client\":{client},\"user\":{user},\"method\":{method},\"target\":{"
    "target},\"route\":{route},"
    "\"protocol\":{protocol},\"host\":{host},\"status\":{status},\"bytes\":{bytes},"
    "\"duration_ms\":{duration_ms},\"referer\":{referer},\"user_agent\":{user_agent},"
    "\"request_id\":{request_id},\"aborted\":{aborted}}";

/* ---- the pattern ---- */

static bool add_part(struct uvh_access_format *format, enum name name, size_t length)
{
    if (format->part_count == UVH_ACCESS_PARTS)
        return false;
    format->parts[format->part_count++] = (struct uvh_access_part){
        (unsigned char)name, (uint16_t)format->text_length, (uint16_t)length};
    return true;
}

/* Appends one byte of text to the last part if that is text, else adds a part. */
static bool add_text(struct uvh_access_format *format, char byte)
{
    bool first = format->part_count == 0 || format->parts[format->part_count - 1].name != TEXT;
    if (format->text_length == UVH_ACCESS_TEXT_SIZE || (first && !add_part(format, TEXT, 0)))
        return false;
    format->text[format->text_length++] = byte;
    format->parts[format->part_count - 1].length++;
    return true;
}

/* `text` follows an opening brace. Returns the text following the closing one, or NULL when there
 * is none or the name is unknown. */
static const char *add_value(struct uvh_access_format *format, const char *text)
{
    const char *end = strchr(text, '}');
    if (end == NULL)
        return NULL;
    size_t length = (size_t)(end - text);
    for (unsigned name = TEXT + 1; name < NAME_COUNT; name++) {
        if (strlen(names[name]) != length || memcmp(names[name], text, length) != 0)
            continue;
        format->needs_zone |= name == TIME;
        format->needs_request_id |= name == REQUEST_ID;
        format->needs_trace |= name == TRACE_ID || name == SPAN_ID;
        return add_part(format, (enum name)name, 0) ? end + 1 : NULL;
    }
    return NULL;
}

int uvh_access_format_compile(struct uvh_access_format *format, const char *pattern, bool json)
{
    const char *begin = pattern;
    format->json = json;
    format->needs_zone = false;
    format->needs_request_id = format->needs_trace = false;
    format->part_count = 0;
    format->text_length = 0;
    format->read = 0;
    for (; *pattern != '\0'; format->read = (size_t)(pattern - begin)) {
        /* A line end in the pattern would split the line. */
        if ((unsigned char)*pattern < ' ' && *pattern != '\t')
            return UVHTTP_EINVAL;
        if (*pattern == '{' && pattern[1] != '{') {
            pattern = add_value(format, pattern + 1);
            if (pattern == NULL)
                return UVHTTP_EINVAL;
            continue;
        }
        if (!add_text(format, *pattern))
            return UVHTTP_EINVAL;
        pattern += *pattern == '{' ? 2 : 1;
    }
    format->value_space =
        UVH_ACCESS_LINE_SIZE - 1 - format->text_length - format->part_count * NUMBER_SIZE;
    return 0;
}

/* ---- values sent by the client ---- */

/* The output position of a value and the end of its buffer space. */
struct space {
    char *at;
    char *end;
};

static bool put(struct space *space, const char *bytes, size_t length)
{
    if ((size_t)(space->end - space->at) < length)
        return false;
    memcpy(space->at, bytes, length);
    space->at += length;
    return true;
}

/* Writes "\\x" and the byte in two hexadecimal digits. */
static bool put_hex(struct space *space, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    const char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    return put(space, escaped, sizeof escaped);
}

/* Copies the bytes from `at` on that need no escape, as far as they fit: bytes not below `first`,
 * which is the space or the character following it. Returns their number, of all of them. */
static size_t put_plain(struct space *space, uvhttp_slice_t value, size_t at, char first)
{
    size_t end = at;
    while (end < value.length && value.base[end] >= first && value.base[end] < 0x7f &&
           value.base[end] != '"' && value.base[end] != '\\')
        end++;
    size_t count = end - at;
    size_t left = (size_t)(space->end - space->at);
    put(space, value.base + at, count < left ? count : left);
    return count;
}

/* For text formats: a byte that is not printable ASCII becomes \xNN, quote and backslash get a
 * backslash, as in Apache httpd. */
static void put_escaped(struct space *space, uvhttp_slice_t value, char first)
{
    size_t i = put_plain(space, value, 0, first);
    while (i < value.length) {
        unsigned char byte = (unsigned char)value.base[i];
        bool fits = byte == '"'    ? put(space, "\\\"", 2)
                    : byte == '\\' ? put(space, "\\\\", 2)
                                   : put_hex(space, byte);
        if (!fits)
            return; /* nothing may follow */
        i++;
        i += put_plain(space, value, i, first);
    }
}

/* RFC 8259 section 7. */
static void put_json(struct space *space, uvhttp_slice_t value)
{
    size_t i = put_plain(space, value, 0, ' ');
    while (i < value.length) {
        char escaped[UVH_JSON_CHARACTER_SIZE];
        size_t size, length = uvh_json_character(value.base + i, value.length - i, escaped, &size);
        if (!put(space, escaped, length))
            return;
        i += size;
        i += put_plain(space, value, i, ' ');
    }
}

static uvhttp_slice_t protocol_of(const uvhttp_access_facts_t *facts)
{
    if (facts->method.length == 0)
        return (uvhttp_slice_t){NULL, 0};
    if (facts->is_http2)
        return (uvhttp_slice_t){"HTTP/2.0", 8};
    return (uvhttp_slice_t){facts->http_minor == 0 ? "HTTP/1.0" : "HTTP/1.1", 8};
}

static uvhttp_slice_t value_of(const uvhttp_access_facts_t *facts, enum name name)
{
    switch (name) {
    case CLIENT:
        return facts->client;
    case USER:
        return facts->user;
    case METHOD:
        return facts->method;
    case ROUTE:
        return facts->route;
    case TARGET:
        return facts->target;
    case PROTOCOL:
        return protocol_of(facts);
    case HOST:
        return facts->host;
    case REFERER:
        return facts->referer;
    case USER_AGENT:
        return facts->user_agent;
    case TRACE_ID:
        return facts->trace_id;
    case SPAN_ID:
        return facts->span_id;
    default:
        return facts->request_id;
    }
}

static void put_value(struct space *space, uvhttp_slice_t value, bool json)
{
    if (json)
        put_json(space, value);
    else
        put_escaped(space, value, ' ');
}

/* Method, target and protocol. A long target is truncated, the protocol is not. */
static void put_request(struct space *space, const uvhttp_access_facts_t *facts, bool json)
{
    enum { AFTER = 9 }; /* " HTTP/1.1" */
    uvhttp_slice_t protocol = protocol_of(facts);
    space->end -= AFTER;
    put_value(space, facts->method, json);
    put(space, " ", 1);
    put_value(space, facts->target, json);
    space->end += AFTER;
    put(space, " ", 1);
    put(space, protocol.base, protocol.length);
}

/* Returns the length of the output, at most `most`. */
static size_t write_string(char *out, size_t most, const uvhttp_access_facts_t *facts,
                           enum name name, bool json)
{
    uvhttp_slice_t value = name == REQUEST ? facts->method : value_of(facts, name);
    struct space space = {out, out + most - 1}; /* one byte for the closing quote */
    if (value.length == 0) {
        put(&space, json ? "null" : "-", json ? 4 : 1);
        return (size_t)(space.at - out);
    }
    if (json)
        put(&space, "\"", 1);
    if (name == REQUEST)
        put_request(&space, facts, json);
    else if (name == USER && !json) /* it is delimited by spaces, not quotes */
        put_escaped(&space, value, '!');
    else
        put_value(&space, value, json);
    if (json)
        *space.at++ = '"';
    return (size_t)(space.at - out);
}

/* ---- numbers and times ---- */

static char *put_digits(char *out, unsigned value, unsigned count)
{
    for (unsigned i = count; i > 0; i--, value /= 10)
        out[i - 1] = (char)('0' + value % 10);
    return out + count;
}

static char *put_bytes(char *out, const char *bytes, size_t length, char after)
{
    memcpy(out, bytes, length);
    out[length] = after;
    return out + length + 1;
}

/* "22/Nov/2026:03:04:05 +0100" */
static size_t write_time(char *out, int64_t unix_ms, int zone_minutes)
{
    char date[UVH_HTTP_DATE_SIZE]; /* "Sun, 22 Nov 2026 03:04:05 GMT" */
    unsigned minutes = (unsigned)(zone_minutes < 0 ? -zone_minutes : zone_minutes);
    uvh_http_date_format(unix_ms / 1000 + (int64_t)zone_minutes * 60, date);
    char *at = put_bytes(out, date + 5, 2, '/');
    at = put_bytes(at, date + 8, 3, '/');
    at = put_bytes(at, date + 12, 4, ':');
    at = put_bytes(at, date + 17, 8, ' ');
    *at++ = zone_minutes < 0 ? '-' : '+';
    at = put_digits(at, minutes / 60, 2);
    at = put_digits(at, minutes % 60, 2);
    return (size_t)(at - out);
}

/* "2026-11-22T02:04:05.678Z" */
static size_t write_time_iso(char *out, int64_t unix_ms)
{
    uvh_http_date_format_iso(unix_ms / 1000, out);
    char *at = out + UVH_HTTP_DATE_ISO_SIZE - 1; /* at the Z */
    *at++ = '.';
    at = put_digits(at, (unsigned)(unix_ms % 1000), 3);
    *at++ = 'Z';
    return (size_t)(at - out);
}

static size_t write_flag(char *out, bool flag, bool json)
{
    const char *text = json ? (flag ? "true" : "false") : (flag ? "1" : "0");
    memcpy(out, text, strlen(text));
    return strlen(text);
}

static size_t write_number(char *out, const uvhttp_outcome_t *outcome, enum name name,
                           int zone_minutes, bool json)
{
    int64_t unix_ms = outcome->unix_ms < 0 ? 0 : outcome->unix_ms;
    switch (name) {
    case STATUS:
        return uvh_number_write(out, outcome->status < 0 ? 0 : (uint64_t)outcome->status);
    case BYTES:
        return uvh_number_write(out, outcome->bytes_sent);
    case DURATION_MS: {
        size_t length = uvh_number_write(out, outcome->duration_us / 1000);
        out[length] = '.';
        put_digits(out + length + 1, (unsigned)(outcome->duration_us % 1000), 3);
        return length + 4;
    }
    case DURATION_US:
        return uvh_number_write(out, outcome->duration_us);
    case ABORTED:
        return write_flag(out, outcome->aborted, json);
    case TIME:
        return write_time(out, unix_ms, zone_minutes);
    case TIME_ISO:
        return write_time_iso(out, unix_ms);
    default:
        return uvh_number_write(out, (uint64_t)unix_ms);
    }
}

size_t uvh_access_format_line(const struct uvh_access_format *format,
                              const uvhttp_access_facts_t *facts, int zone_minutes,
                              char out[UVH_ACCESS_LINE_SIZE])
{
    char *at = out;
    size_t space = format->value_space;
    for (size_t i = 0; i < format->part_count; i++) {
        const struct uvh_access_part *part = &format->parts[i];
        enum name name = (enum name)part->name;
        if (name == TEXT) {
            memcpy(at, format->text + part->offset, part->length);
            at += part->length;
        } else if (name > LAST_STRING) {
            at += write_number(at, &facts->outcome, name, zone_minutes, format->json);
        } else {
            /* Each part reserves NUMBER_SIZE, so the last one has that much even when the rest of
             * the buffer is full. */
            size_t share = UVH_ACCESS_VALUE_SIZE - NUMBER_SIZE;
            size_t most = (space < share ? space : share) + NUMBER_SIZE;
            size_t length = write_string(at, most, facts, name, format->json);
            space -= length < space ? length : space;
            at += length;
        }
    }
    *at++ = '\n';
    return (size_t)(at - out);
}
