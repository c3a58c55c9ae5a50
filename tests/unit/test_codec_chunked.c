/* The decoder of the chunked transfer coding with random messages in random segments, passing
 * through and in place. The rules are in tests/vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "codec/http1/encode.h"

enum { MOST_CHUNKS = 6, MOST_DATA = 64, BUFFER_SIZE = 2048 };

static uint32_t seed = 7;

static size_t random_below(size_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 12) % limit;
}

struct message {
    char body[MOST_CHUNKS * MOST_DATA];
    size_t body_size;
    char wire[BUFFER_SIZE];
    size_t wire_size;
};

static void put(struct message *message, const char *bytes, size_t size)
{
    memcpy(message->wire + message->wire_size, bytes, size);
    message->wire_size += size;
}

static void make_message(struct message *message)
{
    static const char *const extensions[] = {"",        "", "", ";a", ";a=b", ";a=\"b;\\\"c\"",
                                             " ; a = b"};
    size_t chunks = random_below(MOST_CHUNKS);
    message->body_size = message->wire_size = 0;
    for (size_t i = 0; i <= chunks; i++) {
        size_t size = i == chunks ? 0 : 1 + random_below(MOST_DATA - 1);
        const char *extension = extensions[random_below(7)];
        char line[UVH_H1_ENCODE_CHUNK_LINE_SIZE];
        size_t length = uvh_h1_encode_chunk_line(line, sizeof line, size);
        put(message, line, length - 2);
        put(message, extension, strlen(extension));
        put(message, "\r\n", 2);
        for (size_t k = 0; k < size; k++) {
            char byte = (char)random_below(256);
            put(message, &byte, 1);
            message->body[message->body_size++] = byte;
        }
        if (size > 0)
            put(message, "\r\n", 2);
    }
}

static void random_chunks_are_decoded(void **state)
{
    (void)state;
    static struct message message;
    for (int round = 0; round < 20000; round++) {
        make_message(&message);
        uvhttp_chunked_t decoder;
        uvhttp_chunked_init(&decoder, 32);
        char body[sizeof message.body];
        size_t body_size = 0;
        size_t used = 0;
        uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
        while (result == UVHTTP_PARSE_MORE) {
            size_t consumed;
            uvhttp_slice_t chunk;
            size_t size = 1 + random_below(message.wire_size - used);
            result = uvhttp_chunked_decode(&decoder, message.wire + used, size, &consumed, &chunk);
            assert_true(consumed > 0 && consumed <= size);
            if (chunk.length > 0) {
                assert_true(chunk.base >= message.wire + used &&
                            chunk.base + chunk.length == message.wire + used + consumed);
                memcpy(body + body_size, chunk.base, chunk.length);
                body_size += chunk.length;
            }
            used += consumed;
        }
        assert_int_equal(result, UVHTTP_PARSE_DONE);
        assert_int_equal(used, message.wire_size);
        assert_int_equal(body_size, message.body_size);
        assert_memory_equal(body, message.body, body_size);
    }
}

/* The body of all chunks received at once is contiguous at the start of the received bytes. */
static void in_place_decoding_joins_body(void **state)
{
    (void)state;
    static struct message message;
    for (int round = 0; round < 20000; round++) {
        make_message(&message);
        uvhttp_chunked_t decoder;
        uvhttp_chunked_init(&decoder, 32);
        char body[sizeof message.body];
        size_t body_size = 0;
        size_t used = 0;
        uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
        size_t following = round % 3 == 0 ? 5 : 0; /* the trailer section, for example */
        put(&message, "\r\nabc", following);
        while (result == UVHTTP_PARSE_MORE) {
            size_t size =
                round & 1 ? message.wire_size - used : 1 + random_below(message.wire_size - used);
            char *received = malloc(size);
            assert_non_null(received);
            memcpy(received, message.wire + used, size);
            size_t consumed = SIZE_MAX;
            size_t body_part = SIZE_MAX;
            result =
                uvhttp_chunked_decode_in_place(&decoder, received, size, &consumed, &body_part);
            assert_true(body_part <= consumed && consumed <= size);
            if (result == UVHTTP_PARSE_MORE)
                assert_int_equal(consumed, size);
            else /* bytes following the body are unchanged */
                assert_memory_equal(received + consumed, message.wire + used + consumed,
                                    size - consumed);
            memcpy(body + body_size, received, body_part);
            body_size += body_part;
            used += consumed;
            free(received);
        }
        assert_int_equal(result, UVHTTP_PARSE_DONE);
        assert_int_equal(used, message.wire_size - following);
        assert_int_equal(body_size, message.body_size);
        assert_memory_equal(body, message.body, body_size);
    }
}

/* The data before the error is returned, and the error has its position, although a plain chunk
 * line follows. */
static void in_place_decoding_refuses_invalid_chunks(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t consumed;
        const char *body;
        uvhttp_reason_t reason;
    } rows[] = {{"2\r\nab\r\n1\r\ncX\r\n", 11, "abc", UVHTTP_REASON_CHUNK_END},
                {"1\r\naX\n1\r\nb\r\n", 4, "a", UVHTTP_REASON_CHUNK_END},
                {"1\r\na\n\n1\r\nb\r\n", 4, "a", UVHTTP_REASON_CHUNK_END},
                {"1\r\na\rX1\r\nb\r\n", 5, "a", UVHTTP_REASON_CHUNK_END},
                {"1\r\na\r\r1\r\nb\r\n", 5, "a", UVHTTP_REASON_CHUNK_END},
                {"1\r\na\r\n\r\nb\r\n", 6, "a", UVHTTP_REASON_CHUNK_SIZE},
                {"1\r\na\r\n1\nb\r\n", 7, "a", UVHTTP_REASON_LINE_END},
                {"1\r\na\r\n1\rb\r\n", 8, "a", UVHTTP_REASON_LINE_END},
                {"1\r\na\r\n1X\nb\r\n", 7, "a", UVHTTP_REASON_CHUNK_SIZE},
                {"1\r\na\r\n1;\r\nb\r\n", 8, "a", UVHTTP_REASON_CHUNK_EXTENSION}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uvhttp_chunked_t decoder;
        size_t consumed;
        size_t body;
        char data[32];
        snprintf(data, sizeof data, "%s", rows[i].data);
        uvhttp_chunked_init(&decoder, 32);
        assert_int_equal(
            uvhttp_chunked_decode_in_place(&decoder, data, strlen(data), &consumed, &body),
            UVHTTP_PARSE_BAD);
        assert_int_equal(consumed, rows[i].consumed);
        assert_int_equal(body, strlen(rows[i].body));
        assert_memory_equal(data, rows[i].body, body);
        assert_int_equal(decoder.reason, rows[i].reason);
    }
}

/* Short lines, those of the fast path and those of the state machine: the same result whole and
 * byte by byte, from memory of exactly that size. */
static void whole_and_bytewise_decoding_agree(void **state)
{
    (void)state;
    static const char characters[] = "\r\n01aF;g ";
    enum { CHARACTERS = sizeof characters - 1, MOST = 6 };
    for (size_t length = 1; length <= MOST; length++) {
        size_t count = 1;
        for (size_t i = 0; i < length; i++)
            count *= CHARACTERS;
        for (size_t number = 0; number < count; number++) {
            char text[MOST];
            for (size_t i = 0, n = number; i < length; i++, n /= CHARACTERS)
                text[i] = characters[n % CHARACTERS];
            uvhttp_chunked_t whole;
            uvhttp_chunked_t bytes;
            size_t whole_used;
            size_t whole_body;
            size_t bytes_used = 0;
            size_t bytes_body = 0;
            uvhttp_chunked_init(&whole, 4);
            uvhttp_chunked_init(&bytes, 4);
            char *copy = malloc(length);
            assert_non_null(copy);
            memcpy(copy, text, length);
            uvhttp_parse_result_t expected = UVHTTP_PARSE_MORE;
            for (size_t i = 0; i < length && expected == UVHTTP_PARSE_MORE; i++) {
                size_t used;
                uvhttp_slice_t chunk;
                expected = uvhttp_chunked_decode(&bytes, text + i, 1, &used, &chunk);
                bytes_used += used;
                bytes_body += chunk.length;
            }
            assert_int_equal(
                uvhttp_chunked_decode_in_place(&whole, copy, length, &whole_used, &whole_body),
                expected);
            assert_int_equal(whole_used, bytes_used);
            assert_int_equal(whole_body, bytes_body);
            assert_int_equal(whole.reason, bytes.reason);
            assert_int_equal(whole.state, bytes.state);
            if (expected == UVHTTP_PARSE_MORE)
                assert_int_equal(whole.remaining, bytes.remaining);
            free(copy);
        }
    }
}

static void chunk_size_limit_is_exact(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t remaining;
    } rows[] = {{"ffffffffffffffff\r\n", UINT64_MAX},
                {"0000000000000001\r\n", 1},
                {"00000000000000001\r\n", 0},
                {"10000000000000000\r\n", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uvhttp_chunked_t decoder;
        size_t consumed;
        uvhttp_slice_t chunk;
        bool valid = rows[i].remaining > 0;
        uvhttp_chunked_init(&decoder, 32);
        assert_int_equal(
            uvhttp_chunked_decode(&decoder, rows[i].line, strlen(rows[i].line), &consumed, &chunk),
            valid ? UVHTTP_PARSE_MORE : UVHTTP_PARSE_BAD);
        if (valid)
            assert_true(decoder.remaining == rows[i].remaining);
        else
            assert_int_equal(decoder.reason, UVHTTP_REASON_CHUNK_SIZE);
        assert_int_equal(consumed, valid ? strlen(rows[i].line) : 16);
    }
}

static void decoder_end_is_final(void **state)
{
    (void)state;
    uvhttp_chunked_t decoder;
    size_t consumed;
    uvhttp_slice_t chunk;
    uvhttp_chunked_init(&decoder, 32);
    assert_int_equal(uvhttp_chunked_decode(&decoder, "0\r\nX", 4, &consumed, &chunk),
                     UVHTTP_PARSE_DONE);
    assert_int_equal(consumed, 3);
    assert_int_equal(uvhttp_chunked_decode(&decoder, "X", 1, &consumed, &chunk), UVHTTP_PARSE_DONE);
    assert_int_equal(consumed, 0);
    uvhttp_chunked_init(&decoder, 32);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uvhttp_chunked_decode(&decoder, "x\r\n", 3, &consumed, &chunk),
                         UVHTTP_PARSE_BAD);
        assert_int_equal(consumed, 0);
        assert_int_equal(decoder.reason, UVHTTP_REASON_CHUNK_SIZE);
    }
}

static void empty_input_makes_no_progress(void **state)
{
    (void)state;
    uvhttp_chunked_t decoder;
    size_t consumed = 9;
    uvhttp_slice_t chunk;
    uvhttp_chunked_init(&decoder, 32);
    assert_int_equal(uvhttp_chunked_decode(&decoder, NULL, 0, &consumed, &chunk),
                     UVHTTP_PARSE_MORE);
    assert_int_equal(consumed, 0);
    assert_int_equal(chunk.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_chunks_are_decoded),
        cmocka_unit_test(in_place_decoding_joins_body),
        cmocka_unit_test(in_place_decoding_refuses_invalid_chunks),
        cmocka_unit_test(whole_and_bytewise_decoding_agree),
        cmocka_unit_test(chunk_size_limit_is_exact),
        cmocka_unit_test(decoder_end_is_final),
        cmocka_unit_test(empty_input_makes_no_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
