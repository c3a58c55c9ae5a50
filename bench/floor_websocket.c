/* The floor of WebSocket: the cost of the system calls alone. A raw epoll server that responds to
 * the handshake and then reads, unmasks and writes back: one read and one write for each event, no
 * queue, no limit. No WebSocket server with the same system calls can need less. It validates
 * nothing, so do not use it as a server.
 *
 *     floor_websocket [PORT]
 *
 * A message to /topic is written to all other connections of /topic, one write each. */
#include <stdbool.h>
#include <stdint.h>

#include "floor.h"
#include "websocket_wire.h"

#define CLIENT_MAX  32768 /* descriptors */
#define BUFFER_SIZE (1 << 18)
#define HEAD_MAX    14 /* of a client's frame */

enum { PING = 9, PONG = 10 };

struct client {
    bool open, topic;
    unsigned char head[HEAD_MAX]; /* of the current frame */
    unsigned head_size;
    unsigned char mask[4];
    unsigned phase;   /* of the mask */
    uint64_t pending; /* pending payload bytes */
};

static struct client clients[CLIENT_MAX];
static int subscribers[CLIENT_MAX], subscriber_count;
/* Reads go after HEAD_MAX bytes, the space for a head that began in an earlier read. */
static unsigned char buffer[HEAD_MAX + BUFFER_SIZE];

static void close_client(int fd)
{
    for (int i = 0; clients[fd].topic && i < subscriber_count; i++)
        if (subscribers[i] == fd)
            subscribers[i] = subscribers[--subscriber_count];
    close(fd);
}

/* Sends without a queue. Returns false if the socket did not accept all bytes, which closes the
 * connection of a client that does not read. */
static bool send_all(int fd, const void *bytes, size_t size)
{
    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static unsigned needed_head_size(const struct client *client)
{
    return client->head_size < 2 ? 2 : frame_head_size(client->head) + 4;
}

static void begin_payload(struct client *client)
{
    unsigned size = client->head_size - 4;
    client->pending = frame_payload_length(client->head, size);
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

/* Converts received frames to frames to send, in place: each head becomes shorter by its mask.
 * Returns their start, or NULL if there are none; `*last` is their end. */
static unsigned char *convert_frames(struct client *client, unsigned char *from, unsigned char *end,
                                     unsigned char **last)
{
    unsigned char *begin = NULL, *to = NULL; /* converted bytes: from `begin` to `to` */
    while (from < end) {
        if (client->pending == 0) {
            unsigned need = needed_head_size(client);
            while (client->head_size < need && from < end) {
                client->head[client->head_size++] = *from++;
                need = needed_head_size(client);
            }
            if (client->head_size < need)
                break;
            unsigned size = client->head_size - 4;
            begin_payload(client);
            client->head_size = 0;
            client->head[1] &= 127;
            if ((client->head[0] & 15) == PING)
                client->head[0] ^= PING ^ PONG;
            /* The first head goes before its payload, the others after the converted bytes. */
            if (begin == NULL)
                begin = to = from - size;
            memmove(to, client->head, size);
            to += size;
        }
        size_t here =
            (size_t)(end - from) < client->pending ? (size_t)(end - from) : client->pending;
        if (begin == NULL)
            begin = to = from;
        unmask(client, from, here);
        if (to != from)
            memmove(to, from, here);
        to += here;
        from += here;
        client->pending -= here;
    }
    *last = to;
    return begin;
}

static void publish(int from, const unsigned char *bytes, size_t size)
{
    for (int i = 0; i < subscriber_count; i++)
        if (subscribers[i] != from && !send_all(subscribers[i], bytes, size))
            shutdown(subscribers[i], SHUT_RDWR);
}

/* Responds to a handshake, which must arrive in one read. */
static bool accept_handshake(int fd, const char *request)
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
    return send_all(fd, response, sizeof(response) - 1);
}

static void serve(int epoll, int fd)
{
    (void)epoll;
    struct client *client = &clients[fd];
    unsigned char *read = buffer + HEAD_MAX, *end;
    ssize_t size = recv(fd, read, BUFFER_SIZE - 1, 0);
    if (size <= 0) {
        close_client(fd);
        return;
    }
    if (!client->open) {
        read[size] = '\0';
        if (!accept_handshake(fd, (char *)read))
            close_client(fd);
        return;
    }
    unsigned char *begin = convert_frames(client, read, read + size, &end);
    if (begin == NULL)
        return;
    if (client->topic && (*begin & 15) != PONG)
        publish(fd, begin, (size_t)(end - begin));
    else if (!send_all(fd, begin, (size_t)(end - begin)))
        close_client(fd);
}

int main(int argc, char **argv)
{
    if (argc > 2 || (argc == 2 && (argv[1][0] < '0' || argv[1][0] > '9'))) {
        fputs("usage: floor_websocket [PORT]\n", stderr);
        return 2;
    }
    run_floor(argc == 2 ? strtoul(argv[1], NULL, 10) : 18083, clients, sizeof(*clients), CLIENT_MAX,
              serve);
}
