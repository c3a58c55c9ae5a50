/* Plain sockets and a separate parser, so that the library is not tested with itself. */
#include "support/raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* Sent bytes above this size are forgotten when all are sent. */
enum { FORGET_SIZE = 65536 };

static void set_option(int socket, int level, int option, int value)
{
    assert_int_equal(setsockopt(socket, level, option, &value, sizeof(value)), 0);
}

void raw_client_connect(struct raw_client *client, int port, int receive_buffer)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    *client = (struct raw_client){.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(client->socket >= 0);
    if (receive_buffer > 0) {
        set_option(client->socket, SOL_SOCKET, SO_RCVBUF, receive_buffer);
        /* The segments must be far smaller than the buffer. Otherwise the sender waits forever for
         * a larger window. */
        set_option(client->socket, IPPROTO_TCP, TCP_MAXSEG, 536);
    }
    set_option(client->socket, IPPROTO_TCP, TCP_NODELAY, 1);
    assert_int_equal(connect(client->socket, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(client->socket, F_SETFL, O_NONBLOCK), 0);
}

void raw_client_send(struct raw_client *client, const void *bytes, size_t length)
{
    /* A test that sends for a long time would copy more and more. */
    if (client->out_sent == client->out_length && client->out_length > FORGET_SIZE)
        client->out_sent = client->out_length = 0;
    client->out = realloc(client->out, client->out_length + length + 1);
    assert_non_null(client->out);
    memcpy(client->out + client->out_length, bytes, length);
    client->out_length += length;
}

void raw_client_send_text(struct raw_client *client, const char *text)
{
    raw_client_send(client, text, strlen(text));
}

static bool step_out(struct raw_client *client)
{
    if (client->out_sent == client->out_length)
        return false;
    ssize_t count = send(client->socket, client->out + client->out_sent,
                         client->out_length - client->out_sent, MSG_NOSIGNAL);
    /* the server has closed; received data stays valid */
    if (count < 0 && errno != EAGAIN)
        client->out_sent = client->out_length;
    if (count <= 0)
        return false;
    client->out_sent += (size_t)count;
    return true;
}

bool raw_client_step(struct raw_client *client, size_t max)
{
    if (client->socket < 0)
        return false;
    bool moved = step_out(client);
    if (client->ended || max == 0)
        return moved;
    if (client->capacity - client->received < max + 1) {
        client->capacity = (client->received + max + 1) * 2;
        client->data = realloc(client->data, client->capacity);
        assert_non_null(client->data);
    }
    ssize_t count = recv(client->socket, client->data + client->received, max, 0);
    if (count < 0 && errno == EAGAIN)
        return moved;
    if (count <= 0)
        client->ended = true;
    else
        client->received += (size_t)count;
    client->data[client->received] = '\0';
    return true;
}

void raw_client_end_sending(struct raw_client *client)
{
    shutdown(client->socket, SHUT_WR);
}

void raw_client_close(struct raw_client *client, bool reset)
{
    if (client->socket >= 0) {
        struct linger at_once = {1, 0};
        if (reset)
            setsockopt(client->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(client->socket);
    }
    free(client->data);
    free(client->out);
    free(client->joined);
    *client = (struct raw_client){.socket = -1};
}

/* Copies the data of the chunks at `from` to `to`, which has space for all of it. Returns the size
 * of the chunked body, or 0 when it is incomplete. */
static size_t join_chunks(const char *from, size_t left, char *to, size_t *length)
{
    const char *begin = from, *end = from + left, *line_end;
    *length = 0;
    while ((line_end = memmem(from, (size_t)(end - from), "\r\n", 2)) != NULL) {
        size_t size = strtoul(from, NULL, 16);
        from = size > 0 ? line_end + 2 : line_end;
        if (size == 0) /* last chunk: trailers or an empty line follow */
            break;
        if ((size_t)(end - from) < size + 2)
            return 0;
        assert_memory_equal(from + size, "\r\n", 2);
        memcpy(to + *length, from, size);
        *length += size;
        from += size + 2;
    }
    const char *empty = line_end == NULL ? NULL : memmem(from, (size_t)(end - from), "\r\n\r\n", 4);
    return empty == NULL ? 0 : (size_t)(empty + 4 - begin);
}

bool raw_client_response(struct raw_client *client, size_t *offset, bool bodiless,
                         struct raw_response *response)
{
    size_t left = client->received - *offset;
    if (left == 0)
        return false;
    const char *begin = client->data + *offset;
    const char *end = memmem(begin, left, "\r\n\r\n", 4);
    if (end == NULL)
        return false;
    *response = (struct raw_response){.head = begin, .head_length = (size_t)(end + 4 - begin)};
    if (left < 13 || memcmp(begin, "HTTP/1.1 ", 9) != 0 || begin[12] != ' ')
        fail_msg("no status line: %.*s", (int)(left < 60 ? left : 60), begin);
    response->status = (begin[9] - '0') * 100 + (begin[10] - '0') * 10 + begin[11] - '0';
    response->body = end + 4;
    char length[32] = "0";
    bool has_length = raw_response_field(response, "Content-Length", length, sizeof(length));
    if (response->status < 200 || response->status == 204 || response->status == 304)
        bodiless = true;
    char coding[32];
    if (!bodiless && raw_response_field(response, "Transfer-Encoding", coding, sizeof(coding))) {
        assert_string_equal(coding, "chunked");
        assert_false(has_length);
        client->joined = realloc(client->joined, left + 1);
        assert_non_null(client->joined);
        size_t taken = join_chunks(response->body, left - response->head_length, client->joined,
                                   &response->body_length);
        response->body = client->joined;
        client->joined[response->body_length] = '\0';
        *offset += taken == 0 ? 0 : response->head_length + taken;
        return taken > 0;
    }
    assert_true(bodiless || has_length);
    if (!bodiless)
        response->body_length = strtoul(length, NULL, 10);
    if (left - response->head_length < response->body_length)
        return false;
    *offset += response->head_length + response->body_length;
    return true;
}

bool raw_response_field(const struct raw_response *response, const char *name, char *value,
                        size_t size)
{
    size_t name_length = strlen(name);
    const char *line = response->head;
    const char *end = response->head + response->head_length;
    while ((line = memmem(line, (size_t)(end - line), "\r\n", 2)) != NULL && line + 4 < end) {
        line += 2;
        if (strncasecmp(line, name, name_length) != 0 || line[name_length] != ':')
            continue;
        line += name_length + 1;
        line += strspn(line, " ");
        snprintf(value, size, "%.*s", (int)strcspn(line, "\r"), line);
        return true;
    }
    return false;
}
