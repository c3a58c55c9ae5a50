/* The load generator of `./dev bench ws`: many connections, each with one message in flight, on one
 * thread with epoll. It compares every received byte with the expected one.
 *
 *     websocket_load PORT PATH MODE CONNECTIONS SIZE PATIENCE [deflate]
 *
 * echo       each connection sends a message, waits for the echo, and sends the next one.
 * broadcast  CONNECTIONS subscribers, and one more connection, which sends the next message after
 *            all subscribers have received the last one. Received messages are counted.
 * idle       each connection has one message echoed, and then stays idle.
 * deflate    offers permessage-deflate as browsers do, sends compressed text, and accepts only
 *            compressed responses.
 *
 * Prints a line after all connections are open and have had one response. Then it reads commands
 * from standard input: `run SECONDS` prints messages, bytes received, errors and percentiles of the
 * latency as JSON, and `open` prints the number of open connections. It ends with its input, or
 * after ten minutes without a command.
 *
 * A message without a response for PATIENCE milliseconds is missing. A run waits that long after
 * its end for messages in flight. Called by tools/benchlib/websocket_load.py. */
#include <sys/resource.h>
#include <sys/time.h>

#include "load.h"
#include "websocket_frames.h"
#include "websocket_wire.h"

#define GROUP        100 /* connections opened at once; less than any listen backlog */
#define ALARM        600
#define WAIT_SECONDS 10 /* for a handshake */

enum mode { ECHO, BROADCAST, IDLE };

struct client {
    int fd; /* -1: closed */
    bool in_flight, sender, fin, message_compressed;
    unsigned char head[10]; /* of the current frame */
    unsigned head_size, opcode;
    uint64_t pending;
    unsigned char control[125];
    size_t control_size;
    const struct sample *sample; /* the expected message */
    size_t matched;
    unsigned number; /* of messages sent */
    uint64_t sent_at;
    bool keeps_context; /* of the server's compressor */
    z_stream *inflater;
};

static struct {
    const char *path;
    int port;
    enum mode mode;
    size_t connections, size;
    bool deflate;
    uint64_t patience;
} options;

/* Of one run. An error of a connection closes it. */
#define COUNTERS(X) \
    X(messages) X(published) X(received) X(wrong) X(missing) X(closed) X(protocol) X(uncompressed)

static struct {
    COUNTERS(COUNTER)
} result;

static struct sample *samples;
static size_t sample_count;
static struct client *clients;
static size_t client_count, in_flight, open_count;
static int epoll = -1;
static unsigned char input[1 << 18];
static char last_fault[160];
static uint64_t end_at; /* no message is sent after this time */

static void fail(size_t index, const char *what)
{
    fprintf(stderr, "websocket_load: connection %zu: %s%s%s\n", index + 1, what, errno ? ": " : "",
            errno ? strerror(errno) : "");
    exit(1);
}

/* Closes a connection after an error. Returns false. */
static bool fail_connection(struct client *client, uint64_t *count, const char *reason)
{
    ++*count;
    snprintf(last_fault, sizeof(last_fault), "connection %td: %s", client - clients + 1, reason);
    if (client->in_flight)
        in_flight--;
    client->in_flight = false;
    close(client->fd);
    client->fd = -1;
    open_count--;
    return false;
}

static void expect(struct client *client, const struct sample *sample, uint64_t at)
{
    client->sample = sample;
    client->matched = 0;
    client->sent_at = at;
    client->in_flight = true;
    in_flight++;
}

static void send_message(struct client *client, uint64_t at)
{
    const struct sample *sample = &samples[++client->number % sample_count];
    if (client->sender) {
        result.published++;
        for (size_t i = 0; i < client_count; i++)
            if (!clients[i].sender && clients[i].fd >= 0)
                expect(&clients[i], sample, at);
    } else {
        expect(client, sample, at);
    }
    if (send(client->fd, sample->frame, sample->frame_size, MSG_NOSIGNAL) !=
        (ssize_t)sample->frame_size)
        fail_connection(client, &result.closed, "the connection was closed during a write");
}

/* A complete and correct message was received. */
static void complete(struct client *client)
{
    uint64_t now = now_ns();
    if (now - client->sent_at > options.patience) {
        fail_connection(client, &result.missing, "a message came too late");
        return;
    }
    record_latency(now - client->sent_at);
    result.messages++;
    client->in_flight = false;
    in_flight--;
    if (now >= end_at)
        return;
    if (options.mode == ECHO)
        send_message(client, now);
    else if (options.mode == BROADCAST && in_flight == 0 && clients[0].fd >= 0)
        send_message(&clients[0], now);
}

/* ---- Receiving ---- */

static bool match(struct client *client, const unsigned char *bytes, size_t size)
{
    const struct sample *sample = client->sample;
    if (size > sample->size - client->matched ||
        memcmp(sample->payload + client->matched, bytes, size) != 0)
        return fail_connection(client, &result.wrong,
                               size > sample->size - client->matched
                                   ? "more bytes than expected came back"
                                   : "other bytes came back");
    client->matched += size;
    return true;
}

static bool decompress(struct client *client, const unsigned char *bytes, size_t size)
{
    static unsigned char out[65536];
    if (client->inflater == NULL) {
        client->inflater = check_memory(calloc(1, sizeof(z_stream)));
        if (inflateInit2(client->inflater, -15) != Z_OK)
            abort();
    }
    z_stream *stream = client->inflater;
    stream->next_in = (unsigned char *)bytes;
    stream->avail_in = (unsigned)size;
    do {
        stream->next_out = out;
        stream->avail_out = sizeof(out);
        int code = inflate(stream, Z_SYNC_FLUSH);
        if (code != Z_OK && code != Z_BUF_ERROR)
            return fail_connection(client, &result.wrong, "the response cannot be decompressed");
        if (!match(client, out, sizeof(out) - stream->avail_out))
            return false;
    } while (stream->avail_in > 0 || stream->avail_out == 0);
    return true;
}

static bool end_decompress(struct client *client)
{
    static const unsigned char empty_block[4] = {0, 0, 0xff, 0xff};
    if (!decompress(client, empty_block, sizeof(empty_block)))
        return false;
    if (!client->keeps_context)
        inflateReset(client->inflater);
    if (options.mode == IDLE) { /* thousands of windows would take much memory here */
        inflateEnd(client->inflater);
        free(client->inflater);
        client->inflater = NULL;
    }
    return true;
}

static bool receive_payload(struct client *client, const unsigned char *bytes, size_t size)
{
    if (client->opcode >= CLOSE) {
        memcpy(client->control + client->control_size, bytes, size);
        client->control_size += size;
        return true;
    }
    return client->message_compressed ? decompress(client, bytes, size)
                                      : match(client, bytes, size);
}

static bool send_pong(struct client *client)
{
    unsigned char frame[14 + sizeof(client->control)];
    size_t size = write_frame(frame, FIN | PONG, client->control, client->control_size, 0x12345678);
    return send(client->fd, frame, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Processes the end of a frame. */
static bool end_frame(struct client *client)
{
    client->head_size = 0;
    if (client->opcode == CLOSE)
        return fail_connection(client, &result.closed, "the server sent a close frame");
    if (client->opcode == PING && !send_pong(client))
        return fail_connection(client, &result.closed, "a pong could not be sent");
    if (client->opcode >= CLOSE || !client->fin)
        return true;
    if (client->message_compressed && !end_decompress(client))
        return false;
    if (client->matched != client->sample->size)
        return fail_connection(client, &result.wrong, "fewer bytes than expected came back");
    complete(client);
    return client->fd >= 0;
}

/* Checks the complete head of a frame. */
static bool begin_frame(struct client *client)
{
    unsigned first = client->head[0], length = client->head[1];
    bool is_new = (first & 15) == TEXT || (first & 15) == BINARY, control = (first & 15) >= CLOSE;
    client->opcode = first & 15;
    client->control_size = 0;
    client->pending = frame_payload_length(client->head, client->head_size);
    const char *reason = NULL;
    if (!is_new && !control && client->opcode != CONTINUATION)
        reason = "a frame of an unknown kind";
    else if ((first & 0x30) != 0 || ((first & COMPRESSED) != 0 && (!options.deflate || !is_new)))
        reason = "a frame with reserved bits";
    else if (length > 127)
        reason = "a masked frame";
    else if (control && (client->pending > 125 || (first & FIN) == 0))
        reason = "a control frame that is long or in parts";
    if (reason != NULL)
        return fail_connection(client, &result.protocol, reason);
    if (control)
        return true;
    client->fin = (first & FIN) != 0;
    if (!client->in_flight)
        return fail_connection(client, &result.wrong, "a message came that was not expected");
    if (is_new) {
        client->message_compressed = (first & COMPRESSED) != 0;
        if (client->matched > 0 || client->opcode != (options.deflate ? TEXT : BINARY))
            return fail_connection(client, &result.wrong, "a message of another kind came back");
        if (options.deflate && !client->message_compressed)
            return fail_connection(client, &result.uncompressed,
                                   "a message came back that is not compressed");
    }
    return true;
}

static unsigned needed_head_size(const struct client *client)
{
    return client->head_size < 2 ? 2 : frame_head_size(client->head);
}

static void receive(struct client *client, const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;
    while (bytes < end) {
        if (client->head_size < needed_head_size(client)) {
            client->head[client->head_size++] = *bytes++;
            if (client->head_size < needed_head_size(client))
                continue;
            if (!begin_frame(client))
                return;
        }
        size_t here =
            (size_t)(end - bytes) < client->pending ? (size_t)(end - bytes) : client->pending;
        if (here > 0 && !receive_payload(client, bytes, here))
            return;
        bytes += here;
        client->pending -= here;
        if (client->pending == 0 && !end_frame(client))
            return;
    }
}

/* ---- Opening ---- */

static void start_connecting(size_t index)
{
    struct client *client = &clients[index];
    struct timeval limit = {.tv_sec = WAIT_SECONDS};
    char request[1024];
    client->fd = connect_to(options.port);
    if (client->fd < 0)
        fail(index, "cannot connect");
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    int size = snprintf(
        request, sizeof(request),
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " WEBSOCKET_KEY "\r\n%s\r\n",
        options.path, options.port,
        options.deflate ? "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
                        : "");
    if (send(client->fd, request, (size_t)size, MSG_NOSIGNAL) != size)
        fail(index, "cannot send the handshake");
    open_count++;
}

/* Checks the response to the handshake, which no other bytes may follow. */
static void finish_handshake(size_t index)
{
    struct client *client = &clients[index];
    char response[4096];
    size_t got = 0;
    response[0] = '\0';
    errno = 0;
    while (strstr(response, "\r\n\r\n") == NULL) {
        ssize_t size = got < sizeof(response) - 1
                           ? recv(client->fd, response + got, sizeof(response) - 1 - got, 0)
                           : 0;
        if (size <= 0)
            fail(index, "there is no response to the handshake");
        got += (size_t)size;
        response[got] = '\0';
    }
    errno = 0;
    if (strncmp(response, "HTTP/1.1 101 ", 13) != 0)
        fail(index, "the response to the handshake is not 101");
    if (strcasestr(response, "\r\nSec-WebSocket-Accept: " WEBSOCKET_ACCEPT "\r\n") == NULL ||
        strstr(response, WEBSOCKET_ACCEPT) == NULL)
        fail(index, "the response to the handshake has another Sec-WebSocket-Accept");
    if (strstr(response, "\r\n\r\n")[4] != '\0')
        fail(index, "bytes follow the response to the handshake");
    const char *agreed = strcasestr(response, "\r\nSec-WebSocket-Extensions:");
    if (options.deflate != (agreed != NULL && strcasestr(agreed, "permessage-deflate") != NULL))
        fail(index, options.deflate ? "the server did not agree to compression"
                                    : "the server agreed to what was not offered");
    client->keeps_context =
        agreed != NULL && strcasestr(agreed, "server_no_context_takeover") == NULL;
}

/* Waits for the message in flight of one connection, with blocking reads. */
static void wait_for_response(size_t index)
{
    struct client *client = &clients[index];
    while (client->in_flight) {
        errno = 0;
        ssize_t size = recv(client->fd, input, sizeof(input), 0);
        if (size <= 0)
            fail(index, "there is no response to the first message");
        errno = 0;
        receive(client, input, (size_t)size);
        if (client->fd < 0) {
            fprintf(stderr, "websocket_load: %s\n", last_fault);
            exit(1);
        }
    }
}

/* Sends one message on each connection, or a ping to each subscriber. The response shows that the
 * server has completed the handshake and its callbacks. */
static void exchange_first(size_t first, size_t count)
{
    static const unsigned char word[4] = "ping";
    unsigned char frame[14 + sizeof(word)];
    size_t size = write_frame(frame, FIN | PING, word, sizeof(word), 0x87654321);
    for (size_t i = first; i < first + count; i++) {
        if (options.mode != BROADCAST)
            send_message(&clients[i], now_ns());
        else if (send(clients[i].fd, frame, size, MSG_NOSIGNAL) != (ssize_t)size)
            fail(i, "cannot send");
    }
    for (size_t i = first; i < first + count; i++) {
        if (options.mode != BROADCAST)
            wait_for_response(i);
        else if (recv(clients[i].fd, input, 2 + sizeof(word), MSG_WAITALL) != 2 + sizeof(word) ||
                 input[0] != (FIN | PONG) || memcmp(input + 2, word, sizeof(word)) != 0)
            fail(i, "a ping had no pong");
    }
}

static void open_all(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    client_count = options.connections + (options.mode == BROADCAST);
    clients = check_memory(calloc(client_count, sizeof(*clients)));
    clients[0].sender = options.mode == BROADCAST;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t first = 0; first < client_count; first += GROUP) {
        size_t count = client_count - first < GROUP ? client_count - first : GROUP;
        for (size_t i = first; i < first + count; i++)
            start_connecting(i);
        for (size_t i = first; i < first + count; i++)
            finish_handshake(i);
        exchange_first(first, count);
        for (size_t i = first; i < first + count; i++)
            if (!add_events(epoll, clients[i].fd, EPOLLIN, &clients[i]))
                fail(i, "epoll");
    }
}

/* ---- Running ---- */

static void serve(struct client *client)
{
    if (client->fd < 0)
        return;
    ssize_t size = recv(client->fd, input, sizeof(input), MSG_DONTWAIT);
    if (size > 0) {
        result.received += (uint64_t)size;
        receive(client, input, (size_t)size);
    } else if (size == 0 || errno != EAGAIN) {
        fail_connection(client, &result.closed, "the server closed the connection");
    }
}

static void run(double seconds)
{
    static struct epoll_event events[1024];
    memset(&result, 0, sizeof(result));
    memset(histogram, 0, sizeof(histogram));
    latency_max = 0;
    uint64_t begin = now_ns(), now = begin;
    end_at = begin + (uint64_t)(seconds * (double)NS);
    for (size_t i = 0; i < client_count && options.mode == ECHO; i++)
        if (clients[i].fd >= 0)
            send_message(&clients[i], now_ns());
    if (options.mode == BROADCAST && clients[0].fd >= 0)
        send_message(&clients[0], begin);
    /* An error may have left the sender idle: then no message is in flight, and the run ends. */
    while (in_flight > 0 && open_count > 0 && now < end_at + options.patience) {
        int count = epoll_wait(epoll, events, 1024, 100);
        for (int i = 0; i < count; i++)
            serve(events[i].data.ptr);
        now = now_ns();
    }
    result.missing += in_flight;
    if (in_flight > 0)
        snprintf(last_fault, sizeof(last_fault), "%zu messages had no response", in_flight);
    for (size_t i = 0; i < client_count; i++)
        clients[i].in_flight = false;
    in_flight = 0;
    printf("{\"fault\": \"%s\", ", last_fault);
    COUNTERS(PRINT_COUNTER)
    print_latency(now - begin, result.messages);
}

static size_t count_open(void)
{
    size_t open = 0;
    for (size_t i = 0; i < client_count; i++) {
        char byte;
        open += clients[i].fd >= 0 && recv(clients[i].fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0 &&
                errno == EAGAIN;
    }
    return open;
}

static void read_commands(void)
{
    char line[64];
    printf("{\"ready\": true, \"connections\": %zu, \"frame_size\": %zu, \"fault\": \"\"}\n",
           client_count, samples[0].frame_size);
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        alarm(ALARM);
        if (strncmp(line, "run ", 4) == 0) {
            run(strtod(line + 4, NULL));
        } else {
            printf("{\"open\": %zu}\n", count_open());
            fflush(stdout);
        }
    }
}

static void make_samples(void)
{
    sample_count = SAMPLES_MIN;
    if (options.deflate)
        sample_count += DISTINCT_BYTES / options.size;
    samples = check_memory(calloc(sample_count, sizeof(*samples)));
    for (unsigned i = 0; i < sample_count; i++)
        make_sample(&samples[i], i, options.size, options.deflate);
}

static bool read_arguments(int argc, char **argv)
{
    static const char *const modes[] = {"echo", "broadcast", "idle"};
    options.deflate = argc == 8 && strcmp(argv[7], "deflate") == 0;
    if (argc != 7 + options.deflate)
        return false;
    options.port = (int)strtol(argv[1], NULL, 10);
    options.path = argv[2];
    while (options.mode <= IDLE && strcmp(argv[3], modes[options.mode]) != 0)
        options.mode++;
    options.connections = strtoul(argv[4], NULL, 10);
    options.size = strtoul(argv[5], NULL, 10);
    options.patience = strtoul(argv[6], NULL, 10) * (NS / 1000);
    return options.mode <= IDLE && options.connections > 0 && options.size > 0;
}

int main(int argc, char **argv)
{
    if (!read_arguments(argc, argv)) {
        fputs("usage: websocket_load PORT PATH echo|broadcast|idle CONNECTIONS SIZE PATIENCE "
              "[deflate]\n",
              stderr);
        return 2;
    }
    alarm(ALARM);
    make_samples();
    open_all();
    read_commands();
    return 0;
}
