/* Endpoints: options with their defaults, and the handler that upgrades a request to a
 * connection. */
#include <stdio.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "options/frozen.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "options/reload.h"
#include "options/use.h"
#include "websocket/websocket.h"

enum {
    KIB = 1024,
    MIB = 1024 * 1024,
    DEFAULT_FRAGMENTS = 1024,
    DEFAULT_FRAGMENT = 1024, /* average bytes of a fragment */
    DEFAULT_PING_MS = 30000,
    DEFAULT_CLOSE_MS = 10000,
    DEFAULT_MIN_SIZE = 64, /* a smaller message gains less than the header of a compressed block */
    DEFAULT_RATIO = 200,
    /* Level 1 gains three quarters of level 6 in less than half of the time. Broadcast messages are
     * compressed once. */
    DEFAULT_LEVEL = 1,
    DEFAULT_LEVEL_FOR_MANY = 6,
    MOST_BITS = 15,
    MOST_MS = 86400000,
};

static size_t or_default(size_t value, size_t standard)
{
    return value != 0 ? value : standard;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- options ---- */

static int check_or_never(const char *name, uint32_t ms, uvhttp_error_t *error)
{
    if (ms <= MOST_MS || ms == UVHTTP_NEVER)
        return 0;
    return uvh_error_size(error, name, ms, "allowed are 0 to %d milliseconds and UVHTTP_NEVER",
                          MOST_MS);
}

static struct uvh_ws_accept_rules rules_of(const uvhttp_websocket_options_t *options)
{
    return (struct uvh_ws_accept_rules){.protocols = options->protocols,
                                        .protocol_required = options->protocol_required,
                                        .origins = options->origins};
}

static int check_numbers(const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    const struct {
        const char *name;
        int value, least, most;
        const char *unit;
    } ranges[] = {
        {"slow", (int)options->slow, 0, 2, "(a policy)"},
        {"compression", (int)options->compression, 0, 2, "(a kind)"},
        {"compression_level", options->compression_level, 0, 9, "(zlib's)"},
        {"window_bits", options->window_bits == 0 ? MOST_BITS : options->window_bits, 9, MOST_BITS,
         "bits"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(ranges); i++) {
        if (ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most)
            continue;
        return uvh_error_int(error, ranges[i].name, ranges[i].value, "allowed are %d to %d %s",
                             ranges[i].least, ranges[i].most, ranges[i].unit);
    }
    int err = check_or_never("ping_interval_ms", options->ping_interval_ms, error);
    return err != 0 ? err : check_or_never("idle_timeout_ms", options->idle_timeout_ms, error);
}

/* Checks each option separately. */
static int check_ranges(const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    const size_t most = (size_t)1 << 30;
    const struct uvh_option_range ranges[] = {
        {"max_message_size", options->max_message_size, 0, most, "bytes"},
        {"max_frame_size", options->max_frame_size, 0, most, "bytes"},
        {"max_fragments", options->max_fragments, 0, 1u << 30, "frames"},
        {"max_message_rate", options->max_message_rate, 0, 1000000, "messages per second"},
        {"high_watermark", options->high_watermark, 0, most, "bytes"},
        {"low_watermark", options->low_watermark, 0, most, "bytes"},
        {"max_queue_size", options->max_queue_size, 0, most, "bytes"},
        {"compression_min_size", options->compression_min_size, 0, most, "bytes"},
        {"close_timeout_ms", options->close_timeout_ms, 0, MOST_MS, "milliseconds"},
        {"max_ratio", options->max_ratio, 0, 1u << 20, "times"},
        {"memory_per_connection", options->memory_per_connection, 0, most, "bytes"},
    };
    int err = uvh_option_check(ranges, UVH_COUNT_OF(ranges), error);
    if (err == 0)
        err = check_numbers(options, error);
    if (err == 0 && (options->events.message == NULL) == (options->events.chunk == NULL)) {
        uvh_error_sentence(error, "events", NULL,
                           "exactly one of events.message and events.chunk must be set");
        return UVHTTP_EINVAL;
    }
    if (err == 0 && options->memory != 0 && options->shares_memory_with != NULL) {
        uvh_error_sentence(error, "memory", NULL,
                           "memory and shares_memory_with are both set; only one is allowed");
        return UVHTTP_EINVAL;
    }
    return err;
}

static void put_defaults(uvhttp_websocket_options_t *options)
{
    options->max_message_size = or_default(options->max_message_size, MIB);
    options->max_frame_size = or_default(options->max_frame_size, options->max_message_size);
    /* Some clients send frames of 4 KiB. */
    size_t fragments = options->max_message_size / DEFAULT_FRAGMENT;
    options->max_fragments = or_default(
        options->max_fragments, fragments > DEFAULT_FRAGMENTS ? fragments : DEFAULT_FRAGMENTS);
    options->max_queue_size = or_default(options->max_queue_size, MIB);
    options->high_watermark =
        or_default(options->high_watermark, smaller(64 * KIB, options->max_queue_size));
    options->low_watermark = or_default(options->low_watermark, options->high_watermark / 4);
    if (options->ping_interval_ms == 0)
        options->ping_interval_ms = DEFAULT_PING_MS;
    if (options->idle_timeout_ms == 0)
        options->idle_timeout_ms = UVHTTP_NEVER;
    if (options->close_timeout_ms == 0)
        options->close_timeout_ms = DEFAULT_CLOSE_MS;
    options->compression_min_size = or_default(options->compression_min_size, DEFAULT_MIN_SIZE);
    options->window_bits = options->window_bits == 0 ? MOST_BITS : options->window_bits;
    options->max_ratio = or_default(options->max_ratio, DEFAULT_RATIO);
    options->memory_per_connection = or_default(options->memory_per_connection, 64 * KIB);
    options->memory = options->shares_memory_with != NULL
                          ? options->shares_memory_with->memory->budget.limit
                          : or_default(options->memory, 64 * (size_t)MIB);
}

/* Checks combinations, with the defaults set: one option must not make another one's guarantee
 * impossible. max_frame_size may exceed max_message_size: it applies to the frame as sent, and
 * compression makes some messages longer. */
static int check_together(const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    bool dedicated = options->compression == UVHTTP_WEBSOCKET_COMPRESS_DEDICATED;
    size_t collected = options->events.message != NULL ? options->max_message_size : 0;
    const struct uvh_option_range ranges[] = {
        {"low_watermark", options->low_watermark, 0, options->high_watermark,
         "bytes (high_watermark)"},
        {"high_watermark", options->high_watermark, 0, options->max_queue_size,
         "bytes (max_queue_size)"},
        {"memory", options->memory, collected, SIZE_MAX, "bytes (max_message_size)"},
        {"memory_per_connection", options->memory_per_connection,
         dedicated ? uvh_ws_deflate_least() : 0, SIZE_MAX, "bytes (windows of 9 bits)"},
    };
    return uvh_option_check(ranges, UVH_COUNT_OF(ranges), error);
}

static int check(const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    uvhttp_websocket_options_t complete;
    if (options == NULL)
        return UVHTTP_EINVAL;
    int err = check_ranges(options, error);
    if (err != 0)
        return err;
    complete = *options;
    put_defaults(&complete);
    const struct uvh_ws_accept_rules rules = rules_of(options);
    err = check_together(&complete, error);
    return err != 0 ? err : uvh_ws_accept_check_rules(&rules, error);
}

int uvhttp_websocket_check(const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, check(options, error));
}

static const char *const *copy_list(struct uvh_owned *owned, const char *const *list, bool *failed)
{
    size_t count = 0;
    if (list == NULL)
        return NULL;
    while (list[count] != NULL)
        count++;
    const char **copy = uvh_owned_alloc(owned, (count + 1) * sizeof(*copy));
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = uvh_owned_string(owned, list[i], strlen(list[i]));
        *failed = *failed || copy[i] == NULL;
    }
    *failed = *failed || copy == NULL;
    return copy;
}

/* ---- endpoints ---- */

static void endpoint_free(void *arg)
{
    struct uvhttp_websocket_endpoint *endpoint = arg;
    const uvhttp_allocator_t *allocator = endpoint->allocator;
    for (size_t i = 0; i < endpoint->worker_count; i++) {
        uvh_ws_deflate_worker_release(&endpoint->workers[i].deflate);
        uvh_bytes_release(&endpoint->workers[i].out);
        uvh_free(allocator, endpoint->workers[i].scratch);
    }
    uvh_ws_deflate_many_release(&endpoint->many);
    uvh_owned_free(endpoint->owned);
    uvh_ws_memory_unref(endpoint->memory); /* messages still referenced hold a reference to it */
    uvh_free(allocator, endpoint);
}

/* Sets all members except allocated ones. */
static void settle(struct uvhttp_websocket_endpoint *endpoint, uvhttp_server_t *server,
                   size_t workers)
{
    const uvhttp_websocket_options_t *options = &endpoint->options;
    endpoint->server = server;
    endpoint->generation = uvh_generation_of_set_up(server);
    endpoint->from_clients =
        (struct uvh_ws_rules){.max_frame_size = options->max_frame_size,
                              .max_fragments = (uint32_t)options->max_fragments,
                              .from_client = true};
    endpoint->from_servers = endpoint->from_clients;
    endpoint->from_servers.from_client = false;
    endpoint->accept = rules_of(options);
    endpoint->deflate = (struct uvh_ws_deflate_settings){
        .allocator = endpoint->allocator,
        .compression = options->compression,
        .level = options->compression_level == 0 ? DEFAULT_LEVEL : options->compression_level,
        .shared_level =
            options->compression_level == 0 ? DEFAULT_LEVEL_FOR_MANY : options->compression_level,
        .window_bits = options->window_bits,
        .min_size = options->compression_min_size,
        .max_ratio = options->max_ratio,
        .memory_per_connection = options->memory_per_connection,
        .budget = &endpoint->memory->budget,
        .windows = &endpoint->memory->windows,
        .many = &endpoint->many,
    };
    endpoint->worker_count = workers;
    for (size_t i = 0; i < workers; i++) {
        endpoint->workers[i].endpoint = endpoint;
        endpoint->workers[i].index = i;
        uvh_bytes_init(&endpoint->workers[i].out, endpoint->allocator, (size_t)1 << 31);
    }
}

static int create(uvhttp_websocket_endpoint_t **out, uvhttp_server_t *server,
                  const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (server == NULL)
        return UVHTTP_ENOMEM;
    int err = uvh_check_not_frozen(server, error, "WebSocket endpoints must be added");
    if (err != 0)
        return err;
    err = check(options, error);
    if (err != 0)
        return err;
    const uvhttp_allocator_t *allocator =
        options->allocator == NULL ? uvh_alloc_default() : options->allocator;
    size_t workers = uvhttp_server_worker_count(server);
    struct uvhttp_websocket_endpoint *endpoint =
        uvh_alloc_zero(allocator, sizeof(*endpoint) + workers * sizeof(endpoint->workers[0]));
    if (endpoint == NULL)
        return UVHTTP_ENOMEM;
    bool failed = false;
    endpoint->allocator = allocator;
    endpoint->options = *options;
    put_defaults(&endpoint->options);
    endpoint->owned = uvh_owned_new(allocator, sizeof(*endpoint->owned));
    if (endpoint->owned != NULL) {
        endpoint->options.protocols = copy_list(endpoint->owned, options->protocols, &failed);
        endpoint->options.origins = copy_list(endpoint->owned, options->origins, &failed);
    }
    endpoint->memory = options->shares_memory_with != NULL
                           ? uvh_ws_memory_ref(options->shares_memory_with->memory)
                           : uvh_ws_memory_new(allocator, endpoint->options.memory, false);
    err = UVHTTP_ENOMEM;
    if (endpoint->owned != NULL && !failed && endpoint->memory != NULL) {
        settle(endpoint, server, workers);
        err = uvhttp_server_own(server, endpoint_free, endpoint);
    }
    if (err != 0) {
        endpoint_free(endpoint);
        return err;
    }
    *out = endpoint;
    return 0;
}

int uvhttp_websocket_endpoint_new(uvhttp_websocket_endpoint_t **out, uvhttp_server_t *server,
                                  const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(out, server, options, error));
}

int uvhttp_websocket_route(uvhttp_server_t *server, const char *pattern,
                           const uvhttp_websocket_options_t *options, uvhttp_error_t *error)
{
    uvhttp_websocket_endpoint_t *endpoint;
    uvhttp_error_t why;
    int err = uvhttp_websocket_endpoint_new(&endpoint, server, options, &why);
    uvh_error_copy(error, &why);
    if (why.field[0] != '\0')
        uvhttp_server_log(server, UVHTTP_LOG_ERROR, "websocket %s: %s",
                          pattern != NULL ? pattern : "", why.text);
    if (err != 0)
        return uvh_use_error(server, &why);
    /* Without .upgrade: the handler responds to requests that are no handshake, with an
     * explanation. */
    err = uvhttp_router_add(uvhttp_server_router(server),
                            &(uvhttp_route_t){.method = "GET",
                                              .pattern = pattern,
                                              .handler = uvhttp_websocket_handle_request,
                                              .arg = endpoint});
    uvh_error_copy(error, uvhttp_server_error(server));
    return err;
}

/* ---- requests ---- */

/* The request is valid; `data` belongs to the user until this returns 0. */
static int upgrade(struct uvhttp_websocket_endpoint *endpoint, uvhttp_response_t *response,
                   const struct uvh_ws_accepted *accepted, void *data, uvhttp_websocket_t **out)
{
    struct uvh_ws_worker *worker =
        &endpoint->workers[uvhttp_request_worker(uvhttp_response_request(response))];
    struct uvh_ws_deflate *deflate = NULL;
    size_t reserved = accepted->reserved;
    int err = uvh_ws_accept_fields(response, accepted);
    if (err == 0 && accepted->compressed) {
        deflate = uvh_ws_deflate_new(&endpoint->deflate, &accepted->terms, false, reserved);
        reserved = 0;
        err = deflate == NULL ? UVHTTP_ENOMEM : 0;
    }
    uvh_ws_deflate_unreserve(&endpoint->deflate, reserved);
    struct uvhttp_websocket *ws = err == 0 ? uvh_websocket_new(worker, data) : NULL;
    if (err == 0 && ws == NULL)
        err = UVHTTP_ENOMEM;
    if (err == 0)
        err = uvhttp_response_upgrade(response, "websocket", &uvh_websocket_stream_events, ws,
                                      &ws->stream);
    if (err != 0) {
        if (ws != NULL)
            uvh_websocket_discard(ws);
        uvh_ws_deflate_free(deflate);
        if (err != UVHTTP_EDISCONNECTED) /* with UVHTTP_EDISCONNECTED the response may be invalid */
            uvh_ws_accept_take_back(response);
        return err;
    }
    uvh_websocket_ref(ws);
    uvh_websocket_open(ws, accepted->protocol, deflate);
    if (out != NULL)
        *out = ws->close_notified ? NULL : ws;
    uvh_websocket_unref(ws);
    return 0;
}

/* Negotiates with this client, and reserves a part of the budget for it. */
static int agree(struct uvhttp_websocket_endpoint *endpoint, uvhttp_request_t *request,
                 struct uvh_ws_accepted *accepted, struct uvh_ws_refusal *refusal)
{
    struct uvh_ws_accept_rules rules = endpoint->accept;
    struct uvh_ws_deflate_preferences preferences;
    size_t reserved = 0;
    if (uvh_ws_deflate_preferences(&endpoint->deflate, &preferences, &reserved))
        rules.deflate = &preferences;
    int err = uvh_ws_accept_check(request, &rules, accepted, refusal);
    if (err != 0 || !accepted->compressed) {
        uvh_ws_deflate_unreserve(&endpoint->deflate, reserved);
        reserved = 0;
    }
    accepted->reserved = reserved;
    return err;
}

int uvhttp_websocket_accept(uvhttp_websocket_endpoint_t *endpoint, uvhttp_response_t *response,
                            void *data, uvhttp_websocket_t **ws)
{
    struct uvh_ws_accepted accepted;
    struct uvh_ws_refusal refusal;
    if (ws != NULL)
        *ws = NULL;
    if (endpoint == NULL)
        return UVHTTP_ENOMEM;
    int err = agree(endpoint, uvhttp_response_request(response), &accepted, &refusal);
    return err != 0 ? err : upgrade(endpoint, response, &accepted, data, ws);
}

/* Responds when `admit` did not. An `admit` that has responded may return 0 as well. */
static int refuse(uvhttp_response_t *response, int err)
{
    if (err < 0 || !uvhttp_response_open(response))
        return err < 0 ? err : 0;
    return uvhttp_response_send_text(response, 403, "The server refused this WebSocket.\n");
}

int uvhttp_websocket_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                    void *arg)
{
    struct uvhttp_websocket_endpoint *endpoint = arg;
    if (endpoint == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_websocket_options_t *options = &endpoint->options;
    struct uvh_ws_accepted accepted;
    struct uvh_ws_refusal refusal;
    void *data = NULL;
    int err = agree(endpoint, request, &accepted, &refusal);
    if (err != 0)
        return uvh_ws_accept_refuse(response, &refusal);
    if (options->admit != NULL)
        err = options->admit(request, &data, options->arg);
    if (err != 0 || !uvhttp_response_open(response)) {
        uvh_ws_deflate_unreserve(&endpoint->deflate, accepted.reserved);
        err = refuse(response, err);
    } else {
        err = upgrade(endpoint, response, &accepted, data, NULL);
        if (err == 0)
            return 0;
    }
    if (options->release != NULL && data != NULL)
        options->release(data);
    return err;
}

/* ---- statistics ---- */

void uvhttp_websocket_read_stats(const uvhttp_websocket_endpoint_t *endpoint,
                                 uvhttp_websocket_stats_t *stats)
{
    if (stats == NULL)
        return;
    *stats = (uvhttp_websocket_stats_t){0};
    if (endpoint == NULL)
        return;
    for (size_t i = 0; i < endpoint->worker_count; i++) {
        const struct uvh_ws_worker *worker = &endpoint->workers[i];
        stats->connections += uvh_counter_read(&worker->connections);
        stats->total_connections += uvh_counter_read(&worker->total_connections);
        stats->compressing += uvh_counter_read(&worker->compressing);
        stats->dedicated += uvh_counter_read(&worker->dedicated);
        stats->messages_received += uvh_counter_read(&worker->messages_received);
        stats->messages_sent += uvh_counter_read(&worker->messages_sent);
        stats->dropped += uvh_counter_read(&worker->dropped);
    }
    stats->memory = atomic_load_explicit(
        (atomic_size_t *)(uintptr_t)&endpoint->memory->budget.taken, memory_order_relaxed);
}
