/* Random messages for the comparison with the reference parser: built from the grammar, then
 * modified.
 *
 * A message depends on one number only, so it can be generated again. Lengths of names, values,
 * targets and phrases cluster around multiples of 16, where the parser's blocks of 16, 32 and 64
 * bytes end. */
#ifndef UVH_TESTS_REFERENCE_MESSAGES_H
#define UVH_TESTS_REFERENCE_MESSAGES_H

#include <stdint.h>
#include <stdio.h>

#include <uvhttp/field.h>
#include <uvhttp/types.h>

#include "reference/bytes.h"

enum { MESSAGE_CAPACITY = 16384 };

struct message {
    uint64_t random;
    size_t length;
    char bytes[MESSAGE_CAPACITY];
};

/* The splitmix64 generator: each seed gives a good sequence, and so do consecutive seeds. */
static inline uint64_t message_random(struct message *message)
{
    uint64_t z = message->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline size_t message_below(struct message *message, size_t limit)
{
    return (size_t)((message_random(message) >> 32) * limit >> 32);
}

static inline bool message_chance(struct message *message, size_t one_in)
{
    return message_below(message, one_in) == 0;
}

static inline void message_add(struct message *message, const char *bytes, size_t length)
{
    if (length > MESSAGE_CAPACITY - message->length)
        length = MESSAGE_CAPACITY - message->length;
    memcpy(message->bytes + message->length, bytes, length);
    message->length += length;
}

static inline void message_add_text(struct message *message, const char *text)
{
    message_add(message, text, strlen(text));
}

static inline void message_byte(struct message *message, unsigned char byte)
{
    message_add(message, (const char *)&byte, 1);
}

#define MESSAGE_PICK(message, list) ((list)[message_below(message, sizeof(list) / sizeof(list)[0])])

/* Mostly short, else within two bytes of the end of a block. */
static inline size_t message_length(struct message *message)
{
    size_t kind = message_below(message, 16);
    if (kind < 9)
        return message_below(message, 20);
    if (kind < 15)
        return 16 * (1 + message_below(message, 9)) + message_below(message, 5) - 2;
    return message_below(message, 700);
}

/* `length` random bytes of `set`. */
static inline void message_run(struct message *message, const char *set, size_t length)
{
    size_t count = strlen(set);
    while (length-- > 0)
        message_byte(message, (unsigned char)set[message_below(message, count)]);
}

static inline void message_token(struct message *message, size_t length)
{
    static const char *const sets[] = {"abcdefghijklmnopqrstuvwxyz-",
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij-_",
                                       "!#$%&'*+-.^_`|~09azAZ"};
    message_run(message, MESSAGE_PICK(message, sets), length);
}

static inline void message_space(struct message *message)
{
    static const char *const spaces[] = {" ", " ", " ", " ", "", "  ", "\t", " \t "};
    message_add_text(message, MESSAGE_PICK(message, spaces));
}

/* Visible bytes and inner spaces, sometimes bytes above 0x7f and tabs. */
static inline void message_value(struct message *message, size_t length)
{
    static const char *const sets[] = {"abcdefgh ijklmnop/;=.,0123456789",
                                       "abcdefghijklmnopqrstuvwxyz0123456789",
                                       "ab\t \"\\,;=()<>@:/[]?{}\x7e\x80\xa0\xc3\xff"};
    message_run(message, MESSAGE_PICK(message, sets), length);
}

/* In upper, lower or mixed case, or unchanged. */
static inline void message_cased(struct message *message, const char *text)
{
    size_t kind = message_below(message, 4);
    for (; *text != '\0'; text++) {
        bool change =
            reference_is_alpha(*text) && (kind == 1 || (kind == 2 && message_chance(message, 2)));
        message_byte(message, (unsigned char)(change ? *text ^ 0x20 : *text));
    }
}

static inline void message_version(struct message *message)
{
    static const char *const versions[] = {"HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1",
                                           "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.0",
                                           "HTTP/1.2", "HTTP/2.0", "HTTP/1.",  "http/1.1"};
    message_add_text(message,
                     message_chance(message, 4) ? MESSAGE_PICK(message, versions) : "HTTP/1.1");
}

static inline void message_line_end(struct message *message)
{
    static const char *const odd[] = {"\n", "\r", "\r\r\n", "", "\n\r", " \r\n"};
    message_add_text(message, message_chance(message, 250) ? MESSAGE_PICK(message, odd) : "\r\n");
}

static inline void message_authority(struct message *message)
{
    static const char *const some[] = {"a",
                                       "example.com",
                                       "localhost:8080",
                                       "127.0.0.1",
                                       "[::1]",
                                       "[::1]:80",
                                       "[1:2:3:4:5:6:7:8]",
                                       "[::]",
                                       "[1::8]:0",
                                       "[::ffff:1.2.3.4]",
                                       "[v1.a:b]",
                                       "a:",
                                       "a:65535",
                                       "a:65536",
                                       "user@host",
                                       "%41b",
                                       "a%4",
                                       "[::1",
                                       "[1:2]",
                                       "h:8x",
                                       "",
                                       "[::1.2.3.256]",
                                       "[1:2:3:4:5:6:7::]",
                                       "[1:2:3:4:5:6:7:8::]",
                                       "[12345::]",
                                       "[:1]",
                                       "[1::2::3]",
                                       "[::01.2.3.4]",
                                       "sub.domain-with-a-name.example.org:443",
                                       "a b",
                                       "a/b",
                                       "[::1]x"};
    message_add_text(message,
                     message_chance(message, 2) ? "example.com" : MESSAGE_PICK(message, some));
}

static inline void message_path(struct message *message)
{
    static const char *const segments[] = {
        "api", "users", "12345", "..",  ".",  "%2e%2e", "%2E", "a%20b", "%2F",    "%00",
        "%zz", "",      "...",   "a.b", ".a", "%2f",    "%",   "x%",    "%e4%b8", "%252e"};
    for (size_t count = message_below(message, 6); count > 0; count--) {
        message_add_text(message, "/");
        if (message_chance(message, 4))
            message_run(message, "abcdefghijklmnop-._~0123456789", message_length(message));
        else
            message_add_text(message, MESSAGE_PICK(message, segments));
    }
}

static inline void message_query(struct message *message)
{
    static const char *const parts[] = {"a=b", "&", "=",       "page=1", "&limit=10", "%26",
                                        "%3D", "+", "a+b=c%2", "&&",     "q=%C3%A4",  "?"};
    for (size_t count = message_below(message, 7); count > 0; count--)
        message_add_text(message, MESSAGE_PICK(message, parts));
    if (message_chance(message, 4))
        message_run(message, "abc=&%+", message_length(message));
}

static inline void message_target(struct message *message)
{
    static const char *const odd[] = {
        "*",       "http://", "https://", "ftp://a/", "example.com:80", "a", "HTTP://Example.com",
        "http:/a", "#a"};
    size_t kind = message_below(message, 20);
    if (kind == 0) {
        message_add_text(message, MESSAGE_PICK(message, odd));
        return;
    }
    if (kind < 3) {
        message_cased(message, kind == 1 ? "http://" : "https://");
        message_authority(message);
    } else if (kind == 3) {
        message_authority(message);
        return;
    }
    if (kind > 3)
        message_add_text(message, "/");
    message_path(message);
    if (message_chance(message, 8))
        message_run(message, "abcdef/\"<>\\^`{|}~", message_length(message));
    if (message_chance(message, 3)) {
        message_add_text(message, "?");
        message_query(message);
    }
}

static inline void message_length_value(struct message *message)
{
    static const char *const values[] = {"0",
                                         "5",
                                         "100",
                                         "5, 5",
                                         "5,5 ,5",
                                         "5, 6",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "99999999999999999999",
                                         "-1",
                                         "+1",
                                         "0x10",
                                         "",
                                         "5 5",
                                         "5,",
                                         ",5",
                                         "00005",
                                         "1.0",
                                         "5;a",
                                         "5, 5x"};
    message_add_text(message, message_chance(message, 2) ? "42" : MESSAGE_PICK(message, values));
}

static inline void message_coding_value(struct message *message)
{
    static const char *const values[] = {"gzip, chunked",
                                         "chunked, gzip",
                                         "chunked, chunked",
                                         "gzip",
                                         "identity",
                                         "chunked;a=b",
                                         "",
                                         "chunked ;",
                                         "gzip;q=1, chunked",
                                         "gzip;q=\"a,b\\\"\" , chunked",
                                         ", chunked",
                                         "chunked,",
                                         "xchunked",
                                         "chunked x",
                                         "gzip;q, chunked",
                                         "gzip;q=\"a, chunked",
                                         "x ; y = z ,\tchunked"};
    if (message_chance(message, 2))
        message_cased(message, "chunked");
    else
        message_add_text(message, MESSAGE_PICK(message, values));
}

static inline void message_connection_value(struct message *message)
{
    static const char *const values[] = {
        "close",      "keep-alive", "upgrade",      "keep-alive, Upgrade",      "close, keep-alive",
        ",, close ,", "closed",     "\"close\"",    "x, \"a, close\", upgrade", "keep-alive;close",
        "te",         "",           "\"\\\", close"};
    message_cased(message, MESSAGE_PICK(message, values));
}

/* A field that framing evaluates. */
static inline void message_framing_field(struct message *message)
{
    static const char *const expectations[] = {
        "100-continue",  "100-Continue", "100-continue, 100-continue", "200-ok", "",
        ", 100-continue"};
    static const char *const names[] = {"Host",       "Content-Length", "Transfer-Encoding",
                                        "Connection", "Upgrade",        "Expect"};
    size_t which = message_below(message, 6);
    message_cased(message, names[which]);
    message_add_text(message, ":");
    message_space(message);
    switch (which) {
    case 0:
        message_authority(message);
        break;
    case 1:
        message_length_value(message);
        break;
    case 2:
        message_coding_value(message);
        break;
    case 3:
        message_connection_value(message);
        break;
    case 4:
        message_add_text(message, "websocket");
        break;
    default:
        message_add_text(message, MESSAGE_PICK(message, expectations));
    }
}

/* A name from the table, unchanged or with a changed bit, or any token. */
static inline void message_name(struct message *message)
{
#define MESSAGE_FIELD_NAME(id, name) name,
    static const char *const known[] = {UVHTTP_FIELD_MAP(MESSAGE_FIELD_NAME)};
#undef MESSAGE_FIELD_NAME
    static const char *const others[] = {"age",
                                         "expires",
                                         "x-request-id",
                                         "retry-after",
                                         "content-language",
                                         "www-authenticate",
                                         "content-security-policy",
                                         "strict-transport-security",
                                         "proxy-connection",
                                         "pragma",
                                         "x"};
    size_t kind = message_below(message, 8);
    size_t start = message->length;
    if (kind < 3) {
        message_cased(message, MESSAGE_PICK(message, known));
        if (message_chance(message, 8) && message->length > start)
            message->bytes[start + message_below(message, message->length - start)] ^=
                (char)(1 << message_below(message, 7));
    } else if (kind < 5) {
        message_cased(message, MESSAGE_PICK(message, others));
    } else {
        message_token(message, 1 + message_length(message));
    }
}

static inline void message_field(struct message *message)
{
    if (message_chance(message, 8)) {
        message_framing_field(message);
    } else {
        message_name(message);
        message_add_text(message, message_chance(message, 200) ? " :" : ":");
        message_space(message);
        message_value(message, message_length(message));
    }
    if (message_chance(message, 8))
        message_space(message);
    message_line_end(message);
    if (message_chance(message, 400))
        message_add_text(message, " folded\r\n");
}

/* Mostly few fields, sometimes about as many as a head stores inline, or more than a hundred short
 * ones. */
static inline void message_fields(struct message *message)
{
    size_t kind = message_below(message, 64);
    size_t count = message_below(message, kind < 48 ? 6 : 16);
    if (kind == 62)
        count = 28 + message_below(message, 8);
    for (; count > 0; count--)
        message_field(message);
    if (kind == 63) {
        for (count = message_below(message, 160); count > 0; count--) {
            message_token(message, 1 + message_below(message, 4));
            message_add_text(message, ":\r\n");
        }
    }
}

/* The empty line and a part of what follows. */
static inline void message_end(struct message *message)
{
    if (!message_chance(message, 100))
        message_line_end(message);
    if (message_chance(message, 3))
        message_value(message, message_below(message, 100));
    else if (message_chance(message, 3))
        message_add_text(message, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

static inline void message_make_request(struct message *message)
{
#define MESSAGE_METHOD(id, name) name,
    static const char *const methods[] = {UVHTTP_METHOD_MAP(MESSAGE_METHOD)};
#undef MESSAGE_METHOD
    while (message_chance(message, 30))
        message_add_text(message, "\r\n");
    if (message_chance(message, 10))
        message_token(message, message_length(message));
    else
        message_add_text(message, MESSAGE_PICK(message, methods));
    message_add_text(message, message_chance(message, 200) ? "  " : " ");
    message_target(message);
    message_add_text(message, " ");
    message_version(message);
    message_line_end(message);
    if (!message_chance(message, 8))
        message_add_text(message, "Host: example.com\r\n");
    message_fields(message);
    message_end(message);
}

static inline void message_make_response(struct message *message)
{
    static const char *const statuses[] = {"200", "200", "204", "304", "100", "101", "199",
                                           "206", "299", "301", "305", "404", "500", "999"};
    static const char *const odd_statuses[] = {"099", "000", "20",   "2000",
                                               "2x0", "",    " 200", "-20"};
    static const char *const phrases[] = {"OK",       "Not Found", "", "Moved Permanently",
                                          "\xc3\x84", "a\tb "};
    message_version(message);
    message_add_text(message, message_chance(message, 100) ? "" : " ");
    if (message_chance(message, 16))
        message_add_text(message, MESSAGE_PICK(message, odd_statuses));
    else
        message_add_text(message, MESSAGE_PICK(message, statuses));
    message_add_text(message, message_chance(message, 100) ? "" : " ");
    if (message_chance(message, 8))
        message_value(message, message_length(message));
    else
        message_add_text(message, MESSAGE_PICK(message, phrases));
    message_line_end(message);
    if (message_chance(message, 2)) {
        message_framing_field(message);
        message_line_end(message);
    }
    message_fields(message);
    message_end(message);
}

static inline void message_make_trailers(struct message *message)
{
    static const char *const names[] = {"digest",     "etag",   "date",
                                        "x-checksum", "server", "last-modified"};
    for (size_t count = message_below(message, 4); count > 0; count--) {
        message_cased(message, MESSAGE_PICK(message, names));
        message_add_text(message, ":");
        message_space(message);
        message_value(message, message_length(message));
        message_line_end(message);
    }
    if (message_chance(message, 3))
        message_fields(message);
    message_end(message);
}

static inline void message_chunk_line(struct message *message, size_t size)
{
    static const char *const extensions[] = {
        ";a", ";a=b", ";a=\"b;\\\"c\"", " ; a = b", ";a ;b",        " ",
        ";",  ";a=",  ";a=\"",          "x",        ";a =\t\"\" ;c"};
    char digits[24];
    int length = snprintf(digits, sizeof digits, message_chance(message, 2) ? "%zx" : "%zX", size);
    if (message_chance(message, 10))
        message_run(message, "0", message_below(message, 17));
    message_add(message, digits, (size_t)length);
    while (message_chance(message, 6))
        message_add_text(message, MESSAGE_PICK(message, extensions));
    if (message_chance(message, 30)) {
        message_add_text(message, ";");
        message_token(message, message_length(message));
    }
    message_line_end(message);
}

static inline void message_make_chunked(struct message *message)
{
    for (size_t count = message_below(message, 6); count > 0; count--) {
        size_t size = 1 + message_length(message);
        message_chunk_line(message, size);
        for (size_t i = 0; i < size; i++)
            message_byte(message, (unsigned char)message_below(message, 256));
        message_line_end(message);
    }
    if (message_chance(message, 20))
        message_add_text(message, "ffffffffffffffff\r\nabc");
    else if (!message_chance(message, 10))
        message_chunk_line(message, 0);
    message_end(message);
}

/* A path, a query, a form or a cookie. */
static inline void message_make_text(struct message *message)
{
    static const char *const cookies[] = {"a=b",   "; ",    ";", "sid=\"x y\"", "=", " = ", "name",
                                          "a=b=c", "\t;\t", ",", "theme = dark"};
    size_t kind = message_below(message, 3);
    if (kind == 0)
        message_path(message);
    else if (kind == 1)
        message_query(message);
    for (size_t count = kind == 2 ? message_below(message, 8) : 0; count > 0; count--)
        message_add_text(message, MESSAGE_PICK(message, cookies));
}

static inline void message_remove(struct message *message, size_t at, size_t count)
{
    count = count < message->length - at ? count : message->length - at;
    memmove(message->bytes + at, message->bytes + at + count, message->length - at - count);
    message->length -= count;
}

/* Opens a gap of `count` bytes at `at`. Returns its size. Bytes beyond the capacity are lost. */
static inline size_t message_open_gap(struct message *message, size_t at, size_t count)
{
    count = count < MESSAGE_CAPACITY - at ? count : MESSAGE_CAPACITY - at;
    size_t rest = message->length - at < MESSAGE_CAPACITY - at - count
                      ? message->length - at
                      : MESSAGE_CAPACITY - at - count;
    memmove(message->bytes + at + count, message->bytes + at, rest);
    message->length = at + count + rest;
    return count;
}

/* One random change. `other` is a message to take bytes from. */
static inline void message_change_once(struct message *message, const struct message *other)
{
    static const char bytes[] = "\r\n\r\n \t:\0a/G.H1\x7f\x80\xff\x01#%,;=\"?&\x1f\x8d\x8a\xba";
    size_t at = message_below(message, message->length);
    size_t run = message_chance(message, 2) ? 1 : message_length(message);
    char byte = bytes[message_below(message, sizeof bytes)];
    switch (message_below(message, 8)) {
    case 0:
        message->bytes[at] ^= (char)(1 << message_below(message, 8));
        break;
    case 1:
    case 2:
        message->bytes[at] = byte;
        break;
    case 3:
        message_remove(message, at, run);
        break;
    case 4:
        message_open_gap(message, at, 1);
        message->bytes[at] = byte;
        break;
    case 5: /* duplicates a part */
        run = run < message->length - at ? run : message->length - at;
        message_open_gap(message, at, run);
        break;
    case 6: /* inserts a part of the other message */
        if (other->length > 0) {
            size_t from = message_below(message, other->length);
            run = run < other->length - from ? run : other->length - from;
            run = message_open_gap(message, at, run);
            memcpy(message->bytes + at, other->bytes + from, run);
        }
        break;
    default: /* inserts one byte many times */
        run = message_open_gap(message, at, run);
        memset(message->bytes + at, byte, run);
    }
}

/* Half of the messages are not changed. A few are truncated. */
static inline void message_damage(struct message *message, const struct message *other)
{
    size_t times = message_chance(message, 2) ? 0 : 1 + message_below(message, 3);
    for (; times > 0 && message->length > 0; times--)
        message_change_once(message, other);
    if (message_chance(message, 10))
        message->length = message_below(message, message->length + 1);
}

#endif
