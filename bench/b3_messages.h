/* The messages of B3-HttpParser. Each is checked against its stated size; another size ends the
 * program. */
#ifndef UVH_BENCH_B3_MESSAGES_H
#define UVH_BENCH_B3_MESSAGES_H

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10, HEAD_MAX = 16384 /* bytes */ };

struct message {
    char *bytes;
    size_t size; /* of all messages in a batch */
    size_t head_size, body_size, fields;
};

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL)
        errx(1, "out of memory");
    return memory;
}

/* A head, followed by `body_size` digits. Fails unless the result has `size` bytes. */
static struct message make_message(const char *head, size_t body_size, size_t size)
{
    struct message message = {
        .size = strlen(head) + body_size, .head_size = strlen(head), .body_size = body_size};
    if (message.size != size)
        errx(1, "a message has %zu bytes instead of %zu", message.size, size);
    message.bytes = allocate(message.size);
    memcpy(message.bytes, head, message.head_size);
    for (size_t i = 0; i < body_size; i++)
        message.bytes[message.head_size + i] = (char)('0' + (i + 1) % 10);
    for (size_t i = 0; i < message.head_size; i++)
        message.fields += head[i] == '\n';
    message.fields -= 2; /* the start line and the empty line */
    return message;
}

static struct message make_upload(size_t body_size)
{
    char head[128];
    int size = snprintf(head, sizeof(head),
                        "POST /upload HTTP/1.1\r\nHost: example.com\r\nContent-Length: %zu\r\n\r\n",
                        body_size);
    return make_message(head, body_size, (size_t)size + body_size);
}

static struct message make_batch(void)
{
    struct message one = make_message("GET /api/item HTTP/1.1\r\nHost: example.com\r\n\r\n", 0, 45);
    struct message all = one;
    all.size = BATCH * one.size;
    all.bytes = allocate(all.size);
    for (size_t i = 0; i < BATCH; i++)
        memcpy(all.bytes + i * one.size, one.bytes, one.size);
    free(one.bytes);
    return all;
}

#endif
