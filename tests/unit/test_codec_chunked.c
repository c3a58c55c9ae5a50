/* The chunked decoder with random messages in random pieces. The rules themselves are in tests/vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "codec/h1_encode.h"

enum { MOST_CHUNKS = 6, MOST_DATA = 64, ROOM = 2048 };

static uint32_t seed = 7;

static size_t random_below(size_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 12) % limit;
}

struct message {
    char body[MOST_CHUNKS * MOST_DATA];
    size_t body_size;
    char wire[ROOM];
    size_t wire_size;
};

static void put(struct message *message, const char *bytes, size_t size)
{
    memcpy(message->wire + message->wire_size, bytes, size);
    message->wire_size += size;
}

static void make_message(struct message *message)
{
    static const char *const extensions[] = {"", "", "", ";a", ";a=b", ";a=\"b;\\\"c\"", " ; a = b"};
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

static void what_was_encoded_comes_back(void **state)
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
            uvhttp_slice_t piece;
            size_t size = 1 + random_below(message.wire_size - used);
            result = uvhttp_chunked_decode(&decoder, message.wire + used, size, &consumed, &piece);
            assert_true(consumed > 0 && consumed <= size);
            if (piece.length > 0) {
                assert_true(piece.base >= message.wire + used &&
                            piece.base + piece.length == message.wire + used + consumed);
                memcpy(body + body_size, piece.base, piece.length);
                body_size += piece.length;
            }
            used += consumed;
        }
        assert_int_equal(result, UVHTTP_PARSE_DONE);
        assert_int_equal(used, message.wire_size);
        assert_int_equal(body_size, message.body_size);
        assert_memory_equal(body, message.body, body_size);
    }
}

static void the_end_is_final(void **state)
{
    (void)state;
    uvhttp_chunked_t decoder;
    size_t consumed;
    uvhttp_slice_t piece;
    uvhttp_chunked_init(&decoder, 32);
    assert_int_equal(uvhttp_chunked_decode(&decoder, "0\r\nX", 4, &consumed, &piece), UVHTTP_PARSE_DONE);
    assert_int_equal(consumed, 3);
    assert_int_equal(uvhttp_chunked_decode(&decoder, "X", 1, &consumed, &piece), UVHTTP_PARSE_DONE);
    assert_int_equal(consumed, 0);
    uvhttp_chunked_init(&decoder, 32);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uvhttp_chunked_decode(&decoder, "x\r\n", 3, &consumed, &piece), UVHTTP_PARSE_BAD);
        assert_int_equal(consumed, 0);
        assert_int_equal(decoder.reason, UVHTTP_REASON_CHUNK_SIZE);
    }
}

static void no_bytes_are_no_progress(void **state)
{
    (void)state;
    uvhttp_chunked_t decoder;
    size_t consumed = 9;
    uvhttp_slice_t piece;
    uvhttp_chunked_init(&decoder, 32);
    assert_int_equal(uvhttp_chunked_decode(&decoder, NULL, 0, &consumed, &piece), UVHTTP_PARSE_MORE);
    assert_int_equal(consumed, 0);
    assert_int_equal(piece.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_encoded_comes_back),
        cmocka_unit_test(the_end_is_final),
        cmocka_unit_test(no_bytes_are_no_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
