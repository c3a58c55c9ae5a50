/* codec/websocket/reader.c: every rule of RFC 6455 section 5, whole, split at every offset and byte
 * by byte, on every back end. */
#include "codec/websocket/reader.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/backends.h"
#include "support/guarded.h"
#include "support/ws_events.h"

enum { BUFFER_SIZE = 4096 };

enum role {
    CLIENTS, /* frames of a client */
    SERVERS,
    CLIENTS_COMPRESSED, /* with compression negotiated */
    SERVERS_COMPRESSED,
};

/* Bytes and the expected events. Masks are zero where they do not matter, to keep payloads
 * readable. */
struct vector {
    const char *name;
    enum role role;
    const char *bytes;
    size_t size;
    const char *events;
};

#define BYTES(text) text, sizeof text - 1
#define NO_MASK     "\0\0\0\0"
#define MASK_1234   "\x01\x02\x03\x04"

static const struct vector vectors[] = {
    /* The examples of section 5.7. */
    {"a text of a server", SERVERS, BYTES("\x81\x05Hello"), "text(Hello)"},
    {"a masked text", CLIENTS, BYTES("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
     "text(Hello)"},
    {"a text in two fragments", SERVERS, BYTES("\x01\x03Hel\x80\x02lo"), "text(Hello)"},
    {"a ping", SERVERS, BYTES("\x89\x05Hello"), "ping(Hello)"},
    {"a masked pong", CLIENTS, BYTES("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
     "pong(Hello)"},

    {"no bytes", CLIENTS, BYTES(""), ""},
    {"an empty text", CLIENTS, BYTES("\x81\x80" NO_MASK), "text()"},
    {"an empty text of a server, and more", SERVERS, BYTES("\x81\x00\x82\x01x"), "text()binary(x)"},
    {"several", CLIENTS,
     BYTES("\x82\x83" NO_MASK "abc\x81\x81" NO_MASK "d\x8a\x80" NO_MASK "\x82\x80" NO_MASK),
     "binary(abc)text(d)pong()binary()"},
    {"a mask over several chunks", CLIENTS, BYTES("\x82\x8a" MASK_1234 "`aebdgfldh"),
     "binary(acffeeehej)"},
    {"each fragment has its own mask", CLIENTS,
     BYTES("\x02\x85" MASK_1234 "```~`\x80\x83\x20\x20\x20\x20"
           "ABC"),
     "binary(abczaabc)"},
    {"control frames between fragments", CLIENTS,
     BYTES("\x01\x82" NO_MASK "ab\x89\x81" NO_MASK "1\x00\x81" NO_MASK "c\x8a\x82" NO_MASK
           "22\x80\x81" NO_MASK "d"),
     "text(abping(1)cpong(22)d)"},
    {"consecutive control frames", SERVERS,
     BYTES("\x89\x03"
           "abc\x8a\x04"
           "defg\x89\x02"
           "hi"),
     "ping(abc)pong(defg)ping(hi)"},
    {"empty fragments", CLIENTS,
     BYTES("\x02\x80" NO_MASK "\x00\x80" NO_MASK "\x00\x81" NO_MASK "x\x80\x80" NO_MASK),
     "binary(x)"},
    {"only empty fragments", SERVERS, BYTES("\x01\x00\x80\x00\x81\x01y"), "text()text(y)"},
    {"a masked control frame in a masked message", CLIENTS,
     BYTES("\x01\x82" MASK_1234 "``\x89\x83\x04\x03\x02\x01```\x80\x81" MASK_1234 "`"),
     "text(abping(dcb)a)"},

    {"a close frame", CLIENTS,
     BYTES("\x88\x85" NO_MASK "\x03\xe8"
           "bye"),
     "close(1000 bye)"},
    {"a close frame, masked", CLIENTS, BYTES("\x88\x82" MASK_1234 "\x02\xea"), "close(1000 )"},
    {"a close frame without a code", SERVERS, BYTES("\x88\x00"), "close(1005 )"},
    {"a close frame of an application", SERVERS, BYTES("\x88\x02\x13\x87"), "close(4999 )"},
    {"a close frame within a message", SERVERS, BYTES("\x01\x01x\x88\x02\x03\xe9"),
     "text(xclose(1001 )"},
    {"a reason that is UTF-8", SERVERS, BYTES("\x88\x05\x03\xe8\xe2\x82\xac"),
     "close(1000 \xe2\x82\xac)"},
    {"an incomplete status code", CLIENTS, BYTES("\x88\x81" NO_MASK "\x03"),
     "bad(1002 a close frame has an incomplete status code)"},
    {"a reserved code", SERVERS, BYTES("\x88\x02\x03\xed"),
     "bad(1002 a close frame has an invalid status code)"},
    {"a code below the range", SERVERS, BYTES("\x88\x02\x03\xe7"),
     "bad(1002 a close frame has an invalid status code)"},
    {"a code above the range", SERVERS, BYTES("\x88\x02\x13\x88"),
     "bad(1002 a close frame has an invalid status code)"},
    {"a reason that is not UTF-8", SERVERS, BYTES("\x88\x04\x03\xe8\xc0\x80"),
     "bad(1007 the reason of a close frame is not UTF-8)"},
    {"a reason that ends within a character", SERVERS, BYTES("\x88\x04\x03\xe8\xe2\x82"),
     "bad(1007 the reason of a close frame is not UTF-8)"},

    {"RSV2", CLIENTS_COMPRESSED, BYTES("\xa1\x80" NO_MASK), "bad(1002 a reserved bit is set)"},
    {"RSV3", CLIENTS_COMPRESSED, BYTES("\x92\x80" NO_MASK), "bad(1002 a reserved bit is set)"},
    {"RSV3 of a control frame", SERVERS, BYTES("\x99\x00"), "bad(1002 a reserved bit is set)"},
    {"RSV1 without an agreement", CLIENTS, BYTES("\xc1\x80" NO_MASK),
     "bad(1002 a frame is compressed, but compression was not negotiated)"},
    {"RSV1 of a control frame without an agreement", SERVERS, BYTES("\xc9\x00"),
     "bad(1002 a frame is compressed, but compression was not negotiated)"},
    {"RSV1", CLIENTS_COMPRESSED,
     BYTES("\xc1\x81" NO_MASK "x\xc2\x81" NO_MASK "y\x82\x81" NO_MASK "z"),
     "text*(x)binary*(y)binary(z)"},
    {"RSV1 of a server", SERVERS_COMPRESSED, BYTES("\xc1\x01x\x81\x01y"), "text*(x)text(y)"},
    {"RSV1 of a message in fragments", CLIENTS_COMPRESSED,
     BYTES("\x41\x81" NO_MASK "x\x80\x81" NO_MASK "y\x81\x80" NO_MASK), "text*(xy)text()"},
    {"RSV1 of a continuation", CLIENTS_COMPRESSED,
     BYTES("\x41\x81" NO_MASK "x\xc0\x81" NO_MASK "y"),
     "text*(xbad(1002 RSV1 is set in a frame that does not begin a message)"},
    {"RSV1 of a ping", CLIENTS_COMPRESSED, BYTES("\xc9\x80" NO_MASK),
     "bad(1002 RSV1 is set in a frame that does not begin a message)"},

    {"an opcode after those of messages", CLIENTS, BYTES("\x83\x80" NO_MASK),
     "bad(1002 the opcode is reserved)"},
    {"the last data opcode", CLIENTS, BYTES("\x87\x80" NO_MASK),
     "bad(1002 the opcode is reserved)"},
    {"an opcode after those of control frames", SERVERS, BYTES("\x8b\x00"),
     "bad(1002 the opcode is reserved)"},
    {"the last opcode", SERVERS, BYTES("\x8f\x00"), "bad(1002 the opcode is reserved)"},
    {"a reserved opcode in fragments", SERVERS, BYTES("\x03\x00"),
     "bad(1002 the opcode is reserved)"},

    {"a ping in fragments", CLIENTS, BYTES("\x09\x80" NO_MASK),
     "bad(1002 a control frame is fragmented)"},
    {"a ping of 125 bytes, in part", CLIENTS, BYTES("\x89\xfd" NO_MASK "abc"), ""},
    {"a ping of 126 bytes", CLIENTS, BYTES("\x89\xfe\x00\x7e" NO_MASK),
     "bad(1002 a control frame is too long)"},
    {"a close frame with a long length", SERVERS, BYTES("\x88\x7f\0\0\0\0\0\0\0\x01x"),
     "bad(1002 a control frame is too long)"},

    {"a continuation without a message", CLIENTS, BYTES("\x80\x81" NO_MASK "x"),
     "bad(1002 a continuation frame without a message)"},
    {"a continuation after a message", SERVERS, BYTES("\x81\x01x\x80\x01y"),
     "text(x)bad(1002 a continuation frame without a message)"},
    {"a continuation after a fragmented message", SERVERS, BYTES("\x01\x01x\x80\x01y\x00\x01z"),
     "text(xy)bad(1002 a continuation frame without a message)"},
    {"a text within a text", SERVERS, BYTES("\x01\x01x\x81\x01y"),
     "text(xbad(1002 a new message interrupts a fragmented message)"},
    {"a binary within an empty text", SERVERS, BYTES("\x01\x00\x89\x00\x02\x01y"),
     "text(ping()bad(1002 a new message interrupts a fragmented message)"},

    {"a client without a mask", CLIENTS, BYTES("\x81\x05Hello"),
     "bad(1002 a client's frame is not masked)"},
    {"a ping without a mask", CLIENTS, BYTES("\x89\x00"),
     "bad(1002 a client's frame is not masked)"},
    {"a server with a mask", SERVERS, BYTES("\x81\x81" NO_MASK "x"),
     "bad(1002 a server's frame is masked)"},

    {"125 in two bytes", CLIENTS, BYTES("\x82\xfe\x00\x7d" NO_MASK),
     "bad(1002 the length is not in its minimal encoding)"},
    {"0 in two bytes", SERVERS, BYTES("\x82\x7e\x00\x00"),
     "bad(1002 the length is not in its minimal encoding)"},
    {"65535 in eight bytes", SERVERS, BYTES("\x82\x7f\0\0\0\0\0\0\xff\xff"),
     "bad(1002 the length is not in its minimal encoding)"},
    {"the most significant bit", SERVERS, BYTES("\x82\x7f\x80\0\0\0\0\0\0\0"),
     "bad(1002 the length's most significant bit is set)"},
    {"the largest length", SERVERS, BYTES("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"),
     "bad(1009 a frame is too long)"},
    {"one byte too many", CLIENTS, BYTES("\x82\xfe\x04\x01" NO_MASK),
     "bad(1009 a frame is too long)"},
    {"one byte too many in a continuation", SERVERS, BYTES("\x02\x01x\x00\x7e\x04\x01"),
     "binary(xbad(1009 a frame is too long)"},

    {"the largest number of fragments", SERVERS,
     BYTES("\x01\x01"
           "a\x00\x01"
           "b\x89\x00\x00\x01"
           "c\x80\x01"
           "d\x01\x01"
           "e\x80\x00"),
     "text(abping()cd)text(e)"},
    {"one fragment more", SERVERS,
     BYTES("\x01\x01"
           "a\x00\x01"
           "b\x00\x00\x00\x01"
           "d\x80\x01"
           "e"),
     "text(abdbad(1009 a message has too many frames)"},
};

static struct uvh_ws_rules rules_of(enum role role)
{
    return (struct uvh_ws_rules){.max_frame_size = 1024,
                                 .max_fragments = 4,
                                 .from_client = role == CLIENTS || role == CLIENTS_COMPRESSED};
}

/* In chunks of `step` bytes after a first one of `first`; each ends at a protected page. */
static void check(const struct vector *vector, size_t first, size_t step)
{
    static struct guarded memory;
    if (memory.end == NULL)
        memory = guarded_make(BUFFER_SIZE);
    struct uvh_ws_rules rules = rules_of(vector->role);
    struct uvh_ws_reader reader;
    struct ws_events events;
    ws_events_init(&events, vector->size);
    uvh_ws_reader_init(&reader, vector->role >= CLIENTS_COMPRESSED);
    size_t size = first;
    for (size_t at = 0; at < vector->size && !events.bad; at += size, size = step) {
        if (size > vector->size - at)
            size = vector->size - at;
        ws_events_read(&events, &reader, &rules, guarded_copy(&memory, vector->bytes + at, size),
                       size);
    }
    bool same = events.length == strlen(vector->events) &&
                memcmp(events.text, vector->events, events.length) == 0;
    if (!same || events.broken)
        fail_msg("%s, %zu and then %zu bytes at once, back end %s: %.*s%s", vector->name, first,
                 step, uvhttp_parser_backend(), (int)events.length, events.text,
                 events.broken ? " (contract)" : "");
    free(events.text);
}

static void check_all_ways(const struct vector *vector)
{
    for (size_t at = 0; backends_next(&at);) {
        for (size_t first = 0; first <= vector->size; first++)
            check(vector, first, BUFFER_SIZE);
        for (size_t step = 1; step < 9; step++)
            check(vector, step, step);
    }
}

static void vectors_give_expected_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check_all_ways(&vectors[i]);
}

/* A message of one masked frame; the payload's bytes are letters. */
static size_t put_frame(char *out, unsigned opcode, size_t length)
{
    struct uvh_ws_frame frame = {.opcode = (uint8_t)opcode,
                                 .last = true,
                                 .masked = true,
                                 .mask = {'m', 'A', 's', 0x81},
                                 .length = length};
    size_t head = uvh_ws_frame_head(&frame, out);
    for (size_t i = 0; i < length; i++)
        out[head + i] = (char)((uint8_t)('a' + i % 26) ^ frame.mask[i % 4]);
    return head + length;
}

static size_t append_payload(char *out, const char *before, size_t length)
{
    size_t size = strlen(before);
    memcpy(out, before, size);
    for (size_t i = 0; i < length; i++)
        out[size++] = (char)('a' + i % 26);
    out[size++] = ')';
    out[size] = '\0';
    return size;
}

/* Every size of a frame, with another one following, whole and split near their ends. */
static void payloads_of_every_size_are_read(void **state)
{
    (void)state;
    char bytes[BUFFER_SIZE];
    char expected[BUFFER_SIZE];
    for (size_t length = 0; length <= 1024; length++) {
        size_t size = put_frame(bytes, UVH_WS_BINARY, length);
        size_t whole = size;
        size += put_frame(bytes + size, UVH_WS_TEXT, length % 126);
        size_t text_length = append_payload(expected, "binary(", length);
        append_payload(expected + text_length, "text(", length % 126);
        struct vector vector = {"a size", CLIENTS, bytes, size, expected};
        for (size_t at = 0; backends_next(&at);) {
            check(&vector, size, size);
            check(&vector, whole, BUFFER_SIZE);
            check(&vector, whole - length / 2, BUFFER_SIZE);
            check(&vector, whole - length, BUFFER_SIZE);
            check(&vector, whole + 3, BUFFER_SIZE);
        }
    }
}

/* Also for frames received whole, with lengths in one byte and in two. */
static void too_long_frames_are_refused(void **state)
{
    (void)state;
    static const size_t most[] = {0, 124, 125, 126, 1024};
    char bytes[BUFFER_SIZE];
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        struct uvh_ws_rules rules = {
            .max_frame_size = most[i], .max_fragments = 4, .from_client = true};
        for (size_t length = most[i]; length <= most[i] + 1; length++) {
            struct uvh_ws_reader reader;
            struct uvh_ws_event event;
            size_t size = put_frame(bytes, UVH_WS_BINARY, length);
            uvh_ws_reader_init(&reader, false);
            uvh_ws_reader_next(&reader, &rules, bytes, size, &event);
            assert_int_equal(event.kind, length == most[i] ? UVH_WS_EVENT_CHUNK : UVH_WS_EVENT_BAD);
            if (event.kind == UVH_WS_EVENT_BAD)
                assert_int_equal(event.code, 1009);
        }
    }
}

static void control_frames_of_every_size_are_read(void **state)
{
    (void)state;
    char bytes[BUFFER_SIZE];
    char expected[BUFFER_SIZE];
    for (size_t length = 0; length <= UVH_WS_CONTROL_MAX; length++) {
        struct vector vector = {"a ping", CLIENTS, bytes, put_frame(bytes, UVH_WS_PING, length),
                                expected};
        append_payload(expected, "ping(", length);
        check_all_ways(&vector);
    }
}

/* A buffer is only required for split control frames, and no byte is consumed before it is set. */
static void split_control_frame_needs_buffer(void **state)
{
    (void)state;
    struct uvh_ws_rules rules = rules_of(SERVERS);
    struct uvh_ws_reader reader;
    struct uvh_ws_event event;
    char buffer[UVH_WS_CONTROL_MAX];
    char whole[] = "\x89\x03"
                   "abc";
    uvh_ws_reader_init(&reader, false);
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, whole, 5, &event), 5);
    assert_int_equal(event.kind, UVH_WS_EVENT_PING);
    assert_ptr_equal(event.data, whole + 2);

    /* a frame header alone needs none, and the payload refers to the input */
    char head[] = "\x89\x03";
    char payload[] = "abc";
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, head, 2, &event), 2);
    assert_int_equal(event.kind, UVH_WS_EVENT_MORE);
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, payload, 3, &event), 3);
    assert_int_equal(event.kind, UVH_WS_EVENT_PING);
    assert_ptr_equal(event.data, payload);

    char part[] = "\x89\x03"
                  "a";
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uvh_ws_reader_next(&reader, &rules, part, 3, &event), 0);
        assert_int_equal(event.kind, UVH_WS_EVENT_SIZE);
    }
    reader.control = buffer;
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, part, 3, &event), 3);
    assert_int_equal(event.kind, UVH_WS_EVENT_MORE);
    char rest[] = "bc";
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, rest, 2, &event), 2);
    assert_int_equal(event.kind, UVH_WS_EVENT_PING);
    assert_ptr_equal(event.data, buffer);
    assert_memory_equal(event.data, "abc", 3);
}

/* Payloads are not copied, and chunks are the received bytes. */
static void chunks_refer_to_input(void **state)
{
    (void)state;
    struct uvh_ws_rules rules = rules_of(SERVERS);
    struct uvh_ws_reader reader;
    struct uvh_ws_event event;
    char first[] = "\x02\x04xy";
    char second[] = "zw\x80\x00";
    uvh_ws_reader_init(&reader, false);
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, first, 4, &event), 4);
    assert_int_equal(event.kind, UVH_WS_EVENT_CHUNK);
    assert_ptr_equal(event.data, first + 2);
    assert_int_equal(event.size, 2);
    assert_true(event.first && !event.last && !event.text && !event.compressed);
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, second, 4, &event), 2);
    assert_ptr_equal(event.data, second);
    assert_true(!event.first && !event.last);
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, second + 2, 2, &event), 2);
    assert_int_equal(event.kind, UVH_WS_EVENT_CHUNK);
    assert_int_equal(event.size, 0);
    assert_true(!event.first && event.last);
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, second, 0, &event), 0);
    assert_int_equal(event.kind, UVH_WS_EVENT_MORE);
    /* A frame header alone gives no chunk. */
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, first, 2, &event), 2);
    assert_int_equal(event.kind, UVH_WS_EVENT_MORE);
}

/* An error is reported at the byte that causes it, not after the whole frame header. */
static void errors_are_reported_early(void **state)
{
    (void)state;
    struct uvh_ws_rules rules = rules_of(CLIENTS);
    struct uvh_ws_reader reader;
    struct uvh_ws_event event;
    char opcode[] = "\x83";
    uvh_ws_reader_init(&reader, false);
    uvh_ws_reader_next(&reader, &rules, opcode, 1, &event);
    assert_int_equal(event.kind, UVH_WS_EVENT_BAD);
    assert_int_equal(event.code, 1002);
    char unmasked[] = "\x82\x7e";
    uvh_ws_reader_init(&reader, false);
    uvh_ws_reader_next(&reader, &rules, unmasked, 2, &event);
    assert_int_equal(event.kind, UVH_WS_EVENT_BAD);
}

/* Limits also apply on the fast path. */
static void small_frame_limit_is_enforced(void **state)
{
    (void)state;
    struct uvh_ws_rules rules = {.max_frame_size = 2, .max_fragments = 1, .from_client = false};
    struct uvh_ws_reader reader;
    struct uvh_ws_event event;
    char bytes[] = "\x82\x02xy\x82\x03xyz";
    uvh_ws_reader_init(&reader, false);
    assert_int_equal(uvh_ws_reader_next(&reader, &rules, bytes, 9, &event), 4);
    assert_int_equal(event.kind, UVH_WS_EVENT_CHUNK);
    uvh_ws_reader_next(&reader, &rules, bytes + 4, 5, &event);
    assert_int_equal(event.kind, UVH_WS_EVENT_BAD);
    assert_int_equal(event.code, 1009);
}

static const struct vector *vector_named(const char *name)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        if (strcmp(vectors[i].name, name) == 0)
            return &vectors[i];
    }
    fail_msg("no vector '%s'", name);
    return NULL;
}

static void test_pitfall_unmasked_frames_of_clients_are_refused(void **state)
{
    (void)state;
    check_all_ways(vector_named("a client without a mask"));
    check_all_ways(vector_named("a ping without a mask"));
}

static void test_pitfall_continuations_are_part_of_their_message(void **state)
{
    (void)state;
    check_all_ways(vector_named("a text in two fragments"));
    check_all_ways(vector_named("control frames between fragments"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_give_expected_events),
        cmocka_unit_test(payloads_of_every_size_are_read),
        cmocka_unit_test(too_long_frames_are_refused),
        cmocka_unit_test(control_frames_of_every_size_are_read),
        cmocka_unit_test(split_control_frame_needs_buffer),
        cmocka_unit_test(chunks_refer_to_input),
        cmocka_unit_test(errors_are_reported_early),
        cmocka_unit_test(small_frame_limit_is_enforced),
        cmocka_unit_test(test_pitfall_unmasked_frames_of_clients_are_refused),
        cmocka_unit_test(test_pitfall_continuations_are_part_of_their_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
