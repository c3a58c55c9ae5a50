/* The floor: what the kernel costs, whoever calls it. A raw epoll server that understands nothing
 * but the end of a request head and writes an answer that was ready before, so no HTTP server on
 * the same system calls can be cheaper. The benchmarks give their figures as multiples of it. Not a
 * server for anything else: it believes every byte.
 *
 *     floor --file PATH | --read PATH | --mix DIRECTORY [--gzip] [--post BYTES] [--close] [PORT]
 *
 * --read responds with a file from memory, to all requests of one read with one write; --file by
 * the header and sendfile. --mix: the files 0000.txt, 0001.txt and so on of a directory, the first
 * number in a request says which one; up to 8 KB from memory, longer ones by sendfile. One request
 * is answered for each read. --gzip: the answer is told to be gzip. --post: that many bytes follow
 * each head and are thrown away. --close: a connection ends after its answer. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "floor.h"

#define CLIENT_MAX 4096 /* descriptors */
#define COPIES     64   /* answers that leave in one write */

#define ANSWERS_MAX 4096
#define MIX_MEMORY  8192 /* larger files of the mix by sendfile */

struct answer {
    char *bytes; /* head and body `copies` times, or the head alone */
    size_t head_size, size;
    size_t copies;
    int file; /* of the body; -1: it stands behind the head */
};

struct client {
    const struct answer *answer;
    size_t owed; /* bytes still to be sent */
    size_t skip; /* bytes of a request's body still to come */
    int matched; /* bytes of CR LF CR LF seen so far */
};

static struct client clients[CLIENT_MAX];
static struct answer answers[ANSWERS_MAX];
static size_t answer_count; /* 1 but for --mix */
static size_t post_size;    /* bytes of each request's body */
static bool close_after;    /* the first answer */
static bool gzip;

/* Counts the requests that are complete. */
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

/* The answer to what begins with `bytes`; NULL when there is none of its number. */
static const struct answer *choose(const char *bytes, size_t size)
{
    size_t number = 0;
    const char *c = bytes, *end = bytes + size;
    if (answer_count == 1)
        return answers;
    while (c < end && !isdigit((unsigned char)*c))
        c++;
    for (; c < end && isdigit((unsigned char)*c); c++)
        number = 10 * number + (size_t)(*c - '0');
    return number < answer_count ? &answers[number] : NULL;
}

static ssize_t send_some(int fd, const struct answer *answer, size_t owed)
{
    size_t sent = (answer->size - owed % answer->size) % answer->size; /* of the answer under way */
    if (answer->file < 0) {
        size_t size = answer->copies * answer->size - sent;
        return send(fd, answer->bytes + sent, size < owed ? size : owed, MSG_NOSIGNAL);
    }
    if (sent < answer->head_size)
        return send(fd, answer->bytes + sent, answer->head_size - sent, MSG_NOSIGNAL | MSG_MORE);
    off_t offset = (off_t)(sent - answer->head_size);
    return sendfile(fd, answer->file, &offset, answer->size - sent);
}

/* Reads from a client that is owed nothing; false when the connection is to be closed. */
static bool read_requests(struct client *client, int fd)
{
    static char bytes[65536];
    ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
    if (size <= 0)
        return false;
    client->answer = choose(bytes, (size_t)size);
    if (client->answer == NULL)
        return false;
    client->owed = count_requests(client, bytes, (size_t)size) * client->answer->size;
    return true;
}

static void serve(int epoll, int fd)
{
    struct client *client = &clients[fd];
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (client->owed > 0) {
        epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event); /* it waited for room */
    } else if (!read_requests(client, fd)) {
        close(fd);
        return;
    }
    while (client->owed > 0) {
        ssize_t size = send_some(fd, client->answer, client->owed);
        if (size <= 0) {
            event.events = EPOLLOUT;
            if (size < 0 && errno == EAGAIN)
                epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
            else
                close(fd);
            return;
        }
        client->owed -= (size_t)size;
        if (close_after && client->owed == 0)
            close(fd);
    }
}

static void open_client(int fd)
{
    clients[fd] = (struct client){.owed = 0};
}

static void fail(const char *what)
{
    fprintf(stderr, "floor: cannot open %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Adds the answer whose body is sent from `file`, which is its own from then on, or stands in
 * memory if there is none: the caller writes it there. */
static struct answer *add_answer(int file, size_t body_size, size_t copies)
{
    char head[256];
    struct answer *answer = &answers[answer_count++];
    answer->head_size =
        (size_t)snprintf(head, sizeof(head),
                         "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                         "Content-Type: text/plain\r\nContent-Length: %zu\r\n%s%s\r\n",
                         body_size, gzip ? "Content-Encoding: gzip\r\n" : "",
                         close_after ? "Connection: close\r\n" : "");
    answer->size = answer->head_size + body_size;
    answer->copies = copies;
    answer->file = file;
    answer->bytes = malloc(file < 0 ? copies * answer->size : answer->head_size);
    if (answer->bytes == NULL)
        abort();
    memcpy(answer->bytes, head, answer->head_size);
    return answer;
}

/* Makes copies of the first one. */
static void repeat(struct answer *answer)
{
    for (size_t i = 1; i < answer->copies; i++)
        memcpy(answer->bytes + i * answer->size, answer->bytes, answer->size);
}

/* A file: from memory up to `memory_max` bytes, else by sendfile. */
static void add_file(const char *path, size_t memory_max, size_t copies)
{
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0)
        fail(path);
    if ((size_t)status.st_size > memory_max) {
        add_answer(file, (size_t)status.st_size, 1);
        return;
    }
    struct answer *answer = add_answer(-1, (size_t)status.st_size, copies);
    if (read(file, answer->bytes + answer->head_size, (size_t)status.st_size) != status.st_size)
        fail(path);
    close(file);
    repeat(answer);
}

static void add_mix(const char *directory)
{
    char path[4096];
    while (answer_count < ANSWERS_MAX) {
        snprintf(path, sizeof(path), "%s/%04zu.txt", directory, answer_count);
        if (answer_count > 0 && access(path, F_OK) != 0)
            return;
        add_file(path, MIX_MEMORY, 1);
    }
}

static size_t number(const char *text)
{
    return strtoul(text, NULL, 10);
}

static noreturn void usage(void)
{
    fputs("usage: floor --file PATH | --read PATH | --mix DIRECTORY [--gzip] [--post BYTES] "
          "[--close] [PORT]\n",
          stderr);
    exit(2);
}

/* Returns the port, with the answers made. */
static unsigned long read_options(int argc, char **argv)
{
    static const struct option options[] = {{"file", required_argument, NULL, 'f'},
                                            {"read", required_argument, NULL, 'r'},
                                            {"mix", required_argument, NULL, 'x'},
                                            {"post", required_argument, NULL, 'p'},
                                            {"gzip", no_argument, NULL, 'z'},
                                            {"close", no_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    const char *what = NULL;
    int kind = 0, option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            post_size = number(optarg);
            break;
        case 'z':
            gzip = true;
            break;
        case 'c':
            close_after = true;
            break;
        case '?':
            usage();
        default:
            kind = option;
            what = optarg;
        }
    }
    if (kind == 0)
        usage();
    if (kind == 'x')
        add_mix(what);
    else
        add_file(what, kind == 'r' ? SIZE_MAX : 0, COPIES);
    return optind < argc ? number(argv[optind]) : 18080;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* sendfile knows no MSG_NOSIGNAL */
    run_floor(read_options(argc, argv), CLIENT_MAX, open_client, serve);
}
