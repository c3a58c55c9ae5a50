/* A whole connection of HTTP/2: a server, and a client that a script drives. The first two bytes of
 * the input choose a configuration. Then each operation is one byte and its arguments: the client
 * appends a frame or any bytes, delivers some, reads some, time passes, the application continues a
 * response, the server stops. Time moves by the input only: this program replaces clock_gettime.
 *
 * Properties: every frame of the server is allowed by what it has received (h2_peer.h). The bytes
 * of a body are those that the handler sent. At the end the client opens all windows and ends all
 * requests: then every request that the server has taken is answered or reset, however the script
 * went. The connection and its exchanges end, handlers learn of it once, and no memory is left. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include <uvhttp.h>
#include <uvhttp/embedding.h>
#include <uvhttp/stream.h>

#include "base/compiler.h"
#include "fuzz/fuzz_check.h"
#include "support/h2_peer.h"

enum {
    SERVERS = 4,
    MAX_STEPS = 300,
    SIZE = 200000,        /* of the longest body */
    PENDING = 64,         /* responses that the application continues */
    SERVER_RUNS = 500,    /* inputs that one server gets */
    ROUNDS = 4000,        /* of the loop, until a connection is finished */
    BODY_LIMIT = 30000,   /* of collected bodies */
    SCRIPT_TIME_MS = 100, /* time of the script that is not its own */
};

/* ---- time and memory ---- */

static uint64_t now_ns = UINT64_C(1000000000000);

/* Replaces libuv's calls, too. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, time);
    time->tv_sec = (time_t)(now_ns / 1000000000);
    time->tv_nsec = (long)(now_ns % 1000000000);
    return 0;
}

static int64_t calendar(void *arg)
{
    (void)arg;
    return (int64_t)(now_ns / 1000000);
}

/* The blocks of each server. The list keeps them reachable for LeakSanitizer, which does not look
 * into the free blocks of an arena. */
static struct block {
    struct block *next, *before;
} lists[SERVERS];

static void link_block(struct block *block, struct block *list)
{
    block->next = list->next;
    block->before = list;
    block->next->before = list->next = block;
}

static void unlink_block(struct block *block)
{
    block->before->next = block->next;
    block->next->before = block->before;
}

static void *allocate(size_t size, void *list)
{
    struct block *block = malloc(sizeof(*block) + size);
    require(block != NULL);
    link_block(block, list);
    return block + 1;
}

static void release(void *address, void *list)
{
    struct block *block = (struct block *)address - 1;
    (void)list;
    unlink_block(block);
    free(block);
}

static void *reallocate(void *address, size_t size, void *list)
{
    if (address == NULL)
        return allocate(size, list);
    struct block *block = (struct block *)address - 1;
    unlink_block(block);
    block = realloc(block, sizeof(*block) + size);
    require(block != NULL);
    link_block(block, list);
    return block + 1;
}

/* ---- the script ---- */

static const uint8_t *script, *script_end;

static unsigned next(void)
{
    return script < script_end ? *script++ : 0;
}

static size_t next_size(void)
{
    static const unsigned sizes[] = {0,    1,     2,     9,     100,   1000,  4096,    8000,
                                     9000, 16375, 16384, 20000, 65535, 65536, 1 << 20, 255};
    unsigned code = next();
    return code < 240 ? sizes[code % 16] : code;
}

/* ---- the application ---- */

static char bytes[SIZE];
static int file = -1;

struct pending {
    uvhttp_request_t *request;
    uvhttp_response_t *response;
    uint64_t sent;
    bool reads;   /* its body, when it is continued */
    bool delayed; /* by the middleware */
};
static struct pending pending[PENDING];
static size_t borrowed, exchanges;

static void unborrow(void *arg)
{
    (void)arg;
    require(borrowed-- > 0);
}

static void forget(uvhttp_response_t *response)
{
    for (size_t i = 0; i < PENDING; i++) {
        if (pending[i].response == response)
            pending[i] = (struct pending){0};
    }
}

static void on_exchange_released(void *arg)
{
    require(exchanges-- > 0);
    forget(arg);
}

static void on_abort(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    require(uvhttp_response_send_text(response, 200, "") == UVHTTP_EDISCONNECTED);
    forget(response);
}

/* All slots used: NULL, and the request fails. */
static struct pending *remember(uvhttp_request_t *request, uvhttp_response_t *response)
{
    for (size_t i = 0; i < PENDING; i++) {
        if (pending[i].response == NULL) {
            pending[i] = (struct pending){.request = request, .response = response};
            uvhttp_response_on_abort(response, on_abort, NULL);
            return &pending[i];
        }
    }
    return NULL;
}

static int count_exchange(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char key;
    (void)arg;
    require(uvhttp_request_attach(request, &key, response, on_exchange_released) == 0);
    exchanges++;
    return UVHTTP_DECLINED;
}

/* A middleware that takes time: the application lets the request proceed. */
static int delay(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    if (uvhttp_request_header(request, "x-delay") == NULL)
        return UVHTTP_DECLINED;
    struct pending *one = remember(request, response);
    if (one == NULL)
        return UVHTTP_EFULL;
    one->delayed = true;
    return 0;
}

static int send_short(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send(response, 200, "text/plain", bytes, 13);
}

static int send_copied(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send(response, 200, NULL, bytes, 40000);
}

static int send_borrowed(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    borrowed++;
    return uvhttp_response_send_borrowed(response, 200, NULL, bytes, SIZE, unborrow, NULL);
}

static int send_descriptor(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    borrowed++;
    return uvhttp_response_send_descriptor(response, 200, NULL, file, 0, 90000, unborrow, NULL);
}

static int send_parts(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const unsigned sizes[] = {1, 16384, 0, 5000, 16375, 9, 30000, 100};
    uvhttp_part_t parts[UVH_COUNT_OF(sizes)];
    uint64_t offset = 0;
    (void)request;
    (void)arg;
    for (size_t i = 0; i < UVH_COUNT_OF(sizes); i++) {
        parts[i] = (uvhttp_part_t){.data = bytes + offset,
                                   .descriptor = i % 3 == 1 ? file : -1,
                                   .offset = offset,
                                   .size = sizes[i]};
        offset += sizes[i];
    }
    borrowed++;
    return uvhttp_response_send_parts(response, 200, NULL, parts, UVH_COUNT_OF(sizes), unborrow,
                                      NULL);
}

static int write_more(uvhttp_response_t *response, void *arg)
{
    uint64_t *sent = arg;
    int err = 0;
    while (err == 0 && *sent < SIZE) {
        size_t size = SIZE - *sent < 7000 ? SIZE - (size_t)*sent : 7000;
        err = uvhttp_response_write(response, bytes + *sent, size);
        *sent += err == 0 ? size : 0;
    }
    return err == UVHTTP_EFULL ? 0 : err != 0 ? err : uvhttp_response_end(response);
}

static int send_streamed(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uint64_t *sent = uvhttp_request_allocate(request, sizeof(*sent));
    (void)arg;
    *sent = 0;
    uvhttp_response_on_drain(response, write_more, sent);
    int err = uvhttp_response_send_early_hints(response);
    if (err == 0 && uvhttp_request_header(request, "te") != NULL)
        err = uvhttp_response_add_trailer(response, "x-sum", "42");
    if (err == 0)
        err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : write_more(response, sent);
}

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    uint64_t *sent = arg;
    (void)response;
    *length = size < SIZE - *sent ? size : SIZE - (size_t)*sent;
    memcpy(buffer, bytes + *sent, *length);
    *sent += *length;
    return *sent == SIZE ? UVHTTP_END : 0;
}

static void free_pulled(void *arg)
{
    unborrow(NULL);
    free(arg);
}

static int send_pulled(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    borrowed++;
    return uvhttp_response_send_pulled(response, 200, NULL, SIZE, pull, free_pulled,
                                       calloc(1, sizeof(uint64_t)));
}

static int send_paced(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    int err = uvhttp_response_limit_rate(response, 100000, 1000);
    return err != 0 ? err : send_borrowed(request, response, arg);
}

static int send_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    int err = 0;
    for (int i = 0; i < 400 && err == 0; i++)
        err = uvhttp_response_add_header(response, "x-long",
                                         "0123456789-0123456789-0123456789-0123456789-0123456789");
    return err != 0 ? err : send_short(request, response, arg);
}

static int send_events(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    int err = uvhttp_response_begin_events(response);
    if (err == 0 && remember(request, response) == NULL)
        return UVHTTP_EFULL;
    return err;
}

static int send_later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return remember(request, response) != NULL ? 0 : UVHTTP_EFULL;
}

static int fail(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    int err = 0;
    if (uvhttp_request_method(request) == UVHTTP_METHOD_POST)
        err = uvhttp_response_begin(response, 200, NULL, 100);
    if (err == 0 && uvhttp_response_status(response) == 200)
        uvhttp_response_write(response, bytes, 10);
    return UVHTTP_EINVAL;
}

static int send_last(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_response_close_after(response);
    return send_short(request, response, arg);
}

static int echo(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(request);
    (void)arg;
    uvhttp_request_trailer(request, "x-sum");
    return uvhttp_response_send(response, 200, NULL, body.base, body.length);
}

/* Every third chunk pauses the body, until the application resumes it. */
static int take_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                      size_t size, void *arg)
{
    uint64_t *sent = arg;
    if (size == 0) {
        uvhttp_request_trailer(request, "x-sum");
        forget(response);
        return uvhttp_response_end(response);
    }
    int err = uvhttp_response_write(response, data, size);
    if (++*sent % 3 == 0)
        uvhttp_request_pause_body(request);
    return err;
}

static int echo_streamed(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uint64_t *sent = uvhttp_request_allocate(request, sizeof(*sent));
    (void)arg;
    *sent = 0;
    struct pending *one = remember(request, response);
    if (one == NULL)
        return UVHTTP_EFULL;
    one->reads = true;
    int err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : uvhttp_request_on_body(request, take_chunk, sent);
}

static int discard_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                         size_t size, void *arg)
{
    (void)data;
    return size == 0 ? send_short(request, response, arg) : 0;
}

/* Begins to read when the application says so. */
static int read_later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    struct pending *one = remember(request, response);
    if (one == NULL)
        return UVHTTP_EFULL;
    one->reads = true;
    return 0;
}

static void echo_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    (void)arg;
    if (size == 0)
        uvhttp_stream_end(stream);
    else if (uvhttp_stream_write(stream, data, size) == UVHTTP_EFULL)
        uvhttp_stream_close(stream);
}

static void tunnel_closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream;
    unborrow(arg);
}

static int open_tunnel(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const uvhttp_stream_events_t events = {.data = echo_data, .closed = tunnel_closed};
    uvhttp_stream_t *stream;
    (void)request;
    (void)arg;
    int err = uvhttp_response_upgrade(response, "echo", &events, NULL, &stream);
    borrowed += err == 0;
    return err;
}

/* Continues a response that waits. */
static void continue_pending(struct pending *one, unsigned action)
{
    uvhttp_request_t *request = one->request;
    uvhttp_response_t *response = one->response;
    if (response == NULL)
        return;
    bool open = uvhttp_response_open(response);
    bool events = !open && !one->reads && one->sent == 0;
    if (one->delayed) {
        forget(response);
        uvhttp_response_proceed(response);
    } else if (one->reads && !open) {
        uvhttp_request_resume_body(request);
    } else if (one->reads) {
        forget(response);
        if (uvhttp_request_on_body(request, discard_chunk, NULL) != 0)
            uvhttp_response_fail(response, UVHTTP_EINVAL);
    } else if (events && action % 4 != 0) {
        uvhttp_response_send_event(response, &(uvhttp_sse_event_t){.data = {"event", 5}});
    } else if (open && action % 4 == 1) {
        forget(response);
        uvhttp_response_fail(response, UVHTTP_EINVAL);
    } else if (open && action % 4 == 2) {
        if (uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN) == 0)
            one->sent = 1;
    } else if (open) {
        forget(response);
        uvhttp_response_send(response, 200, NULL, bytes, action * 200);
    } else if (one->sent > 0 && action % 4 == 1) {
        size_t size = action * 100;
        if (one->sent - 1 + size < SIZE &&
            uvhttp_response_write(response, bytes + one->sent - 1, size) == 0 &&
            one->response == response)
            one->sent += size;
    } else {
        forget(response);
        uvhttp_response_end(response);
    }
}

/* ---- servers ---- */

static uv_loop_t loop;
static uvhttp_server_t *servers[SERVERS];
static unsigned runs[SERVERS];
static uvhttp_allocator_t memory[SERVERS];

static void add_routes(uvhttp_server_t *server)
{
    static const uvhttp_route_t routes[] = {
        {.pattern = "/", .handler = send_short},
        {.pattern = "/copied", .handler = send_copied},
        {.pattern = "/borrowed", .handler = send_borrowed},
        {.pattern = "/file", .handler = send_descriptor},
        {.pattern = "/parts", .handler = send_parts},
        {.pattern = "/streamed", .handler = send_streamed},
        {.pattern = "/pulled", .handler = send_pulled},
        {.pattern = "/paced", .handler = send_paced},
        {.pattern = "/fields", .handler = send_fields},
        {.pattern = "/events", .handler = send_events},
        {.pattern = "/later", .handler = send_later},
        {.pattern = "/fail", .handler = fail},
        {.pattern = "/last", .handler = send_last},
        {.method = "POST", .pattern = "/echo", .handler = echo, .max_body_size = BODY_LIMIT},
        {.method = "POST",
         .pattern = "/pieces",
         .handler = echo_streamed,
         .flags = UVHTTP_ROUTE_STREAM},
        {.pattern = "/tunnel", .handler = open_tunnel, .upgrade = "echo"},
        {.pattern = "/reads", .handler = read_later, .flags = UVHTTP_ROUTE_STREAM},
        {.pattern = "/ignores", .handler = send_short, .flags = UVHTTP_ROUTE_STREAM},
    };
    require(uvhttp_server_use(server, count_exchange, NULL) == 0);
    require(uvhttp_server_use(server, delay, NULL) == 0);
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        require(uvhttp_router_add(uvhttp_server_router(server), &routes[i]) == 0);
}

static uvhttp_server_t *new_server(unsigned kind)
{
    uvhttp_config_t *config = uvhttp_config_new();
    require(config != NULL);
    lists[kind].next = lists[kind].before = &lists[kind];
    memory[kind] = (uvhttp_allocator_t){allocate, reallocate, release, &lists[kind]};
    runs[kind] = 0;
    config->allocator = &memory[kind];
    config->log = NULL;
    config->clock = calendar;
    config->quick_threads = config->heavy_threads = 1;
    config->http2_stream_window = config->http2_connection_window = UVH_H2_WINDOW;
    config->http2_total_resets = 0;
    if ((kind & 1) != 0) { /* small buffers and limits */
        config->buffer_size = 4096;
        config->max_header_size = config->max_trailer_size = 2048;
        config->write_backlog = 8192;
        config->http2_max_streams = 5;
    } else {
        config->http2_control_frames = 100000;
        config->http2_resets = 100000;
        config->http2_connection_window = 200000;
    }
    if ((kind & 2) != 0) {
        config->http2_ping_interval = 10;
        config->max_requests_per_connection = 20;
    }
    uvhttp_server_t *server = uvhttp_server_new_with(&loop, config);
    require(server != NULL);
    add_routes(server);
    uvhttp_config_free(config);
    return server;
}

/* All memory is released with the server. */
static void free_server(unsigned kind, uvhttp_server_t *server)
{
    uvhttp_server_free(server);
    for (int round = 0; round < 100 && lists[kind].next != &lists[kind]; round++)
        uv_run(&loop, UV_RUN_NOWAIT);
    require(lists[kind].next == &lists[kind]);
    servers[kind] = NULL;
}

static void free_all(void)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        if (servers[i] != NULL)
            free_server(i, servers[i]);
    }
}

static void begin(void)
{
    require(uv_loop_init(&loop) == 0);
    atexit(free_all);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = h2_peer_byte(i);
    file = memfd_create("body", MFD_CLOEXEC);
    require(file >= 0 && write(file, bytes, SIZE) == SIZE);
}

/* ---- the client ---- */

static struct h2_peer peer;
static int client = -1; /* its socket */
static size_t delivered;
static uint32_t next_id;
static bool ended; /* by the server */
static bool raw;   /* bytes that no frame function has written */
static uint64_t uploaded[H2_PEER_STREAMS];
static bool is_text[H2_PEER_STREAMS]; /* of events */

static void run(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void deliver(size_t size)
{
    size_t left = peer.out_length - delivered;
    size = size < left ? size : left;
    if (client < 0 || size == 0)
        return;
    ssize_t count = send(client, peer.out + delivered, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN)
        delivered = peer.out_length; /* the server has closed */
    delivered += count > 0 ? (size_t)count : 0;
}

/* For a finding. */
static void print_frames(const char *who, const char *at, const char *end)
{
    while (end - at >= UVH_H2_HEAD_SIZE) {
        struct uvh_h2_frame frame = uvh_h2_frame_read(at);
        fprintf(stderr, "%s: type %d flags %02x stream %u length %u\n", who, frame.type,
                frame.flags, frame.stream, frame.length);
        at += UVH_H2_HEAD_SIZE + frame.length;
    }
}

static void report(const char *finding, uint32_t stream)
{
    if (peer.out_length > UVH_H2_PREFACE_SIZE)
        print_frames("client", peer.out + UVH_H2_PREFACE_SIZE, peer.out + peer.out_length);
    print_frames("server", peer.in, peer.in + peer.in_length);
    fprintf(stderr, "stream %u: %s\n", stream, finding);
    abort();
}

static bool receive(size_t size)
{
    static char buffer[1 << 17];
    if (client < 0 || ended)
        return false;
    ssize_t count =
        recv(client, buffer, size < sizeof(buffer) ? size : sizeof(buffer), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN)
        return false;
    ended = count <= 0;
    if (count > 0)
        h2_peer_receive(&peer, buffer, (size_t)count);
    if (peer.wrong != NULL && peer.settings_received)
        report(peer.wrong, peer.block_stream);
    return !ended;
}

static uint32_t pick_stream(void)
{
    unsigned code = next();
    if (code == 255)
        return next_id; /* idle */
    if (code == 254)
        return 2;
    uint32_t back = 2 + 2 * (code % 8);
    return next_id > back ? next_id - back : 1;
}

static char *put_number(char *out, const char *name, size_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%zu", number);
    return h2_peer_field(out, name, text, false);
}

/* Further fields, valid or not. */
static char *put_extra(char *out, unsigned code)
{
    static char long_value[3000];
    memset(long_value, 'v', sizeof(long_value) - 1);
    switch (code % 16) {
    case 0:
        return put_number(out, "content-length", next_size());
    case 1:
        return h2_peer_field(out, "expect", "100-continue", false);
    case 2:
        return h2_peer_field(out, "priority", code & 16 ? "u=0" : "u=7, i", true);
    case 3:
        out = h2_peer_field(out, "cookie", "a=b", true);
        return h2_peer_field(out, "cookie", "c=d", false);
    case 4:
        return h2_peer_field(out, "x-delay", "1", true);
    case 5:
        return h2_peer_field(out, "te", "trailers", false);
    case 6:
        return h2_peer_field(out, "x-long", long_value, code & 16);
    case 7:
        for (unsigned i = 0; i < 8u * (code / 16); i++)
            out = h2_peer_field(out, "x", "y", false);
        return out;
    case 8: /* of the table, perhaps */
        *out++ = (char)(0x80 | (62 + code / 16));
        return out;
    case 9:
        return h2_peer_field(out, "Upper", "case", false);
    case 10:
        return h2_peer_field(out, "connection", "close", false);
    case 11: /* a table size update, allowed only at the start */
        *out++ = 0x20;
        return out;
    default:
        return out;
    }
}

static void put_block(unsigned flags, uint32_t id, const char *block, size_t size)
{
    unsigned frame_flags = (flags & 1) != 0 ? UVH_H2_END_STREAM : 0;
    if ((flags & 2) == 0) {
        h2_peer_frame(&peer, UVH_H2_HEADERS, frame_flags | UVH_H2_END_HEADERS, id, block, size);
        return;
    }
    size_t cut = size / 2, rest = size - cut;
    h2_peer_frame(&peer, UVH_H2_HEADERS, frame_flags, id, block, cut);
    if ((flags & 4) != 0) /* an empty one between */
        h2_peer_frame(&peer, UVH_H2_CONTINUATION, 0, id, "", 0);
    h2_peer_frame(&peer, UVH_H2_CONTINUATION, UVH_H2_END_HEADERS, id, block + cut, rest);
}

static void put_request(void)
{
    static const char *const paths[] = {
        "/",       "/copied", "/borrowed", "/file",    "/parts", "/streamed", "/pulled",
        "/paced",  "/fields", "/events",   "/later",   "/fail",  "/last",     "/echo",
        "/pieces", "/reads",  "/ignores",  "/nowhere", "*",      "bad",       "/tunnel"};
    static const char *const methods[] = {"GET", "POST", "HEAD", "PUT", "OPTIONS", "CONNECT"};
    static char block[1 << 16];
    const char *path = paths[next() % UVH_COUNT_OF(paths)];
    unsigned flags = next(), extra = next();
    const char *method = methods[(flags >> 4) % 8 < 6 ? (flags >> 4) % 8 : (flags >> 4) % 2];
    uint32_t id = next_id + ((flags & 8) != 0 && extra == 255 ? 6 : 0);
    bool is_tunnel = strcmp(path, "/tunnel") == 0;
    char *out = h2_peer_head(block, is_tunnel ? "CONNECT" : method, path);
    if (is_tunnel)
        out = h2_peer_field(out, ":protocol", "echo", false);
    out = put_extra(out, extra);
    if ((flags & 8) != 0)
        out = put_extra(out, next());
    next_id = id + 2;
    put_block(flags, id, block, (size_t)(out - block));
    struct h2_peer_stream *stream = h2_peer_stream(&peer, id);
    if (stream != NULL) {
        stream->is_head = strcmp(method, "HEAD") == 0 && !is_tunnel;
        is_text[id / 2] = strcmp(path, "/events") == 0;
    }
}

static void put_trailers(void)
{
    char block[8000];
    uint32_t id = pick_stream();
    unsigned flags = next();
    char *out = h2_peer_field(block, "x-sum", "42", flags & 16);
    if ((flags & 32) != 0)
        out = put_extra(out, next());
    put_block(flags, id, block, (size_t)(out - block));
}

static void put_data(void)
{
    static char payload[1 << 17];
    uint32_t id = pick_stream();
    unsigned flags = next();
    size_t size = next_size();
    size = size < 16384 ? size : 16384;
    unsigned padding = (flags & 2) != 0 ? flags >> 2 : 0, prefix = (flags & 2) != 0 ? 1 : 0;
    if (size + padding + prefix > 16384)
        size = 16384 - padding - prefix;
    if (id / 2 >= H2_PEER_STREAMS)
        return;
    payload[0] = (char)padding;
    for (size_t i = 0; i < size; i++)
        payload[prefix + i] = h2_peer_byte(uploaded[id / 2] + i);
    memset(payload + prefix + size, 0, padding);
    uploaded[id / 2] += size;
    h2_peer_frame(&peer, UVH_H2_DATA,
                  ((flags & 1) != 0 ? UVH_H2_END_STREAM : 0) | (prefix != 0 ? UVH_H2_PADDED : 0),
                  id, payload, prefix + size + padding);
}

static void put_setting(void)
{
    unsigned id = next() % 10, code = next();
    uint32_t value = code == 255 ? UINT32_MAX : (uint32_t)next_size();
    if (id == UVH_H2_ENABLE_PUSH && code < 250)
        value = 0;
    if (id == UVH_H2_MAX_FRAME_SIZE && code < 250)
        value = 16384 + value % 1000;
    h2_peer_setting(&peer, id, value);
}

static void put_window(void)
{
    unsigned code = next();
    uint32_t id = code % 2 == 0 ? 0 : pick_stream();
    h2_peer_number(&peer, UVH_H2_WINDOW_UPDATE, id,
                   code == 255 ? 0x7fffffff : (uint32_t)next_size());
}

static void put_priority(void)
{
    static const char *const values[] = {"u=0", "u=7", "i", "u=3, i", "u=x", ""};
    char payload[16] = {0};
    uint32_t id = pick_stream();
    unsigned code = next();
    const char *value = values[code % UVH_COUNT_OF(values)];
    if (code >= 128) { /* of RFC 7540 */
        payload[3] = (char)(code == 255 ? id : 0);
        h2_peer_frame(&peer, UVH_H2_PRIORITY, 0, id, payload, code == 254 ? 4 : 5);
        return;
    }
    payload[2] = (char)(id >> 8);
    payload[3] = (char)id;
    memcpy(payload + 4, value, strlen(value));
    h2_peer_frame(&peer, UVH_H2_PRIORITY_UPDATE, 0, 0, payload, 4 + strlen(value));
}

static void put_control(void)
{
    unsigned code = next();
    switch (code % 4) {
    case 0:
        h2_peer_frame(&peer, UVH_H2_PING, 0, 0, "12345678", 8);
        break;
    case 1: /* the reply to the PING of a server that stops */
        h2_peer_frame(&peer, UVH_H2_PING, UVH_H2_ACK, 0, code & 4 ? "drain\0\0\0" : "alive\0\0\0",
                      8);
        break;
    case 2:
        h2_peer_frame(&peer, UVH_H2_SETTINGS, UVH_H2_ACK, 0, "", 0);
        break;
    default:
        h2_peer_frame(&peer, UVH_H2_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0", 8);
        break;
    }
}

/* Any frame. */
static void put_raw_frame(void)
{
    char payload[300];
    unsigned type = next() % 18, flags = next();
    uint32_t id = next() % 2 == 0 ? 0 : pick_stream();
    size_t size = next();
    for (size_t i = 0; i < size; i++)
        payload[i] = (char)next();
    raw = true;
    h2_peer_frame(&peer, type, flags, id, payload, size);
    next_id = peer.last >= next_id ? peer.last + 2 : next_id;
}

static void put_raw_bytes(void)
{
    raw = true;
    for (size_t size = next() % 32; size > 0; size--) {
        char byte = (char)next();
        h2_peer_put(&peer, &byte, 1);
    }
}

static void pass_time(uint64_t ms)
{
    now_ns += ms * 1000000;
    run();
}

/* Returns false after the end of the connection. */
static bool act(uvhttp_server_t **server)
{
    unsigned code = next();
    switch (code % 8) {
    case 0:
        continue_pending(&pending[next() % PENDING], code / 8);
        break;
    case 1:
        continue_pending(&pending[code / 8 % 4], next());
        break;
    case 2:
        if (next() == 7) {
            uvhttp_server_stop(*server);
            *server = NULL; /* the next input gets another one */
        }
        break;
    case 3:
        if (next() == 7)
            shutdown(client, SHUT_WR);
        break;
    case 4:
        if (next() == 7)
            return false;
        break;
    default:
        continue_pending(&pending[code / 8 % 8], code);
        break;
    }
    run();
    return true;
}

static bool step(uvhttp_server_t **server)
{
    unsigned code = next();
    switch (code % 16) {
    case 0:
    case 1:
    case 2:
        put_request();
        break;
    case 3:
    case 4:
        put_data();
        break;
    case 5:
        put_window();
        break;
    case 6:
        put_setting();
        break;
    case 7:
        h2_peer_number(&peer, UVH_H2_RST_STREAM, pick_stream(), next());
        break;
    case 8:
        put_priority();
        break;
    case 9:
        put_control();
        break;
    case 10:
        put_trailers();
        break;
    case 11:
        if (code < 64)
            put_raw_bytes();
        else
            put_raw_frame();
        break;
    case 12:
        deliver(next_size());
        run();
        break;
    case 13:
        receive(next_size());
        run();
        break;
    case 14:
        pass_time(next() * (code >= 128 ? 500u : 5u));
        break;
    default:
        return act(server);
    }
    if (code >= 64) /* otherwise several frames arrive at once */
        deliver(SIZE_MAX);
    if (code >= 128)
        run();
    return true;
}

/* ---- the end ---- */

/* Bytes that the server has not read: it reads a few buffers in an iteration. */
static bool has_unread(void)
{
    int unread = 0;
    return client >= 0 && !ended && ioctl(client, SIOCOUTQ, &unread) == 0 && unread > 0;
}

/* Everything arrives, the application completes its responses, and the client reads. */
static void settle(void)
{
    for (int quiet = 0, round = 0; quiet < 4 && round < ROUNDS; round++, quiet++) {
        size_t before = delivered;
        deliver(SIZE_MAX);
        run();
        for (size_t i = 0; i < PENDING; i++)
            continue_pending(&pending[i], 0);
        while (receive(1 << 17))
            quiet = -1;
        if (delivered != before || has_unread())
            quiet = -1;
        now_ns += 250 * 1000000; /* for paced responses */
    }
}

static bool is_speaking(void)
{
    return client >= 0 && !ended && peer.goaway_error == 0;
}

/* Without this check a lost wake-up, a window that is not opened, or a body that is never delivered
 * would go unnoticed. */
static void check_answers(bool by_settings)
{
    bool whole = !peer.out_broken && peer.out_checked == peer.out_length && peer.out_block == 0;
    settle();
    pass_time(1000); /* the limits per second begin again */
    if (!is_speaking() || !whole)
        return;
    if (by_settings)
        h2_peer_setting(&peer, UVH_H2_INITIAL_WINDOW_SIZE, 1 << 22);
    if (peer.window < 1 << 28)
        h2_peer_number(&peer, UVH_H2_WINDOW_UPDATE, 0, 1 << 28);
    for (uint32_t id = 1; id < 2 * H2_PEER_STREAMS; id += 2) {
        struct h2_peer_stream *stream = h2_peer_stream(&peer, id);
        if (!by_settings && !h2_peer_is_over(&peer, id))
            h2_peer_number(&peer, UVH_H2_WINDOW_UPDATE, id, 1 << 22);
        if (!stream->ended && !h2_peer_is_over(&peer, id))
            h2_peer_frame(&peer, UVH_H2_DATA, UVH_H2_END_STREAM, id, "", 0);
    }
    settle();
    if (!is_speaking())
        return;
    for (uint32_t id = 1; id < 2 * H2_PEER_STREAMS; id += 2) {
        const struct h2_peer_stream *stream = h2_peer_stream(&peer, id);
        if (!h2_peer_is_over(&peer, id))
            report("no answer", id);
        if (stream->wrong_bytes > 0 && !raw && !is_text[id / 2])
            report("the body is wrong", id);
    }
}

static void finish(uvhttp_server_t *server)
{
    if (client >= 0)
        close(client);
    client = -1;
    for (size_t i = 0; i < PENDING; i++)
        continue_pending(&pending[i], 0);
    for (int round = 0; round < 8; round++)
        pass_time(SCRIPT_TIME_MS);
    for (size_t i = 0; i < PENDING; i++)
        continue_pending(&pending[i], 0);
    for (int round = 0; round < 8; round++)
        pass_time(SCRIPT_TIME_MS);
    require(exchanges == 0 && borrowed == 0);
    require(uvhttp_server_stats(server)->active_connections == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    script = data;
    script_end = data + size;
    if (file < 0)
        begin();
    unsigned kind = next() % SERVERS, first = next();
    if (servers[kind] == NULL)
        servers[kind] = new_server(kind);
    uvhttp_server_t *server = servers[kind];
    int sockets[2], buffer = 4096;
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    if ((first & 1) != 0)
        setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    require(uvhttp_server_adopt(server, sockets[1]) == 0);
    client = sockets[0];
    delivered = 0;
    next_id = 1;
    ended = raw = false;
    memset(uploaded, 0, sizeof(uploaded));
    h2_peer_init(&peer);
    peer.upload_most = kind % 2 == 0 ? 200000 : UVH_H2_WINDOW;
    if ((first & 2) == 0)
        h2_peer_begin(&peer);
    if ((first & 4) == 0)
        h2_peer_setting(&peer, UVH_H2_INITIAL_WINDOW_SIZE, (first >> 4) * 5000);
    bool open = true;
    for (int steps = 0; steps < MAX_STEPS && script < script_end && open; steps++)
        open = step(&servers[kind]);
    if (open)
        check_answers((first & 8) != 0);
    finish(server);
    h2_peer_release(&peer);
    if (servers[kind] == NULL || ++runs[kind] == SERVER_RUNS)
        free_server(kind, server);
    return 0;
}
