/* Which answers stand whole (standing.h): those of which everything but the time is known beforehand, which a user has promised by
 * uvhttp_prepared_set_body. Called by conn_tx.c. */
#include "server/conn.h"

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
    if (worker->standing.most == 0 || !is_as_prepared(exchange))
        return NULL;
    uvh_worker_head_begin(worker); /* so that `date_expires` is that of this second */
    return uvh_standing_ask(&worker->standing, exchange->base.response.prepared->id, worker->date_expires);
}
