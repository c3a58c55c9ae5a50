/* The floor: what the kernel costs, whoever calls it. A raw epoll server that understands nothing but the end of a request
 * head and writes one constant answer, so no HTTP server on the same system calls can be cheaper. The benchmarks give
 * their figures as multiples of it. Not a server for anything else: it believes every byte.
 *
 *     floor [--body BYTES | --text TEXT | --file PATH | --memfd BYTES] [--post BYTES] [--close] [PORT]
 *
 * --body (default 13) and --text answer from memory, all requests of one read with one write; --file by the header and sendfile, --memfd
 * the same from memory that is made a file, and sealed.
 * --post: that many bytes follow each head and are thrown away. --close: a connection ends after its answer. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLIENT_MAX 4096 /* descriptors */
#define COPIES     64   /* answers that leave in one write */

struct client {
    size_t owed; /* bytes still to be sent */
    size_t skip; /* bytes of a request's body still to come */
    int matched; /* bytes of CR LF CR LF seen so far */
};

static struct client clients[CLIENT_MAX];
static char *answers; /* COPIES times head and body; with --file the head alone, once */
static size_t head_size, answer_size;
static size_t post_size; /* bytes of each request's body */
static bool close_after; /* the first answer */
static int file = -1;

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

static ssize_t send_some(int fd, size_t owed)
{
    size_t sent = (answer_size - owed % answer_size) % answer_size; /* of the answer under way */
    if (file < 0) {
        size_t size = COPIES * answer_size - sent;
        return send(fd, answers + sent, size < owed ? size : owed, MSG_NOSIGNAL);
    }
    if (sent < head_size)
        return send(fd, answers + sent, head_size - sent, MSG_NOSIGNAL | MSG_MORE);
    off_t offset = (off_t)(sent - head_size);
    return sendfile(fd, file, &offset, answer_size - sent);
}

static void serve(int epoll, int fd)
{
    static char bytes[65536];
    struct client *client = &clients[fd];
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (client->owed > 0) {
        epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event); /* it waited for room */
    } else {
        ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
        if (size <= 0) {
            close(fd);
            return;
        }
        client->owed = count_requests(client, bytes, (size_t)size) * answer_size;
    }
    while (client->owed > 0) {
        ssize_t size = send_some(fd, client->owed);
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

static void accept_all(int epoll, int listener)
{
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (fd >= CLIENT_MAX || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        clients[fd] = (struct client){.owed = 0};
    }
}

/* The answer: `text` again and again, up to `body_size` bytes. */
static void prepare(const char *text, size_t body_size)
{
    char head[256];
    head_size = (size_t)snprintf(head, sizeof(head),
                                 "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                                 "Content-Type: text/plain\r\nContent-Length: %zu\r\n%s\r\n",
                                 body_size, close_after ? "Connection: close\r\n" : "");
    answer_size = head_size + body_size;
    answers = malloc(file < 0 ? COPIES * answer_size : head_size);
    if (answers == NULL)
        abort();
    memcpy(answers, head, head_size);
    if (file >= 0)
        return;
    size_t length = strlen(text);
    for (size_t i = 0; i < body_size; i++)
        answers[head_size + i] = text[i % length];
    for (size_t i = 1; i < COPIES; i++)
        memcpy(answers + i * answer_size, answers, answer_size);
}

static int listen_on(unsigned long port, struct sockaddr_in *address)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    socklen_t size = sizeof(*address);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (struct sockaddr *)address, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, (struct sockaddr *)address, &size) != 0) {
        perror("floor: cannot listen");
        exit(1);
    }
    return listener;
}

static size_t open_file(const char *path)
{
    struct stat status;
    file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0) {
        perror("floor: cannot open the file");
        exit(1);
    }
    return (size_t)status.st_size;
}

/* What --body would send. */
static size_t make_file(size_t size, const char *text)
{
    size_t length = strlen(text);
    FILE *stream;
    file = memfd_create("floor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    stream = file < 0 ? NULL : fdopen(dup(file), "w");
    for (size_t i = 0; stream != NULL && i < size; i++)
        putc(text[i % length], stream);
    if (stream == NULL || fclose(stream) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
        perror("floor: cannot make a file in memory");
        exit(1);
    }
    return size;
}

/* Returns the port, with the answer prepared. */
static unsigned long read_options(int argc, char **argv)
{
    const char *text = "Hello, world\n";
    size_t body_size = strlen(text);
    unsigned long port = 18080;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--close") == 0) {
            close_after = true;
        } else if (strcmp(argv[i], "--body") == 0 && i + 1 < argc) {
            body_size = strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--text") == 0 && i + 1 < argc && argv[i + 1][0] != '\0') {
            text = argv[++i];
            body_size = strlen(text);
        } else if (strcmp(argv[i], "--file") == 0 && i + 1 < argc) {
            body_size = open_file(argv[++i]);
        } else if (strcmp(argv[i], "--memfd") == 0 && i + 1 < argc) {
            body_size = make_file(strtoul(argv[++i], NULL, 10), text);
        } else if (strcmp(argv[i], "--post") == 0 && i + 1 < argc) {
            post_size = strtoul(argv[++i], NULL, 10);
        } else if (argv[i][0] >= '0' && argv[i][0] <= '9') {
            port = strtoul(argv[i], NULL, 10);
        } else {
            fprintf(stderr,
                    "floor: what is '%s'? Usage: floor [--body BYTES | --text TEXT | --file PATH | --memfd "
                    "BYTES] "
                    "[--post BYTES] [--close] [PORT]\n",
                    argv[i]);
            exit(2);
        }
    }
    prepare(text, body_size);
    return port;
}

int main(int argc, char **argv)
{
    unsigned long port = read_options(argc, argv);
    struct sockaddr_in address;
    int listener = listen_on(port, &address);
    int epoll = epoll_create1(0);
    struct epoll_event events[256], event = {.events = EPOLLIN, .data.fd = listener};
    signal(SIGPIPE, SIG_IGN); /* sendfile knows no MSG_NOSIGNAL */
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    printf("listening on http://127.0.0.1:%d/\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int count = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                accept_all(epoll, listener);
            else
                serve(epoll, events[i].data.fd);
        }
    }
}
