/* Server-sent events: the bytes of an event, and that a client, written from WHATWG HTML section
 * "Interpreting an event stream", reads the same data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/sse.h>

#define SLICE(text) ((uvhttp_slice_t){text, sizeof(text) - 1})

static void event_is_serialized(void **state)
{
    (void)state;
    static const struct {
        uvhttp_sse_event_t event;
        const char *expected;
    } rows[] = {
        {{.data = SLICE("hello")}, "data: hello\n\n"},
        {{.data = SLICE("")}, "data: \n\n"},
        {{.data = SLICE(" a: b")}, "data:  a: b\n\n"},
        {{.data = SLICE("a\nb\rc\r\nd")}, "data: a\ndata: b\ndata: c\ndata: d\n\n"},
        {{.data = SLICE("a\n")}, "data: a\ndata: \n\n"},
        {{.data = SLICE("\r\n\r\n")}, "data: \ndata: \ndata: \n\n"},
        {{.data = SLICE("\n\r")}, "data: \ndata: \ndata: \n\n"},
        {{.id = SLICE("7"), .event = SLICE("tick"), .data = SLICE("x"), .retry_ms = 2500},
         "id: 7\nevent: tick\nretry: 2500\ndata: x\n\n"},
        {{.id = SLICE("")}, "id: \n\n"},
        {{.retry_ms = UINT32_MAX}, "retry: 4294967295\n\n"},
        {{.comment = SLICE("")}, ": \n\n"},
        {{.comment = SLICE("still\nhere"), .data = SLICE("x")}, ": still\n: here\ndata: x\n\n"},
        {{.retry_ms = 0}, "\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i].expected);
        assert_int_equal(uvhttp_sse_encode(&rows[i].event, NULL, 0), length);
        char *out = malloc(length);
        assert_non_null(out);
        memset(out, '#', length);
        assert_int_equal(uvhttp_sse_encode(&rows[i].event, out, length - 1), length);
        assert_int_equal(out[0], '#');
        assert_int_equal(uvhttp_sse_encode(&rows[i].event, out, length), length);
        assert_memory_equal(out, rows[i].expected, length);
        free(out);
    }
}

static void id_and_event_refuse_line_breaks(void **state)
{
    (void)state;
    static const uvhttp_slice_t bad[] = {SLICE("a\nb"), SLICE("a\r"), SLICE("\0"),
                                         SLICE("\r\ndata: x")};
    char out[64];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uvhttp_sse_event_t event = {.id = bad[i], .data = SLICE("x")};
        assert_int_equal(uvhttp_sse_encode(&event, out, sizeof out), -1);
        event = (uvhttp_sse_event_t){.event = bad[i], .data = SLICE("x")};
        assert_int_equal(uvhttp_sse_encode(&event, out, sizeof out), -1);
    }
}

/* What a client dispatched: number of events, data, and the last id. */
struct client {
    unsigned events;
    char data[64];
    size_t length;
    char last_id[64];
};

static void client_field(struct client *client, const char *line, size_t length, bool *has_data)
{
    const char *colon = memchr(line, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - line) : length;
    const char *value = colon != NULL ? colon + 1 : line + length;
    if (value < line + length && *value == ' ')
        value++;
    size_t size = (size_t)(line + length - value);
    if (name == 4 && memcmp(line, "data", 4) == 0) {
        memcpy(client->data + client->length, value, size);
        client->length += size;
        client->data[client->length++] = '\n';
        *has_data = true;
    } else if (name == 2 && memcmp(line, "id", 2) == 0) {
        snprintf(client->last_id, sizeof client->last_id, "%.*s", (int)size, value);
    }
}

static void client_read(struct client *client, const char *stream, size_t length)
{
    bool has_data = false;
    for (size_t start = 0, i = 0; i < length; i++) {
        if (stream[i] != '\n')
            continue;
        if (i > start) {
            client_field(client, stream + start, i - start, &has_data);
        } else if (has_data) {
            client->length--;
            client->events++;
            has_data = false;
        }
        start = i + 1;
    }
}

/* Every short text of these characters is received as one event, with its line ends as LF. */
static void client_parses_encoded_events(void **state)
{
    (void)state;
    static const char characters[] = "a:\r\n d";
    enum { MOST = 6, CHARACTERS = sizeof characters - 1 };
    for (size_t length = 0; length <= MOST; length++) {
        size_t count = 1;
        for (size_t i = 0; i < length; i++)
            count *= CHARACTERS;
        for (size_t number = 0; number < count; number++) {
            char text[MOST + 1];
            char wanted[MOST + 1];
            char out[128];
            size_t expected_length = 0;
            struct client client = {0};
            for (size_t i = 0, n = number; i < length; i++, n /= CHARACTERS)
                text[i] = characters[n % CHARACTERS];
            for (size_t i = 0; i < length; i++) {
                if (text[i] == '\n' && i > 0 && text[i - 1] == '\r')
                    continue;
                wanted[expected_length++] = text[i] == '\r' ? '\n' : text[i];
            }
            uvhttp_sse_event_t event = {.id = SLICE("9"), .data = {text, length}};
            ptrdiff_t size = uvhttp_sse_encode(&event, out, sizeof out);
            assert_in_range(size, 1, sizeof out);
            client_read(&client, out, (size_t)size);
            assert_int_equal(client.events, 1);
            assert_int_equal(client.length, expected_length);
            assert_memory_equal(client.data, wanted, expected_length);
            assert_string_equal(client.last_id, "9");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_is_serialized),
        cmocka_unit_test(id_and_event_refuse_line_breaks),
        cmocka_unit_test(client_parses_encoded_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
