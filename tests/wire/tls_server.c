/* tls_server: the server program of tests/wire/test_tls.py. It listens in plain text and with TLS,
 * and prints the ports: "listening on 127.0.0.1:PLAIN and 127.0.0.1:TLS". Flags: --cert=FILE starts
 * a certificate, to which the following --key=FILE, --pass=FILE, --phrase=TEXT (by callback),
 * --ocsp=FILE and --auth=0..2 belong; --ca=, --crl=, --client-auth=0..2, --profile=0..1,
 * --min=1..2, --max=1..2, --ciphers=, --suites=, --groups=, --no-tickets, --ktls,
 * --lifetime=SECONDS, --one-time-tickets, --max-used-tickets=N, --early-data=BYTES,
 * --ticket-key=FILE (repeated), --key-log=FILE, --watch, --workers=N, --handshake-timeout=SECONDS,
 * --write-timeout=SECONDS, --keep-alive-timeout=SECONDS, --max-connections=N,
 * --handshake-threads=N, --max-handshakes=N. Exit codes: 0 regular stop, 1 could not start, 4
 * memory leak. */
#include <uvhttp.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>
#include <sys/socket.h>

enum { EXIT_NOT_STARTED = 1, EXIT_LEFT = 4, MOST = 16, TEXT_SIZE = 8192, BIG = 300000000 };

static atomic_long live; /* allocated blocks */
static uvhttp_tls_t *tls;
static uvhttp_tls_certificate_t certificates[MOST];
static const char *ticket_keys[MOST];
static uvhttp_tls_options_t config = {.certificates = certificates,
                                      .ticket_key_files = ticket_keys};

/* ---- the heap ---- */

static void *allocate(size_t size, void *context)
{
    void *memory = malloc(size);
    (void)context;
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

static void *reallocate(void *memory, size_t size, void *context)
{
    void *moved = realloc(memory, size);
    (void)context;
    atomic_fetch_add(&live, memory == NULL && moved != NULL);
    return moved;
}

static void release(void *memory, void *context)
{
    (void)context;
    free(memory);
    atomic_fetch_sub(&live, memory != NULL);
}

static const uvhttp_allocator_t allocator = {allocate, reallocate, release, NULL};

/* ---- handlers ---- */

static int info(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_tls_info_t *facts = uvhttp_request_tls(req);
    char text[TEXT_SIZE];
    (void)arg;
    if (facts == NULL)
        return uvhttp_response_send_json(res, 200, "{\"scheme\":\"http\"}");
    (void)snprintf(text, sizeof text,
                   "{\"scheme\":\"%s\",\"version\":\"%s\",\"cipher\":\"%s\",\"server_name\":\"%s\","
                   "\"protocol\":\"%s\","
                   "\"resumed\":%s,\"subject\":\"%s\",\"issuer\":\"%s\",\"fingerprint\":\"%s\","
                   "\"names\":\"%s\","
                   "\"expires\":%lld}",
                   uvhttp_request_scheme(req), facts->version, facts->cipher, facts->server_name,
                   facts->protocol, facts->resumed ? "true" : "false", facts->client_subject,
                   facts->client_issuer, facts->client_fingerprint, facts->client_names,
                   (long long)facts->client_expires);
    return uvhttp_response_send_json(res, 200, text);
}

/* Unescaped, which JSON would not allow. */
static int names(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(res, 200, uvhttp_request_tls(req)->client_names);
}

/* The effect of a request: how often it was executed, and whether it was early. */
static int count(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static atomic_long counts;
    char text[64];
    (void)arg;
    (void)snprintf(text, sizeof text, "%ld %s", atomic_fetch_add(&counts, 1) + 1,
                   uvhttp_request_is_early(req) ? "early" : "late");
    return uvhttp_response_send_text(res, 200, text);
}

/* A GET that is too expensive for early data. */
static int expensive(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_request_is_early(req) ? uvhttp_response_send_too_early(res)
                                        : count(req, res, arg);
}

static int upgrade(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const uvhttp_stream_events_t events = {.data = NULL};
    uvhttp_stream_t *stream;
    (void)req, (void)arg;
    return uvhttp_response_upgrade(res, "test", &events, NULL, &stream);
}

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_text(res, 200, "Hello, world\n");
}

static int big(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *size = uvhttp_request_query(req, "size");
    return uvhttp_response_send_static(res, 200, "application/octet-stream", arg,
                                       size == NULL ? BIG : (size_t)strtoull(size, NULL, 10));
}

static int stats(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_stats_t now;
    char text[512];
    (void)arg;
    (void)uvhttp_server_read_stats(uvhttp_request_server(req), &now);
    (void)snprintf(
        text, sizeof text,
        "{\"handshakes\":%llu,\"resumed\":%llu,\"offloaded\":%llu,\"failures\":%llu,\"expires\":%"
        "lld,\"active\":%zu,"
        "\"timeouts\":%llu,\"own_expires\":%lld,\"early\":%llu,\"waited\":%llu}",
        (unsigned long long)now.tls_handshakes, (unsigned long long)now.tls_resumed,
        (unsigned long long)now.tls_offloaded, (unsigned long long)now.tls_failures,
        (long long)now.tls_expires, now.active_connections, (unsigned long long)now.timeouts,
        (long long)uvhttp_tls_expires(tls), (unsigned long long)now.early_requests,
        (unsigned long long)now.tls_waited);
    return uvhttp_response_send_json(res, 200, text);
}

/* A blocking route, since loads read files. The response is the error message, or "ok". */
static int reload(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_error_t error = {0};
    const char *path = uvhttp_request_query(req, "cert");
    (void)arg;
    int err;
    if (path != NULL) {
        const uvhttp_tls_certificate_t other = {.certificate_file = path};
        uvhttp_tls_options_t next = config;
        next.certificates = &other;
        next.certificate_count = 1;
        err = uvhttp_tls_replace(tls, &next, &error);
    } else {
        err = uvhttp_tls_reload(tls, &error);
    }
    return uvhttp_response_send_text(res, err == 0 ? 200 : 500, err == 0 ? "ok" : error.text);
}

static int add_blocking(uvhttp_server_t *server, const char *pattern, uvhttp_handler_cb handler)
{
    const uvhttp_route_t route = {
        .method = "GET", .pattern = pattern, .handler = handler, .flags = UVHTTP_ROUTE_BLOCKING};
    return uvhttp_router_add(uvhttp_server_router(server), &route);
}

static int add_routes(uvhttp_server_t *server, char *bytes)
{
    int err = uvhttp_server_route(server, "GET", "/hello", hello, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/hello", hello, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/info", info, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/names", names, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/big", big, bytes);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/stats", stats, NULL);
    if (err == 0)
        err = add_blocking(server, "/blocking", info);
    if (err == 0)
        err = add_blocking(server, "/reload", reload);
    if (err == 0)
        err = uvhttp_server_route(server, NULL, "/count", count, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, NULL, "/dear", expensive, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/upgrade", upgrade, NULL);
    if (err == 0)
        err = add_blocking(server, "/blocking-count", count);
    uvhttp_router_t *group = NULL;
    if (err == 0)
        err = uvhttp_router_group(uvhttp_server_router(server), "/private", &group);
    if (err == 0)
        err = uvhttp_router_use(group, uvhttp_require_client_certificate, NULL);
    if (err == 0)
        err = uvhttp_router_add(
            group, &(uvhttp_route_t){.method = "GET", .pattern = "/info", .handler = info});
    return err;
}

/* ---- flags ---- */

static int copy_phrase(char *buffer, size_t size, const char *key_file, void *arg)
{
    (void)key_file;
    return snprintf(buffer, size, "%s", (const char *)arg);
}

static bool is(const char *flag, const char *name, const char **value)
{
    size_t length = strlen(name);
    *value = flag + length;
    return strncmp(flag, name, length) == 0;
}

static unsigned long number_of(const char *text)
{
    return strtoul(text, NULL, 10);
}

static bool read_certificate_flag(const char *flag)
{
    const char *value;
    if (is(flag, "--cert=", &value)) {
        certificates[config.certificate_count++].certificate_file = value;
        return true;
    }
    if (config.certificate_count == 0)
        return false;
    uvhttp_tls_certificate_t *last = &certificates[config.certificate_count - 1];
    if (is(flag, "--key=", &value))
        last->key_file = value;
    else if (is(flag, "--pass=", &value))
        last->passphrase_file = value;
    else if (is(flag, "--ocsp=", &value))
        last->ocsp_file = value;
    else if (is(flag, "--auth=", &value))
        last->client_auth = (uvhttp_tls_client_auth_t)number_of(value);
    else if (is(flag, "--phrase=", &value)) {
        last->passphrase = copy_phrase;
        last->passphrase_arg = (void *)(uintptr_t)value;
    } else
        return false;
    return true;
}

static bool read_flag(const char *flag, uvhttp_config_t *limits)
{
    const char *value;
    if (read_certificate_flag(flag))
        return true;
    if (is(flag, "--ca=", &value))
        config.client_ca_file = value;
    else if (is(flag, "--crl=", &value))
        config.client_crl_file = value;
    else if (is(flag, "--client-auth=", &value))
        config.client_auth = (uvhttp_tls_client_auth_t)number_of(value);
    else if (is(flag, "--profile=", &value))
        config.profile = (uvhttp_tls_profile_t)number_of(value);
    else if (is(flag, "--min=", &value))
        config.min_version = (uvhttp_tls_version_t)number_of(value);
    else if (is(flag, "--max=", &value))
        config.max_version = (uvhttp_tls_version_t)number_of(value);
    else if (is(flag, "--ciphers=", &value))
        config.ciphers = value;
    else if (is(flag, "--suites=", &value))
        config.cipher_suites = value;
    else if (is(flag, "--groups=", &value))
        config.groups = value;
    else if (is(flag, "--no-tickets", &value))
        config.no_tickets = true;
    else if (is(flag, "--one-time-tickets", &value))
        config.one_time_tickets = true;
    else if (is(flag, "--early-data=", &value))
        config.early_data = (size_t)number_of(value);
    else if (is(flag, "--max-used-tickets=", &value))
        config.max_used_tickets = (size_t)number_of(value);
    else if (is(flag, "--ktls", &value))
        config.ktls = true;
    else if (is(flag, "--lifetime=", &value))
        config.session_lifetime_ms = 1000 * (uint32_t)number_of(value);
    else if (is(flag, "--ticket-key=", &value))
        ticket_keys[config.ticket_key_file_count++] = value;
    else if (is(flag, "--key-log=", &value))
        config.key_log_file = value;
    else if (is(flag, "--watch", &value))
        config.watch = true;
    else if (is(flag, "--workers=", &value))
        limits->workers = (size_t)number_of(value);
    else if (is(flag, "--handshake-timeout=", &value))
        limits->handshake_timeout = (size_t)number_of(value);
    else if (is(flag, "--write-timeout=", &value))
        limits->write_timeout = (size_t)number_of(value);
    else if (is(flag, "--handshake-threads=", &value))
        limits->handshake_threads = (size_t)number_of(value);
    else if (is(flag, "--max-handshakes=", &value))
        limits->max_handshakes = (size_t)number_of(value);
    else if (is(flag, "--keep-alive-timeout=", &value))
        limits->keep_alive_timeout = (size_t)number_of(value);
    else if (is(flag, "--max-connections=", &value))
        limits->max_connections = (size_t)number_of(value);
    else
        return false;
    return true;
}

/* ---- start and end ---- */

static void log_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    (void)arg;
    (void)fprintf(stderr, "%s: %s\n", names[level], message);
}

/* A plain socket on a free port, since the server reports the port of its first listener only. */
static int listen_plain(uvhttp_server_t *server, int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return UVHTTP_EINVAL;
    *port = ntohs(address.sin_port);
    return uvhttp_server_listen_fd(server, fd);
}

static int listen_on_both(uvhttp_server_t *server, int *plain)
{
    uvhttp_error_t error = {0};
    int err = uvhttp_tls_new(&tls, &config, &error);
    if (err != 0) {
        (void)fprintf(stderr, "tls_server: %s: %s\n", uvhttp_error_name(err), error.text);
        return err;
    }
    err = uvhttp_server_listen_tls(server, "127.0.0.1", 0, tls);
    return err == 0 ? listen_plain(server, plain) : err;
}

static uvhttp_server_t *start(const uvhttp_config_t *limits, char *bytes, int *plain)
{
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, limits);
    int err = add_routes(server, bytes);
    if (err == 0)
        err = listen_on_both(server, plain);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        return server;
    uvhttp_server_free(server);
    uvhttp_tls_free(tls);
    return NULL;
}

int main(int argc, char **argv)
{
    uvhttp_config_t *limits = uvhttp_config_new();
    char *bytes = calloc(1, BIG);
    int plain;
    if (limits == NULL || bytes == NULL)
        return EXIT_NOT_STARTED;
    config.ktls = getenv("UVHTTP_TEST_KTLS") != NULL; /* runs all of the tests with kernel TLS */
    limits->allocator = config.allocator = &allocator;
    limits->log = config.log = log_line;
    for (int i = 1; i < argc; i++) {
        if (!read_flag(argv[i], limits)) {
            (void)fprintf(stderr, "tls_server: unknown flag %s\n", argv[i]);
            return EXIT_NOT_STARTED;
        }
    }
    uvhttp_server_t *server = start(limits, bytes, &plain);
    uvhttp_config_free(limits);
    if (server == NULL) {
        free(bytes);
        return EXIT_NOT_STARTED;
    }
    (void)printf("listening on 127.0.0.1:%d and 127.0.0.1:%d\n", plain, uvhttp_server_port(server));
    (void)fflush(stdout);
    (void)uvhttp_server_run(server);
    uvhttp_server_free(server);
    uvhttp_tls_free(tls);
    free(bytes);
    if (atomic_load(&live) == 0)
        return 0;
    (void)fprintf(stderr, "tls_server: %ld blocks are left\n", atomic_load(&live));
    return EXIT_LEFT;
}
