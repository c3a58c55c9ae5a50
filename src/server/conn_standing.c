/* Which answers stand whole (standing.h) and how they leave: those of which everything but the time is known beforehand, which a user has promised by
 * uvhttp_prepared_set_body. Called by conn_tx.c. */
#include "server/conn.h"

#include "platform/socket.h"
#include "server/server.h"

/* What goes out is the prepared fields, the prepared body, and nothing else that depends on request or connection. */
static bool is_as_prepared(const struct uvh_h1_exchange *exchange)
{
    const struct uvhttp_response *response = &exchange->base.response;
    const uvhttp_prepared_t *prepared = response->prepared;
    return prepared != NULL && prepared->id != 0 && response->body.source == UVH_BODY_MEMORY &&
           response->body.base == prepared->body.base && response->body.size == prepared->body.length &&
           response->status == 200 && response->headers.count == 0 && response->content_type.base == NULL &&
           !prepared->has_upgrade && response->pace == NULL && exchange->head.minor_version != 0 &&
           exchange->conn->out.buffer == NULL && uvh_conn_head_keeps_alive(exchange);
}

struct uvh_standing_answer *uvh_conn_standing_ask(const struct uvh_h1_exchange *exchange)
{
    struct uvh_worker *worker = exchange->base.worker;
    if (!is_as_prepared(exchange))
        return NULL;
    uvh_worker_head_begin(worker); /* so that `date_expires` is that of this second */
    /* With a clock of the user's nobody knows when its second ends. */
    if (worker->date_expires == 0)
        return NULL;
    return uvh_standing_ask(&worker->standing, exchange->base.response.prepared->id, worker->date_expires);
}

/* What the client has not taken at once, and what is to be done when it has. */
struct rest {
    struct uvh_standing_file *file;
    uvhttp_release_cb release; /* of the body that it stands for */
    void *release_arg;
};

static void rest_sent(void *arg)
{
    struct rest *rest = arg;
    uvh_standing_file_unref(rest->file);
    if (rest->release != NULL)
        rest->release(rest->release_arg);
}

/* Makes the rest of the answer the body. False without memory. */
static bool keep_rest(struct uvh_h1_exchange *exchange, const struct uvh_standing_answer *answer, size_t sent)
{
    struct uvh_body *body = &exchange->base.response.body;
    struct rest *rest = uvh_arena_alloc(&exchange->base.arena, sizeof(*rest));
    if (rest == NULL)
        return false;
    *rest = (struct rest){uvh_standing_file_ref(exchange->base.worker->standing.file), body->release,
                          body->release_arg};
    *body = (struct uvh_body){.source = UVH_BODY_FILE,
                              .descriptor = rest->file->descriptor,
                              .offset = answer->offset + sent,
                              .size = answer->size - sent,
                              .release = rest_sent,
                              .release_arg = rest};
    return true;
}

enum uvh_conn_standing uvh_conn_standing_send(struct uvh_h1_exchange *exchange,
                                              const struct uvh_standing_answer *answer)
{
    struct uvh_worker *worker = exchange->base.worker;
    ssize_t count = uvh_socket_send_file(exchange->conn->watch.socket, worker->standing.file->descriptor,
                                         answer->offset, answer->size);
    size_t sent = count > 0 ? (size_t)count : 0; /* what an error was about the next try says */
    uvh_counters_response(&worker->counters, 200);
    uvh_counter_add(&worker->counters.bytes_sent, sent);
    exchange->base.sent += sent;
    if (UVH_LIKELY(sent == answer->size))
        return UVH_STANDING_SENT;
    return keep_rest(exchange, answer, sent) ? UVH_STANDING_BEGUN : UVH_STANDING_BROKEN;
}
