/* The load generator of `./dev bench http` for handshakes. Each of N slots opens one connection
 * after another, all on one thread with epoll. A connection is a handshake, one GET with
 * "Connection: close", and its complete response.
 *
 *     tls_load PORT PATH [--connections N] [--seconds S] [--resume]
 *
 * --resume  resumes the session of the slot's last connection; without it every handshake is full.
 *
 * Prints one line of JSON with the fields of bench/report.lua, and the numbers of `full` and
 * `resumed` handshakes. It verifies the signatures of handshakes, but no certificates. */
#include <signal.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "load.h"

#define WAIT_SECONDS 2 /* after the end, for connections in progress; then they are timeouts */

struct slot {
    int fd;
    SSL *ssl; /* NULL: no connection */
    SSL_SESSION *session;
    bool sent;
    uint64_t started;
    size_t received;
    char status[12]; /* the first bytes of the response: "HTTP/1.1 200" */
};

static struct {
    int port;
    const char *path;
    size_t connections;
    double seconds;
    bool resume;
} options;

#define COUNTERS(X) \
    X(requests)     \
    X(bytes)        \
    X(connect_errors) X(read_errors) X(write_errors) X(status_errors) X(timeouts) X(full) X(resumed)

static struct {
    COUNTERS(COUNTER)
} result;

static uint64_t end_at;
static struct slot *slots;
static SSL_CTX *context;
static int epoll = -1;
static char request[1024];

static int store_session(SSL *ssl, SSL_SESSION *session)
{
    struct slot *slot = SSL_get_app_data(ssl);
    SSL_SESSION_free(slot->session);
    slot->session = session;
    return 1;
}

static void finish(struct slot *slot)
{
    /* Without this state the session of the slot would not be resumable. */
    SSL_set_shutdown(slot->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(slot->ssl);
    slot->ssl = NULL;
    close(slot->fd);
}

static bool start(struct slot *slot)
{
    slot->started = now_ns();
    slot->sent = false;
    slot->received = 0;
    slot->fd = connect_to(options.port);
    if (slot->fd < 0)
        return false;
    fcntl(slot->fd, F_SETFL, O_NONBLOCK);
    slot->ssl = SSL_new(context);
    if (slot->ssl == NULL || SSL_set_fd(slot->ssl, slot->fd) != 1)
        return false;
    SSL_set_app_data(slot->ssl, slot);
    if (options.resume && slot->session != NULL) {
        /* OpenSSL's client uses each session once. The copy reuses its ticket, because not every
         * server sends a new one. */
        SSL_SESSION *copy = SSL_SESSION_dup(slot->session);
        SSL_set_session(slot->ssl, copy);
        SSL_SESSION_free(copy);
    }
    SSL_set_connect_state(slot->ssl);
    return add_events(epoll, slot->fd, EPOLLIN | EPOLLOUT | EPOLLET, slot);
}

static void count_response(struct slot *slot)
{
    result.requests++;
    result.bytes += slot->received;
    result.status_errors += memcmp(slot->status, "HTTP/1.1 200", sizeof(slot->status)) != 0;
    *(SSL_session_reused(slot->ssl) ? &result.resumed : &result.full) += 1;
    record_latency(now_ns() - slot->started);
}

static bool would_block(const struct slot *slot, int result_code)
{
    int error = SSL_get_error(slot->ssl, result_code);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

/* Reads what is available. Returns true after the response has ended or failed. */
static bool read_response(struct slot *slot)
{
    static char input[65536];
    int count;
    while ((count = SSL_read(slot->ssl, input, sizeof(input))) > 0) {
        for (int i = 0; i < count && slot->received + (size_t)i < sizeof(slot->status); i++)
            slot->status[slot->received + (size_t)i] = input[i];
        slot->received += (size_t)count;
    }
    if (would_block(slot, count))
        return false;
    if (SSL_get_error(slot->ssl, count) == SSL_ERROR_ZERO_RETURN &&
        slot->received >= sizeof(slot->status))
        count_response(slot);
    else
        result.read_errors++;
    return true;
}

/* Continues a connection. Returns true after it has ended or failed. */
static bool advance(struct slot *slot)
{
    ERR_clear_error();
    if (slot->sent)
        return read_response(slot);
    int done = SSL_do_handshake(slot->ssl), length = (int)strlen(request);
    if (done != 1 && would_block(slot, done))
        return false;
    if (done != 1) {
        result.connect_errors++;
        return true;
    }
    if (SSL_write(slot->ssl, request, length) != length) {
        result.write_errors++;
        return true;
    }
    slot->sent = true;
    return read_response(slot);
}

/* Starts the next connection of a slot, unless the time is up. Returns whether it did. */
static bool start_next(struct slot *slot)
{
    if (now_ns() >= end_at)
        return false;
    if (start(slot))
        return true;
    result.connect_errors++;
    if (slot->ssl != NULL)
        finish(slot);
    else if (slot->fd >= 0)
        close(slot->fd);
    return false;
}

static void run(void)
{
    size_t active = 0;
    for (size_t i = 0; i < options.connections; i++)
        active += start_next(&slots[i]);
    while (active > 0) {
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < count; i++) {
            struct slot *slot = events[i].data.ptr;
            if (slot->ssl == NULL || !advance(slot))
                continue;
            finish(slot);
            active -= !start_next(slot);
        }
        if (now_ns() > end_at + WAIT_SECONDS * NS) {
            result.timeouts += active;
            return;
        }
    }
}

static bool read_options(int argc, char **argv)
{
    options.connections = (size_t)take_double("--connections", &argc, argv, 50);
    options.seconds = take_double("--seconds", &argc, argv, 3);
    options.resume = argc == 4 && strcmp(argv[3], "--resume") == 0;
    if (argc != 3 + options.resume)
        return false;
    options.port = (int)strtol(argv[1], NULL, 10);
    options.path = argv[2];
    return options.port > 0 && options.port < 65536 && options.connections > 0 &&
           options.seconds > 0;
}

/* Prepares a client context. It stores sessions only with --resume. */
static bool prepare(void)
{
    context = SSL_CTX_new(TLS_client_method());
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (context == NULL || epoll < 0)
        return false;
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
    if (options.resume) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context, store_session);
    }
    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n",
                          options.path, options.port);
    return length > 0 && (size_t)length < sizeof(request);
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv)) {
        fprintf(stderr, "usage: tls_load PORT PATH [--connections N] [--seconds S] [--resume]\n");
        return 2;
    }
    slots = calloc(options.connections, sizeof(*slots));
    if (slots == NULL || !prepare())
        errx(1, "cannot be set up");
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    uint64_t started = now_ns();
    end_at = started + (uint64_t)(options.seconds * (double)NS);
    run();
    putchar('{');
    COUNTERS(PRINT_COUNTER)
    print_latency(now_ns() - started, result.requests);
    return 0;
}
