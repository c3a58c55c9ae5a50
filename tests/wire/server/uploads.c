/* Handlers of wire_server for bodies in files, forms with files, event streams for many clients,
 * and bodies that are paused or answered from outside their callback. */
#include "wire_server.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(uvhttp_request_t *req, const char *name)
{
    const char *text = uvhttp_request_query(req, name);
    return text == NULL ? 0 : strtoull(text, NULL, 0);
}

static bool has_query(uvhttp_request_t *req, const char *name)
{
    return uvhttp_request_query(req, name) != NULL;
}

/* ---- bodies in files ---- */

static struct {
    size_t calls;
    uint64_t received, total;
    bool grows;
} progress;

static void upload_progress(uvhttp_request_t *req, uint64_t received, uint64_t total, void *arg)
{
    (void)req, (void)arg;
    progress.grows = (progress.calls++ == 0 || progress.grows) && received > progress.received;
    progress.received = received;
    progress.total = total;
}

static int upload_report(uvhttp_request_t *req, uvhttp_response_t *res,
                         const uvhttp_upload_t *upload, void *arg)
{
    char text[4200];
    if (arg != &app)
        return UVHTTP_EINVAL;
    if (has_query(req, "progress")) {
        (void)snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 "%s\n", progress.received,
                       progress.total, progress.grows ? "" : ", not growing");
        memset(&progress, 0, sizeof progress);
        return uvhttp_response_send_text(res, 200, text);
    }
    (void)snprintf(text, sizeof text, "%s %" PRIu64 " %s%s%s\n", upload->path, upload->size,
                   upload->created ? "created" : "replaced", upload->sha256 == NULL ? "" : " ",
                   upload->sha256 == NULL ? "" : upload->sha256);
    return uvhttp_response_send_text(res, 200, text);
}

/* Refuses files that begin with an 'x', with the status. */
static int upload_check(const uvhttp_upload_t *upload, void *status)
{
    char *data;
    size_t size;
    int err = uvhttp_file_load(upload->path, &data, &size);
    bool refused = err != 0 || size != upload->size || data[0] == 'x';
    uvhttp_file_release(data);
    return refused ? (int)(intptr_t)status : 0;
}

int upload(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_upload_options_t options = {
        .max_size = number_of(req, "max"),
        .mode = (unsigned)number_of(req, "mode"),
        .keep_existing = has_query(req, "keep"),
        .sync = has_query(req, "sync"),
        .sha256 = has_query(req, "sha256"),
        .progress = has_query(req, "progress") ? upload_progress : NULL,
        .check = has_query(req, "check") ? upload_check : NULL,
        .arg = (void *)(intptr_t)number_of(req, "check")};
    const char *directory = uvhttp_request_query(req, "folder");
    const char *name =
        has_query(req, "as") ? uvhttp_request_query(req, "as") : uvhttp_request_param(req, "name");
    (void)res, (void)arg;
    int err = uvhttp_upload_to_file(req, directory, name, &options,
                                    has_query(req, "report") ? upload_report : NULL, &app);
    if (has_query(req, "twice"))
        app.last_error = uvhttp_upload_to_file(req, directory, name, &options, NULL, NULL);
    return err;
}

/* ---- forms ---- */

/* A line for each part. The test reads files of parts from disk while the response is pending, or
 * after they are kept. */
static int form_report(uvhttp_request_t *req, uvhttp_response_t *res,
                       const uvhttp_form_data_t *form, void *arg)
{
    static char text[65536];
    int length = snprintf(text, sizeof text, "%u\n", (unsigned)form->count);
    int number = 0;
    (void)arg;
    for (const uvhttp_form_part_t *part = form->parts; part != NULL; part = part->next) {
        char kept[4200] = "";
        char hash[16] = "-";
        if (part->data != NULL)
            (void)snprintf(hash, sizeof hash, "%08" PRIx32,
                           fnv_add(FNV_OFFSET_BASIS, part->data, (size_t)part->size));
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%s|%s|%s|%s|%" PRIu64 "|%s|%s",
                     part->name, part->filename == NULL ? "-" : part->filename,
                     part->raw_filename == NULL ? "-" : part->raw_filename,
                     part->type == NULL ? "-" : part->type, part->size, hash,
                     part->path == NULL ? "memory" : "file");
        if (has_query(req, "keep")) {
            (void)snprintf(kept, sizeof kept, "%s/kept-%d", uvhttp_request_query(req, "keep"),
                           number++);
            int err = uvhttp_form_part_keep(part, kept);
            app.last_error = uvhttp_form_part_keep(part, kept);
            length += snprintf(text + length, sizeof text - (size_t)length, "|%s",
                               uvhttp_error_name(err));
        }
        length += snprintf(text + length, sizeof text - (size_t)length, "\n");
    }
    if (has_query(req, "name") &&
        uvhttp_form_data_part(form, uvhttp_request_query(req, "name")) == NULL)
        return uvhttp_response_send_status(res, 404);
    return uvhttp_response_send_text(res, 200, text);
}

int form_data(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_form_options_t options = {
        .directory = uvhttp_request_query(req, "folder"),
        .memory_part_size = number_of(req, "part"),
        .memory_size = number_of(req, "memory"),
        .max_size = number_of(req, "max"),
        .max_part_size = number_of(req, "max-part"),
        .max_parts = (uint32_t)number_of(req, "parts"),
        .max_header_size = (uint32_t)number_of(req, "header"),
        .mode = (unsigned)number_of(req, "mode"),
    };
    (void)res, (void)arg;
    return uvhttp_form_data_read(req, &options, form_report, NULL);
}

/* ---- events for many clients ---- */

static uvhttp_event_hub_t *hub;

static void listener_aborted(uvhttp_response_t *res, void *arg)
{
    (void)res, (void)arg;
    app.aborts++;
    (void)uvhttp_event_hub_publish(hub, &(uvhttp_sse_event_t){.data = {"somebody has left", 17}});
}

int hub_listen(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    const uvhttp_event_hub_options_t options = {.allocator = &counting_allocator};
    if (hub == NULL && uvhttp_event_hub_new(&hub, &options, NULL) != 0)
        return UVHTTP_ENOMEM;
    if (has_query(req, "told"))
        uvhttp_response_on_abort(res, listener_aborted, NULL);
    if (has_query(req, "begun")) {
        int err = uvhttp_response_begin_events(res);
        if (err != 0)
            return err;
    }
    int err = uvhttp_event_hub_subscribe(hub, res);
    if (has_query(req, "twice"))
        app.last_error = uvhttp_event_hub_subscribe(hub, res);
    if (err == 0 && has_query(req, "retry"))
        err = uvhttp_response_send_event(res, &(uvhttp_sse_event_t){.retry_ms = 2000});
    return err;
}

/* After the streams have got the event. */
static void hub_report(uvhttp_server_t *server, size_t worker, void *res)
{
    char text[64];
    (void)server, (void)worker;
    (void)snprintf(text, sizeof text, "%zu %" PRIu64, uvhttp_event_hub_count(hub),
                   uvhttp_event_hub_dropped(hub));
    (void)uvhttp_response_send_text(res, 200, text);
}

int hub_publish(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    const char *id = uvhttp_request_query(req, "id");
    (void)arg;
    if (hub == NULL)
        return uvhttp_response_send_status(res, 404);
    if (has_query(req, "end"))
        uvhttp_event_hub_end(hub);
    else
        app.last_error = uvhttp_event_hub_publish(
            hub, &(uvhttp_sse_event_t){.id = {id, id == NULL ? 0 : strlen(id)}, .data = body});
    return uvhttp_server_post(uvhttp_request_server(req), 0, hub_report, res);
}

void hub_release(void)
{
    uvhttp_event_hub_free(hub);
    hub = NULL;
}

/* Two events with a pause between them, until the client disconnects. */
int silent_events(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    int err = uvhttp_response_begin_events(res);
    return err != 0 ? err
                    : uvhttp_response_send_event(res, &(uvhttp_sse_event_t){.data = {"one", 3}});
}

/* ---- a body that is paused, or gets its response, outside of its callback ---- */

struct ticking {
    uv_timer_t timer; /* alternately pauses and resumes */
    uvhttp_response_t *response;
    uint64_t size;
    uint64_t pauses;
    bool paused;
    bool responded;
};

static void free_ticking(uv_handle_t *timer)
{
    free(timer->data);
}

static void stop_ticking(void *arg)
{
    struct ticking *ticking = arg;
    uv_close((uv_handle_t *)&ticking->timer, free_ticking);
}

static void tick(uv_timer_t *timer)
{
    struct ticking *ticking = timer->data;
    uvhttp_request_t *req = uvhttp_response_request(ticking->response);
    ticking->paused = !ticking->paused;
    ticking->pauses += ticking->paused;
    if (ticking->paused)
        uvhttp_request_pause_body(req);
    else
        uvhttp_request_resume_body(req);
}

static int count_between_ticks(uvhttp_request_t *req, uvhttp_response_t *res, const char *data,
                               size_t size, void *arg)
{
    struct ticking *ticking = arg;
    char text[64];
    (void)req, (void)data;
    if (ticking->paused)
        return UVHTTP_EINVAL;
    ticking->size += size;
    if (size > 0)
        return 0;
    (void)uv_timer_stop(&ticking->timer);
    (void)snprintf(text, sizeof text, "%" PRIu64 " %s", ticking->size,
                   ticking->pauses > 0 ? "paused" : "never paused");
    return uvhttp_response_send_text(res, 200, text);
}

int stream_ticking(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static const char key;
    struct ticking *ticking = calloc(1, sizeof *ticking);
    (void)arg;
    if (ticking == NULL)
        return UVHTTP_ENOMEM;
    (void)uv_timer_init(uvhttp_server_loop(app.server), &ticking->timer);
    ticking->timer.data = ticking;
    ticking->response = res;
    int err = uvhttp_request_attach(req, &key, ticking, stop_ticking);
    if (err != 0)
        return err;
    (void)uv_timer_start(&ticking->timer, tick, 0, 1);
    return uvhttp_request_on_body(req, count_between_ticks, ticking);
}

/* A job refs the exchange while the response is sent. Later calls on it have no effect. */
static int on_job_done(uvhttp_response_t *res, void *arg)
{
    uvhttp_request_t *req = uvhttp_response_request(res);
    (void)arg;
    app.deferred++;
    app.deferred_disconnected += !uvhttp_response_open(res);
    uvhttp_request_pause_body(req);
    uvhttp_request_resume_body(req);
    app.last_error = uvhttp_response_send_text(res, 200, "too late");
    return 0;
}

static int respond_early(uvhttp_request_t *req, uvhttp_response_t *res, const char *data,
                         size_t size, void *arg)
{
    (void)data, (void)size, (void)arg;
    uvhttp_request_pause_body(req);
    int err = uvhttp_response_defer(res, wait_for_gate, on_job_done, NULL);
    if (err == 0 && has_query(req, "large")) {
        static char large[8000000]; /* sent as the client reads it */
        err = uvhttp_response_send_static(res, 200, NULL, large, sizeof large);
    } else if (err == 0) {
        err = uvhttp_response_send_text(res, 200, "meanwhile");
    }
    uvhttp_request_resume_body(req); /* the response is sent: this does nothing */
    return err;
}

int respond_while_reading(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)res, (void)arg;
    return uvhttp_request_on_body(req, respond_early, NULL);
}

/* Sequential jobs, as many as requested. */
static int next_job(uvhttp_response_t *res, void *arg);

static void no_work(void *arg)
{
    (void)arg;
}

static int next_job(uvhttp_response_t *res, void *arg)
{
    uint64_t *left = arg;
    if (!uvhttp_response_open(res))
        return 0;
    return (*left)-- > 0 ? uvhttp_response_defer(res, no_work, next_job, arg)
                         : uvhttp_response_send_text(res, 200, "all done");
}

int many_jobs(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uint64_t *left = uvhttp_request_allocate(req, sizeof *left);
    (void)arg;
    if (left == NULL)
        return UVHTTP_ENOMEM;
    *left = number_of(req, "count");
    return next_job(res, left);
}
