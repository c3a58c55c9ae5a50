/* The load of `./dev bench http` for handshakes: connections one after the other on each of so many
 * places, on one thread and epoll. A connection is a handshake, one GET with "Connection: close",
 * and its response to the end.
 *
 *     tls_load PORT PATH [--connections N] [--seconds S] [--resume]
 *
 * --resume  resumes the session of the place's last connection; without it every handshake is full.
 *
 * Prints one line of JSON with the names of bench/report.lua, and `full` and `resumed`: how many
 * handshakes were which. Certificates are not verified here, what they sign is. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "latency.h"

#define WAIT_SECONDS 2 /* for a connection under way; one that is later is a timeout */

struct place {
    int fd;
    SSL *ssl; /* NULL: nothing is under way */
    SSL_SESSION *session;
    bool sent;
    uint64_t started;
    size_t received;
    char status[12]; /* how the response begins: "HTTP/1.1 200" */
};

static struct {
    int port;
    const char *path;
    size_t connections;
    double seconds;
    bool resume;
} options = {.connections = 50, .seconds = 3};

static struct {
    uint64_t requests, bytes, connect_errors, read_errors, write_errors, status_errors, timeouts,
        full, resumed;
} result;

static uint64_t end_at;
static SSL_CTX *context;
static int epoll = -1;
static char request[1024];

static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    struct place *place = SSL_get_app_data(ssl);
    SSL_SESSION_free(place->session);
    place->session = session;
    return 1;
}

static void finish(struct place *place)
{
    /* What the place keeps of the session stays usable without a close_notify of ours. */
    SSL_set_shutdown(place->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(place->ssl);
    place->ssl = NULL;
    close(place->fd);
}

static bool start(struct place *place)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)options.port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    place->started = now_ns();
    place->sent = false;
    place->received = 0;
    place->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (place->fd < 0 ||
        connect(place->fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return false;
    fcntl(place->fd, F_SETFL, O_NONBLOCK);
    setsockopt(place->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    place->ssl = SSL_new(context);
    if (place->ssl == NULL || SSL_set_fd(place->ssl, place->fd) != 1)
        return false;
    SSL_set_app_data(place->ssl, place);
    if (options.resume && place->session != NULL) {
        /* A session that was used is used up for OpenSSL's client, but its ticket still holds, and
         * not every server sends a new one. */
        SSL_SESSION *copy = SSL_SESSION_dup(place->session);
        SSL_set_session(place->ssl, copy);
        SSL_SESSION_free(copy);
    }
    SSL_set_connect_state(place->ssl);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = place};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, place->fd, &event) == 0;
}

static void count_response(struct place *place)
{
    result.requests++;
    result.bytes += place->received;
    result.status_errors += memcmp(place->status, "HTTP/1.1 200", sizeof(place->status)) != 0;
    *(SSL_session_reused(place->ssl) ? &result.resumed : &result.full) += 1;
    record_latency(now_ns() - place->started);
}

/* Reads what is there; true when the response has ended or failed. */
static bool read_response(struct place *place)
{
    static char input[65536];
    int count;
    while ((count = SSL_read(place->ssl, input, sizeof(input))) > 0) {
        for (int i = 0; i < count && place->received + (size_t)i < sizeof(place->status); i++)
            place->status[place->received + (size_t)i] = input[i];
        place->received += (size_t)count;
    }
    int error = SSL_get_error(place->ssl, count);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return false;
    if (error == SSL_ERROR_ZERO_RETURN && place->received >= sizeof(place->status))
        count_response(place);
    else
        result.read_errors++;
    return true;
}

/* Goes on with a connection; true when it is over, one way or the other. */
static bool advance(struct place *place)
{
    ERR_clear_error();
    if (!place->sent) {
        int done = SSL_do_handshake(place->ssl);
        if (done != 1) {
            int error = SSL_get_error(place->ssl, done);
            if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
                return false;
            result.connect_errors++;
            return true;
        }
        int length = (int)strlen(request);
        if (SSL_write(place->ssl, request, length) != length) {
            result.write_errors++;
            return true;
        }
        place->sent = true;
    }
    return read_response(place);
}

/* The next connection of a place, unless the time is up; returns whether there is one. */
static bool start_next(struct place *place)
{
    if (now_ns() >= end_at)
        return false;
    if (start(place))
        return true;
    result.connect_errors++;
    if (place->ssl != NULL)
        finish(place);
    else if (place->fd >= 0)
        close(place->fd);
    return false;
}

static void run(struct place *places)
{
    size_t under_way = 0;
    for (size_t i = 0; i < options.connections; i++)
        under_way += start_next(&places[i]);
    while (under_way > 0) {
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < count; i++) {
            struct place *place = events[i].data.ptr;
            if (place->ssl == NULL || !advance(place))
                continue;
            finish(place);
            under_way -= !start_next(place);
        }
        if (now_ns() > end_at + WAIT_SECONDS * NS) {
            result.timeouts += under_way;
            return;
        }
    }
}

static void print_result(uint64_t duration)
{
    printf("{\"requests\":%llu,\"bytes\":%llu,\"duration_us\":%llu,\"connect_errors\":%llu,"
           "\"read_errors\":%llu,\"write_errors\":%llu,\"status_errors\":%llu,\"timeouts\":%llu,"
           "\"full\":%llu,\"resumed\":%llu,\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,"
           "\"max_us\":%.1f}\n",
           (unsigned long long)result.requests, (unsigned long long)result.bytes,
           (unsigned long long)(duration / 1000), (unsigned long long)result.connect_errors,
           (unsigned long long)result.read_errors, (unsigned long long)result.write_errors,
           (unsigned long long)result.status_errors, (unsigned long long)result.timeouts,
           (unsigned long long)result.full, (unsigned long long)result.resumed,
           percentile_us(result.requests, 0.5), percentile_us(result.requests, 0.9),
           percentile_us(result.requests, 0.99), (double)latency_max / 1e3);
}

static bool read_options(int argc, char **argv)
{
    if (argc < 3)
        return false;
    options.port = (int)strtol(argv[1], NULL, 10);
    options.path = argv[2];
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--resume") == 0)
            options.resume = true;
        else if (strcmp(argv[i], "--connections") == 0 && i + 1 < argc)
            options.connections = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            options.seconds = strtod(argv[++i], NULL);
        else
            return false;
    }
    return options.port > 0 && options.port < 65536 && options.connections > 0 &&
           options.seconds > 0;
}

/* A client that keeps the sessions it gets, or takes none. */
static bool prepare(void)
{
    context = SSL_CTX_new(TLS_client_method());
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (context == NULL || epoll < 0)
        return false;
    /* The kernel may be slow in taking a request; we are not. */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
    if (options.resume) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context, keep_session);
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
    struct place *places = calloc(options.connections, sizeof(*places));
    if (places == NULL || !prepare()) {
        fprintf(stderr, "tls_load: it cannot be set up\n");
        return 1;
    }
    uint64_t started = now_ns();
    end_at = started + (uint64_t)(options.seconds * (double)NS);
    run(places);
    print_result(now_ns() - started);
    for (size_t i = 0; i < options.connections; i++) {
        if (places[i].ssl != NULL)
            finish(&places[i]);
        SSL_SESSION_free(places[i].session);
    }
    free(places);
    SSL_CTX_free(context);
    close(epoll);
    return 0;
}
