/* The floor of WebSocket: what the kernel costs, whoever calls it. A raw epoll server that answers
 * the handshake, and from then on reads, unmasks and writes back: one read and one write for each
 * event, no queue, no limit. No WebSocket server on the same system calls can be cheaper. Not a
 * server for anything else: it believes every byte.
 *
 *     floor_websocket [PORT]
 *
 * What is sent to /topic is written to all others that are connected to /topic instead, one write
 * each. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "floor.h"
#include "websocket_key.h"

#define CLIENT_MAX  32768 /* descriptors */
#define BUFFER_SIZE (1 << 18)
#define HEAD_MAX    14 /* of a client's frame */

enum { PING = 9, PONG = 10 };

struct client {
    bool open, topic;
    unsigned char head[HEAD_MAX]; /* of the frame under way */
    unsigned head_size;
    unsigned char mask[4];
    unsigned phase;   /* of the mask */
    uint64_t to_come; /* payload bytes */
};

static struct client clients[CLIENT_MAX];
static int subscribers[CLIENT_MAX], subscriber_count;
/* What is read goes behind room for a head that began in an earlier read. */
static unsigned char buffer[HEAD_MAX + BUFFER_SIZE];

static void drop(int fd)
{
    for (int i = 0; clients[fd].topic && i < subscriber_count; i++)
        if (subscribers[i] == fd)
            subscribers[i] = subscribers[--subscriber_count];
    close(fd);
}

/* As much as the socket takes at once: a client that does not read loses its connection. False when
 * it has. */
static bool put(int fd, const void *bytes, size_t size)
{
    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static unsigned head_need(const struct client *client)
{
    unsigned length = client->head[1] & 127;
    return client->head_size < 2 ? 2 : length < 126 ? 6 : length == 126 ? 8 : HEAD_MAX;
}

static void begin_payload(struct client *client)
{
    unsigned size = client->head_size - 4;
    client->to_come = client->head[1] & 127;
    if (size > 2) {
        client->to_come = 0;
        for (unsigned i = 2; i < size; i++)
            client->to_come = client->to_come << 8 | client->head[i];
    }
    memcpy(client->mask, client->head + size, 4);
    client->phase = 0;
}

static void unmask(struct client *client, unsigned char *bytes, size_t size)
{
    unsigned char key[8];
    uint64_t wide, eight;
    size_t i = 0;
    for (unsigned k = 0; k < 8; k++)
        key[k] = client->mask[(client->phase + k) & 3];
    memcpy(&wide, key, 8);
    for (; i + 8 <= size; i += 8) {
        memcpy(&eight, bytes + i, 8);
        eight ^= wide;
        memcpy(bytes + i, &eight, 8);
    }
    for (; i < size; i++)
        bytes[i] ^= key[i & 7];
    client->phase = (client->phase + size) & 3;
}

/* Turns what was read into what is written, in place: a head loses the mask, of which it takes the
 * room. Returns where that begins; `*last` is behind it. */
static unsigned char *translate(struct client *client, unsigned char *from, unsigned char *end,
                                unsigned char **last)
{
    unsigned char *begin = NULL, *to = NULL; /* what is written so far: from begin up to to */
    while (from < end) {
        if (client->to_come == 0) {
            unsigned need = head_need(client);
            while (client->head_size < need && from < end) {
                client->head[client->head_size++] = *from++;
                need = head_need(client);
            }
            if (client->head_size < need)
                break;
            unsigned size = client->head_size - 4;
            begin_payload(client);
            client->head_size = 0;
            client->head[1] &= 127;
            if ((client->head[0] & 15) == PING)
                client->head[0] ^= PING ^ PONG;
            /* The first head lies right before its payload, later ones behind what is there. */
            if (begin == NULL)
                begin = to = from - size;
            memmove(to, client->head, size);
            to += size;
        }
        size_t here =
            (size_t)(end - from) < client->to_come ? (size_t)(end - from) : client->to_come;
        if (begin == NULL)
            begin = to = from;
        unmask(client, from, here);
        if (to != from)
            memmove(to, from, here);
        to += here;
        from += here;
        client->to_come -= here;
    }
    *last = to;
    return begin;
}

static void publish(int from, const unsigned char *bytes, size_t size)
{
    for (int i = 0; i < subscriber_count; i++)
        if (subscribers[i] != from && !put(subscribers[i], bytes, size))
            shutdown(subscribers[i], SHUT_RDWR);
}

/* The whole request is expected in one read. */
static bool shake_hands(int fd, const char *request)
{
    static const char response[] =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: " WEBSOCKET_ACCEPT "\r\n\r\n";
    if (strstr(request, "\r\n\r\n") == NULL)
        return false;
    clients[fd].open = true;
    clients[fd].topic = strncmp(request, "GET /topic ", 11) == 0;
    if (clients[fd].topic)
        subscribers[subscriber_count++] = fd;
    return put(fd, response, sizeof(response) - 1);
}

static void serve(int epoll, int fd)
{
    (void)epoll;
    struct client *client = &clients[fd];
    unsigned char *read = buffer + HEAD_MAX, *end;
    ssize_t size = recv(fd, read, BUFFER_SIZE - 1, 0);
    if (size <= 0) {
        drop(fd);
        return;
    }
    if (!client->open) {
        read[size] = '\0';
        if (!shake_hands(fd, (char *)read))
            drop(fd);
        return;
    }
    unsigned char *begin = translate(client, read, read + size, &end);
    if (begin == NULL)
        return;
    if (client->topic && (*begin & 15) != PONG)
        publish(fd, begin, (size_t)(end - begin));
    else if (!put(fd, begin, (size_t)(end - begin)))
        drop(fd);
}

static void open_client(int fd)
{
    clients[fd] = (struct client){.open = false};
}

int main(int argc, char **argv)
{
    if (argc > 2 || (argc == 2 && (argv[1][0] < '0' || argv[1][0] > '9'))) {
        fputs("usage: floor_websocket [PORT]\n", stderr);
        return 2;
    }
    run_floor(argc == 2 ? strtoul(argv[1], NULL, 10) : 18083, CLIENT_MAX, open_client, serve);
}
