/* Which answers stand whole (standing.h): those of which everything but the time is known beforehand, which a user has promised by
 * uvhttp_prepared_set_body or uvhttp_prepared_set_descriptor. Called by conn_tx.c. */
#include "server/conn.h"

#include "base/alloc.h"
#include "platform/file.h"
#include "server/server.h"

static bool is_promised(const uvhttp_prepared_t *prepared, const struct uvh_body *body)
{
    if (body->size != prepared->body.length || body->parts != NULL)
        return false;
    return body->source == UVH_BODY_FILE
               ? body->descriptor == prepared->descriptor && body->offset == prepared->offset
               : body->source == UVH_BODY_MEMORY && body->base == prepared->body.base;
}

/* What goes out is the prepared fields, the prepared body, and nothing else that depends on request or connection. */
static bool is_as_prepared(const struct uvh_h1_exchange *exchange)
{
    const struct uvhttp_response *response = &exchange->base.response;
    const uvhttp_prepared_t *prepared = response->prepared;
    return prepared != NULL && prepared->id != 0 && is_promised(prepared, &response->body) &&
           response->status == 200 && response->headers.count == 0 && response->content_type.base == NULL &&
           !prepared->has_upgrade && response->pace == NULL && exchange->head.minor_version != 0 &&
           exchange->conn->out.buffer == NULL && uvh_conn_head_keeps_alive(exchange);
}

struct uvh_standing_answer *uvh_conn_standing_ask(const struct uvh_h1_exchange *exchange)
{
    struct uvh_worker *worker = exchange->base.worker;
    if (worker->standing.most == 0 || exchange->base.response.body.size > UVH_STANDING_MOST ||
        !is_as_prepared(exchange))
        return NULL;
    uvh_worker_head_begin(worker); /* so that `date_expires` is that of this second */
    return uvh_standing_ask(&worker->standing, exchange->base.response.prepared->id, worker->date_expires);
}

/* The file was sent from just now, so reading it waits for nothing that sending would not. */
static void keep_file(struct uvh_worker *worker, struct uvh_standing_answer *answer, uvhttp_slice_t head,
                      const struct uvh_body *body)
{
    const uvhttp_allocator_t *allocator = worker->standing.allocator;
    size_t size = (size_t)body->size;
    char *bytes = uvh_alloc(allocator, size);
    if (bytes != NULL && uvh_file_read(body->descriptor, bytes, size, body->offset) == (int64_t)size)
        uvh_standing_keep(&worker->standing, answer, head, (uvhttp_slice_t){bytes, size});
    uvh_free(allocator, bytes);
}

void uvh_conn_standing_keep(const struct uvh_h1_exchange *exchange, struct uvh_standing_answer *answer)
{
    struct uvh_worker *worker = exchange->base.worker;
    const struct uvh_body *body = &exchange->base.response.body;
    uvhttp_slice_t head = uvh_conn_tx_waiting(exchange->conn);
    if (!uvh_standing_wants(answer, body->size))
        return;
    if (body->source == UVH_BODY_FILE)
        keep_file(worker, answer, head, body);
    else
        uvh_standing_keep(&worker->standing, answer, head, (uvhttp_slice_t){body->base, (size_t)body->size});
}
