/* A timer of the server takes a sample each second, and keeps those of the last seconds. A request
 * shows the difference between a new sample and the oldest one; an open page gets that of the
 * timer.
 *
 * The samples are protected by a lock, since requests are handled on all workers. */
#include <uvhttp/status_page.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/event_hub.h>

#include "base/alloc.h"
#include "observe/status_json.h"
#include "observe/status_page.h"
#include "options/error.h"
#include "options/use.h"
#include "platform/lock.h"
#include "platform/random.h"

enum {
    INTERVAL_MS = 1000,
    SAMPLES = 6, /* the oldest one is five seconds old */
    RECONNECT_MS = 1000,
    /* An open page keeps the routes of a set-up that a reload has replaced, so it reconnects. */
    MOST_TICKS = 300,
    TEXT_MAX = 1048576,
    NONCE_SIZE = 33,
};

struct uvhttp_status_page {
    uvhttp_server_t *server;
    const uvhttp_allocator_t *allocator;
    uvhttp_event_hub_t *hub;
    uvhttp_timer_t *timer; /* NULL: ended */
    size_t refs;           /* of the owner and the timer, on one thread */
    unsigned ticks;
    struct uvh_lock lock; /* for the following */
    /* NULL until the first use, since the number of workers may change before */
    char *memory;
    size_t workers;
    size_t oldest, count; /* of the samples taken by the timer */
    struct uvh_status_history history;
};

static void unref(void *arg)
{
    struct uvhttp_status_page *status = arg;
    if (--status->refs > 0)
        return;
    uvhttp_event_hub_free(status->hub);
    uvh_lock_destroy(&status->lock);
    uvh_free(status->allocator, status->memory);
    uvh_free(status->allocator, status);
}

/* ---- samples, under the lock ---- */

/* An empty sample, one for requests, then those of the timer. */
enum { EMPTY = 0, CURRENT, FIRST };

static struct uvh_status_sample *sample_at(const struct uvhttp_status_page *status, size_t index)
{
    return (void *)(status->memory + index * uvh_status_sample_size(status->workers));
}

static bool has_memory(struct uvhttp_status_page *status)
{
    if (status->memory != NULL)
        return true;
    status->workers = uvhttp_server_worker_count(status->server);
    status->memory = uvh_alloc_zero(status->allocator,
                                    (FIRST + SAMPLES) * uvh_status_sample_size(status->workers));
    return status->memory != NULL;
}

/* From the oldest sample of the timer to `after`. */
static struct uvh_status_view view_to(const struct uvhttp_status_page *status,
                                      const struct uvh_status_sample *after)
{
    size_t before = status->count < 2 ? EMPTY : FIRST + status->oldest;
    return (struct uvh_status_view){
        .before = sample_at(status, before), .after = after, .history = &status->history};
}

/* Replaces the oldest one when all are used. */
static struct uvh_status_sample *next_sample(struct uvhttp_status_page *status)
{
    size_t at = (status->oldest + status->count) % SAMPLES;
    if (status->count < SAMPLES)
        status->count++;
    else
        status->oldest = (status->oldest + 1) % SAMPLES;
    return sample_at(status, FIRST + at);
}

/* ---- the timer ---- */

static void publish(struct uvhttp_status_page *status, const struct uvh_bytes *text)
{
    const uvhttp_sse_event_t event = {.data = {text->data, text->length}};
    if (!text->failed) /* the next one may succeed */
        (void)uvhttp_event_hub_publish(status->hub, &event);
}

static void on_timer(uvhttp_server_t *server, void *arg)
{
    struct uvhttp_status_page *status = arg;
    bool is_open = uvhttp_event_hub_count(status->hub) > 0;
    struct uvh_bytes text;
    uvh_bytes_init(&text, status->allocator, TEXT_MAX);
    uvh_lock_acquire(&status->lock);
    if (has_memory(status)) {
        struct uvh_status_sample *sample = next_sample(status);
        uvh_status_sample_take(sample, server, status->workers);
        struct uvh_status_view view = view_to(status, sample);
        uvh_status_history_add(&status->history, &view);
        if (is_open)
            uvh_status_page_append_main(&text, &view);
    }
    uvh_lock_release(&status->lock);
    if (text.length > 0)
        publish(status, &text);
    uvh_bytes_release(&text);
    if (++status->ticks % MOST_TICKS == 0)
        uvhttp_event_hub_end(status->hub);
}

static void on_timer_ended(void *arg)
{
    struct uvhttp_status_page *status = arg;
    status->timer = NULL;
    unref(status);
}

int uvhttp_status_page_new(uvhttp_status_page_t **out, uvhttp_server_t *server)
{
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (server == NULL)
        return UVHTTP_ENOMEM;
    const uvhttp_allocator_t *allocator = uvhttp_server_allocator(server);
    const uvhttp_event_hub_options_t options = {.allocator = allocator};
    struct uvhttp_status_page *status = uvh_alloc_zero(allocator, sizeof(*status));
    if (status == NULL)
        return UVHTTP_ENOMEM;
    status->server = server;
    status->allocator = allocator;
    status->refs = 1;
    uvh_lock_init(&status->lock);
    int err = uvhttp_event_hub_new(&status->hub, &options, NULL);
    if (err == 0)
        err = uvhttp_server_every(server, INTERVAL_MS, on_timer, status, &status->timer);
    if (err != 0) {
        unref(status);
        return err;
    }
    status->refs++;
    uvhttp_timer_own(status->timer, on_timer_ended);
    *out = status;
    return 0;
}

void uvhttp_status_page_free(void *arg)
{
    struct uvhttp_status_page *status = arg;
    if (status == NULL)
        return;
    uvhttp_event_hub_end(status->hub);
    uvhttp_timer_stop(status->timer);
    unref(status);
}

int uvhttp_server_route_status(uvhttp_server_t *server, const char *pattern)
{
    uvhttp_status_page_t *status;
    uvhttp_error_t error;
    uvh_error_clear(&error);
    int err = uvhttp_status_page_new(&status, server);
    if (err == 0 && (err = uvhttp_server_own(server, uvhttp_status_page_free, status)) != 0)
        uvhttp_status_page_free(status);
    if (err != 0) {
        uvh_error_end(&error, err);
        return uvh_use_error(server, &error);
    }
    return uvhttp_server_route(server, "GET", pattern, uvhttp_status_page_handle_request, status);
}

/* ---- requests ---- */

typedef void (*append_cb)(struct uvh_bytes *text, const struct uvh_status_view *view,
                          const char *nonce);

static void append_page(struct uvh_bytes *text, const struct uvh_status_view *view,
                        const char *nonce)
{
    uvh_status_page_append(text, view, nonce);
}

static void append_json(struct uvh_bytes *text, const struct uvh_status_view *view,
                        const char *nonce)
{
    (void)nonce;
    uvh_status_json_append(text, view);
}

static void append_event(struct uvh_bytes *text, const struct uvh_status_view *view,
                         const char *nonce)
{
    (void)nonce;
    uvh_status_page_append_main(text, view);
}

/* Returns 0 or UVHTTP_ENOMEM. The caller releases the text. */
static int write_now(struct uvhttp_status_page *status, append_cb append, const char *nonce,
                     struct uvh_bytes *text)
{
    uvh_bytes_init(text, status->allocator, TEXT_MAX);
    uvh_lock_acquire(&status->lock);
    bool done = has_memory(status);
    if (done) {
        struct uvh_status_sample *sample = sample_at(status, CURRENT);
        uvh_status_sample_take(sample, status->server, status->workers);
        struct uvh_status_view view = view_to(status, sample);
        append(text, &view, nonce);
    }
    uvh_lock_release(&status->lock);
    return done && !text->failed ? 0 : UVHTTP_ENOMEM;
}

static int respond(struct uvhttp_status_page *status, uvhttp_response_t *response, append_cb append,
                   const char *nonce, const char *type)
{
    struct uvh_bytes text;
    int err = write_now(status, append, nonce, &text);
    if (err == 0)
        err = uvhttp_response_set_header(response, "Cache-Control", "no-store");
    if (err == 0)
        err = uvhttp_response_send(response, 200, type, text.data, text.length);
    uvh_bytes_release(&text);
    return err;
}

/* Replaces the policy of a site, which may forbid inline scripts. */
static int respond_page(struct uvhttp_status_page *status, uvhttp_response_t *response)
{
    char nonce[NONCE_SIZE], policy[256];
    uint64_t high, low;
    int err = uvh_random_number(&high);
    if (err == 0)
        err = uvh_random_number(&low);
    if (err != 0)
        return err;
    snprintf(nonce, sizeof(nonce), "%016" PRIx64 "%016" PRIx64, high, low);
    snprintf(policy, sizeof(policy),
             "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
             "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
             "frame-ancestors 'self'",
             nonce, nonce);
    err = uvhttp_response_set_header(response, "Content-Security-Policy", policy);
    return err != 0 ? err
                    : respond(status, response, append_page, nonce, "text/html; charset=utf-8");
}

/* The first event is sent at once. */
static int respond_events(struct uvhttp_status_page *status, uvhttp_response_t *response)
{
    struct uvh_bytes text;
    int err = write_now(status, append_event, NULL, &text);
    if (err == 0)
        err = uvhttp_event_hub_subscribe(status->hub, response);
    const uvhttp_sse_event_t event = {.data = {text.data, text.length}, .retry_ms = RECONNECT_MS};
    if (err == 0)
        err = uvhttp_response_send_event(response, &event);
    uvh_bytes_release(&text);
    return err;
}

int uvhttp_status_page_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                      void *arg)
{
    struct uvhttp_status_page *status = arg;
    if (status == NULL)
        return UVHTTP_EINVAL;
    const char *format = uvhttp_request_query(request, "format");
    if (format == NULL)
        return respond_page(status, response);
    if (strcmp(format, "json") == 0)
        return respond(status, response, append_json, NULL, "application/json");
    if (strcmp(format, "events") == 0)
        return respond_events(status, response);
    return uvhttp_response_send_error(response, 400, "format is not json or events");
}
