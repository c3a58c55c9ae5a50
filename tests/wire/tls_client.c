/* tls_client: the client program of tests/wire/test_tls_client.py, run once for each connection:
 * `tls_client [FLAGS] HOST PORT` or `tls_client [FLAGS] URL`. Flags: --ca=, --cert=, --key=,
 * --pass=, --name=, --alpn=, --min=1..2, --max=1..2, --ciphers=, --insecure, --default (no client
 * object), --timeout=MS, --handshake-timeout=SECONDS, --send=BYTES, --backlog=BYTES, --abort=MS
 * (closes after that time), --half (ends its side after everything is sent). It sends that many
 * bytes, receives as many, and ends. It prints a line for each event: "connected", "failed NAME:
 * WHY", "heard BYTES", "end", "refused" (the first rejected write), "closed WHY", for a WebSocket
 * "open" and "closed CODE REASON". Exit codes: 0, 1 could not start, 4 memory leak, 5 the received
 * bytes differ from the sent ones. */
#include <uvhttp.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

enum { EXIT_NOT_STARTED = 1, EXIT_LEFT = 4, EXIT_OTHER_BYTES = 5, CHUNK = 65536, PERIOD = 251 };

static atomic_long live; /* allocated blocks */
static uvhttp_tls_client_t *client;
static uvhttp_stream_t *stream; /* NULL: closed */
static size_t to_send = 5, sent, received;
static bool half, refused, other_bytes;
static char pattern[CHUNK + PERIOD];

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

/* ---- a stream ---- */

static const char *or_none(const char *why)
{
    return why == NULL ? "-" : why;
}

/* Byte i of the data is i modulo PERIOD. */
static void send_more(void)
{
    int err = 0;
    while (sent < to_send && err == 0) {
        size_t size = to_send - sent < CHUNK ? to_send - sent : CHUNK;
        err = uvhttp_stream_write(stream, pattern + sent % PERIOD, size);
        if (err == 0)
            sent += size;
    }
    if (err == UVHTTP_EFULL && !refused)
        puts("refused");
    refused |= err == UVHTTP_EFULL;
    if (half && sent == to_send)
        uvhttp_stream_end(stream);
}

static void on_connected(uvhttp_stream_t *of, int status, void *arg)
{
    (void)arg;
    if (status != 0) {
        printf("failed %s: %s\n", uvhttp_error_name(status), or_none(uvhttp_stream_tls_error(of)));
        return;
    }
    puts("connected");
    send_more();
}

static void receive(const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        other_bytes |= data[i] != pattern[(received + i) % PERIOD];
    received += size;
}

static void on_data(uvhttp_stream_t *of, char *data, size_t size, void *arg)
{
    (void)arg;
    receive(data, size);
    if (size == 0)
        puts("end");
    if (size == 0 || received == to_send)
        uvhttp_stream_end(of);
}

static void on_drain(uvhttp_stream_t *of, void *arg)
{
    (void)of, (void)arg;
    send_more();
}

static void on_closed(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    printf("heard %zu\nclosed %s\n", received, or_none(uvhttp_stream_tls_error(of)));
    stream = NULL;
}

/* ---- a WebSocket ---- */

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    char *message = malloc(to_send + 1);
    (void)arg;
    puts("open");
    if (message == NULL)
        abort();
    for (size_t i = 0; i < to_send; i++)
        message[i] = pattern[i % PERIOD];
    if (uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_BINARY, message, to_send) == UVHTTP_QUEUED)
        puts("refused");
    free(message);
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)kind, (void)arg;
    receive(data, size);
    printf("heard %zu\n", size);
    uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_NORMAL, NULL);
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    (void)ws, (void)arg;
    printf("closed %u %s\n", code, reason);
}

/* ---- set-up ---- */

static uvhttp_tls_client_options_t config = {.allocator = &allocator};
static uvhttp_config_t *server_config;
static long timeout_ms = 60000, backlog, abort_ms = -1;
static bool use_default;

static bool parse_flag(const char *flag)
{
    static const struct {
        const char *name;
        const char **text;
    } texts[] = {
        {"--ca=", &config.ca_file},       {"--cert=", &config.certificate_file},
        {"--key=", &config.key_file},     {"--pass=", &config.passphrase_file},
        {"--name=", &config.server_name}, {"--alpn=", &config.alpn},
        {"--ciphers=", &config.ciphers},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t length = strlen(texts[i].name);
        if (strncmp(flag, texts[i].name, length) == 0) {
            *texts[i].text = flag + length;
            return true;
        }
    }
    const char *equals = strchr(flag, '=');
    long number = equals == NULL ? 0 : strtol(equals + 1, NULL, 10);
    if (strcmp(flag, "--insecure") == 0)
        config.insecure = true;
    else if (strcmp(flag, "--default") == 0)
        use_default = true;
    else if (strcmp(flag, "--half") == 0)
        half = true;
    else if (strncmp(flag, "--min=", 6) == 0)
        config.min_version = (uvhttp_tls_version_t)number;
    else if (strncmp(flag, "--max=", 6) == 0)
        config.max_version = (uvhttp_tls_version_t)number;
    else if (strncmp(flag, "--timeout=", 10) == 0)
        timeout_ms = number;
    else if (strncmp(flag, "--handshake-timeout=", 20) == 0)
        server_config->handshake_timeout = (size_t)number;
    else if (strncmp(flag, "--send=", 7) == 0)
        to_send = (size_t)number;
    else if (strncmp(flag, "--backlog=", 10) == 0)
        backlog = number;
    else if (strncmp(flag, "--abort=", 8) == 0)
        abort_ms = number;
    else
        return false;
    return true;
}

static void on_abort(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
    if (stream != NULL)
        uvhttp_stream_close(stream);
}

static int connect_stream(uvhttp_server_t *server, const char *host, const char *port)
{
    static const uvhttp_stream_events_t events = {
        .data = on_data, .drain = on_drain, .closed = on_closed};
    static uv_timer_t timer;
    int err = uvhttp_stream_connect_tls(server, client, host, (int)strtol(port, NULL, 10),
                                        (uint32_t)timeout_ms, on_connected, &events, NULL, &stream);
    if (err == 0 && backlog > 0)
        uvhttp_stream_set_backlog(stream, (size_t)backlog);
    if (err == 0 && abort_ms >= 0) {
        uv_timer_init(uvhttp_server_loop(server), &timer);
        uv_timer_start(&timer, on_abort, (uint64_t)abort_ms, 0);
    }
    return err;
}

static int connect_websocket(uvhttp_server_t *server, const char *url)
{
    const uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = on_message, .close = on_close},
        .max_message_size = (size_t)1 << 30,
        .max_frame_size = (size_t)1 << 30,
        .memory = (size_t)2 << 30,
        .allocator = &allocator,
    };
    const uvhttp_websocket_target_t target = {.url = url, .tls = client};
    uvhttp_websocket_endpoint_t *endpoint;
    int err = uvhttp_websocket_endpoint_new(&endpoint, server, &options, NULL);
    return err != 0 ? err : uvhttp_websocket_connect(endpoint, &target, NULL, NULL, NULL);
}

static int run(uvhttp_server_t *server, char **where, int count)
{
    uvhttp_error_t error = {0};
    int err = use_default ? 0 : uvhttp_tls_client_new(&client, &config, &error);
    if (err == 0)
        err = count == 1 ? connect_websocket(server, where[0])
                         : connect_stream(server, where[0], where[1]);
    uvhttp_tls_client_free(client); /* the connection has its own reference */
    if (err == 0)
        err = uvhttp_server_run(server);
    if (err != 0)
        fprintf(stderr, "%s: %s\n", uvhttp_error_name(err), error.text);
    return err;
}

int main(int argc, char **argv)
{
    int first = 1;
    server_config = uvhttp_config_new();
    if (server_config == NULL)
        return EXIT_NOT_STARTED;
    server_config->allocator = &allocator;
    server_config->log = uvhttp_log_to_stderr;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)(i % PERIOD);
    while (first < argc && parse_flag(argv[first]))
        first++;
    if (argc - first != 1 && argc - first != 2)
        return EXIT_NOT_STARTED;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, server_config);
    uvhttp_config_free(server_config);
    int err = run(server, argv + first, argc - first);
    uvhttp_server_free(server);
    if (err != 0)
        return EXIT_NOT_STARTED;
    return other_bytes ? EXIT_OTHER_BYTES : atomic_load(&live) != 0 ? EXIT_LEFT : 0;
}
