/* The floor: the cost of the system calls alone. A raw epoll server that only finds the end of each
 * request head and sends a prepared response. No HTTP server with the same system calls can need
 * less, and the benchmarks report figures as multiples of it. It validates nothing, so do not use
 * it as a server.
 *
 *     floor --file PATH | --read PATH | --mix DIRECTORY [--gzip] [--post BYTES] [--close] [PORT]
 *
 * --read sends a file from memory, with one write for all requests of one read. --file sends the
 * head, and the body by sendfile. --mix sends the files 0000.txt, 0001.txt and so on of a
 * directory: the first number in a request selects one. Files up to 8 KB are sent from memory,
 * larger ones by sendfile, one response for each read. --gzip adds a Content-Encoding field. --post
 * discards that many bytes after each head. --close closes each connection after its response. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "arguments.h"
#include "floor.h"

#define CLIENT_MAX 4096 /* descriptors */
#define COPIES     64   /* responses in one write */

#define RESPONSES_MAX 4096
#define MIX_MEMORY    8192 /* larger files of the mix are sent by sendfile */

struct response {
    char *bytes; /* head and body `copies` times, or the head alone */
    size_t head_size, size;
    size_t copies;
    int file; /* of the body; -1: the body follows the head in `bytes` */
};

struct client {
    const struct response *response;
    size_t pending; /* bytes of responses to send */
    size_t skip;    /* pending bytes of a request body */
    int matched;    /* bytes of CR LF CR LF found so far */
};

static struct client clients[CLIENT_MAX];
static struct response responses[RESPONSES_MAX];
static size_t response_count; /* 1, except with --mix */
static size_t post_size;      /* bytes of each request body */
static bool close_after;      /* the first response */
static bool gzip;

/* Counts the complete requests. */
static size_t count_requests(struct client *client, const char *bytes, size_t size)
{
    size_t count = 0;
    int matched = client->matched;
    for (const char *c = bytes, *end = bytes + size; c < end; c++) {
        if (client->skip > 0) {
            size_t here = (size_t)(end - c) < client->skip ? (size_t)(end - c) : client->skip;
            client->skip -= here;
            count += client->skip == 0;
            c += here - 1;
            continue;
        }
        if (matched == 0 && (c = memchr(c, '\r', (size_t)(end - c))) == NULL)
            break;
        matched = *c == "\r\n\r\n"[matched] ? matched + 1 : *c == '\r';
        if (matched == 4) {
            client->skip = post_size;
            count += post_size == 0;
            matched = 0;
        }
    }
    client->matched = matched;
    return count;
}

/* The response to the request in `bytes`, or NULL if its number does not exist. */
static const struct response *choose_response(const char *bytes, size_t size)
{
    size_t number = 0;
    const char *c = bytes, *end = bytes + size;
    if (response_count == 1)
        return responses;
    while (c < end && !isdigit((unsigned char)*c))
        c++;
    for (; c < end && isdigit((unsigned char)*c); c++)
        number = 10 * number + (size_t)(*c - '0');
    return number < response_count ? &responses[number] : NULL;
}

static ssize_t send_some(int fd, const struct response *response, size_t pending)
{
    /* Sent bytes of the current response. */
    size_t sent = (response->size - pending % response->size) % response->size;
    if (response->file < 0) {
        size_t size = response->copies * response->size - sent;
        return send(fd, response->bytes + sent, size < pending ? size : pending, MSG_NOSIGNAL);
    }
    if (sent < response->head_size)
        return send(fd, response->bytes + sent, response->head_size - sent,
                    MSG_NOSIGNAL | MSG_MORE);
    off_t offset = (off_t)(sent - response->head_size);
    return sendfile(fd, response->file, &offset, response->size - sent);
}

/* Reads from a client without pending responses. Returns false to close the connection. */
static bool read_requests(struct client *client, int fd)
{
    static char bytes[65536];
    ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
    if (size <= 0)
        return false;
    client->response = choose_response(bytes, (size_t)size);
    if (client->response == NULL)
        return false;
    client->pending = count_requests(client, bytes, (size_t)size) * client->response->size;
    return true;
}

static void serve(int epoll, int fd)
{
    struct client *client = &clients[fd];
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (client->pending > 0) {
        epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event); /* the socket is writable again */
    } else if (!read_requests(client, fd)) {
        close(fd);
        return;
    }
    while (client->pending > 0) {
        ssize_t size = send_some(fd, client->response, client->pending);
        if (size <= 0) {
            event.events = EPOLLOUT;
            if (size < 0 && errno == EAGAIN)
                epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
            else
                close(fd);
            return;
        }
        client->pending -= (size_t)size;
        if (close_after && client->pending == 0)
            close(fd);
    }
}

/* Adds a response. It takes ownership of `file`, which has its body; with -1 the caller writes the
 * body after the head. */
static struct response *add_response(int file, size_t body_size, size_t copies)
{
    char head[256];
    struct response *response = &responses[response_count++];
    response->head_size =
        (size_t)snprintf(head, sizeof(head),
                         "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                         "Content-Type: text/plain\r\nContent-Length: %zu\r\n%s%s\r\n",
                         body_size, gzip ? "Content-Encoding: gzip\r\n" : "",
                         close_after ? "Connection: close\r\n" : "");
    response->size = response->head_size + body_size;
    response->copies = copies;
    response->file = file;
    response->bytes = malloc(file < 0 ? copies * response->size : response->head_size);
    if (response->bytes == NULL)
        abort();
    memcpy(response->bytes, head, response->head_size);
    return response;
}

/* Adds a file: up to `memory_max` bytes from memory, larger by sendfile. */
static void add_file(const char *path, size_t memory_max, size_t copies)
{
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0)
        err(1, "cannot open %s", path);
    if ((size_t)status.st_size > memory_max) {
        add_response(file, (size_t)status.st_size, 1);
        return;
    }
    struct response *response = add_response(-1, (size_t)status.st_size, copies);
    if (read(file, response->bytes + response->head_size, (size_t)status.st_size) != status.st_size)
        err(1, "cannot read %s", path);
    close(file);
    for (size_t i = 1; i < copies; i++)
        memcpy(response->bytes + i * response->size, response->bytes, response->size);
}

static void add_mix(const char *directory)
{
    char path[4096];
    while (response_count < RESPONSES_MAX) {
        snprintf(path, sizeof(path), "%s/%04zu.txt", directory, response_count);
        if (response_count > 0 && access(path, F_OK) != 0)
            return;
        add_file(path, MIX_MEMORY, 1);
    }
}

static noreturn void fail_usage(void)
{
    fputs("usage: floor --file PATH | --read PATH | --mix DIRECTORY [--gzip] [--post BYTES] "
          "[--close] [PORT]\n",
          stderr);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *file = take_option("--file", &argc, argv);
    const char *memory = take_option("--read", &argc, argv);
    const char *mix = take_option("--mix", &argc, argv);
    const char *post = take_option("--post", &argc, argv);
    unsigned long port = 18080;
    post_size = post != NULL ? strtoul(post, NULL, 10) : 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--gzip") == 0)
            gzip = true;
        else if (strcmp(argv[i], "--close") == 0)
            close_after = true;
        else if (isdigit((unsigned char)argv[i][0]))
            port = strtoul(argv[i], NULL, 10);
        else
            fail_usage();
    }
    if (mix != NULL)
        add_mix(mix);
    else if (file != NULL)
        add_file(file, 0, COPIES);
    else if (memory != NULL)
        add_file(memory, SIZE_MAX, COPIES);
    else
        fail_usage();
    signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
    run_floor(port, clients, sizeof(*clients), CLIENT_MAX, serve);
}
