/* Delivers messages from publishers to subscribers. On the publisher's worker the subscribers at
 * the time of publishing get a message, though it is sent at the end of the loop iteration: before
 * the tree changes, published messages are collected. On other workers, the subscribers at the time
 * the batch arrives get it. */
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "websocket/topics.h"
#include "websocket/websocket.h"

/* ---- batches ---- */

static struct uvh_topic_batch *batch_new(struct uvhttp_topics *topics)
{
    struct uvh_topic_batch *batch = uvh_alloc_zero(
        topics->allocator, sizeof(*batch) + topics->worker_count * sizeof(batch->mails[0]));
    if (batch == NULL)
        return NULL;
    batch->allocator = topics->allocator;
    atomic_init(&batch->refs, 1);
    for (size_t i = 0; i < topics->worker_count; i++)
        batch->mails[i].batch = batch;
    return batch;
}

static void publication_free(const uvhttp_allocator_t *allocator, struct uvh_topic_publication *one)
{
    uvhttp_websocket_message_unref(one->message);
    uvh_free(allocator, one);
}

static void batch_unref(struct uvh_topic_batch *batch)
{
    if (batch == NULL || atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (struct uvh_topic_publication *next, *one = batch->first; one != NULL; one = next) {
        next = one->next;
        publication_free(batch->allocator, one);
    }
    uvh_free(batch->allocator, batch);
}

static void batch_append(struct uvh_topic_batch *batch, struct uvh_topic_publication *one)
{
    if (batch->first == NULL)
        batch->first = one;
    else
        batch->last->next = one;
    batch->last = one;
}

/* ---- to the members of a worker ---- */

struct visit {
    struct uvh_topic_fanout *fanout;
    const struct uvh_topic_publication *publication;
    bool leave_out; /* the publisher may be on this worker */
};

static void visit_member(struct uvh_topic_subscriber *subscriber, void *arg)
{
    const struct visit *visit = arg;
    struct uvh_topic_member *member =
        UVH_CONTAINER_OF(subscriber, struct uvh_topic_member, subscriber);
    if (!visit->leave_out || member->ws != visit->publication->publisher)
        uvh_topic_fanout_collect(visit->fanout, member, visit->publication->message);
}

static void collect(struct uvh_topics_worker *worker, const struct uvh_topic_publication *one,
                    bool leave_out)
{
    struct visit visit = {&worker->fanout, one, leave_out};
    uvh_topic_tree_match(&worker->tree, one->topic, one->length, visit_member, &visit);
}

void uvh_topics_collect(struct uvh_topics_worker *worker)
{
    if (worker->batch == NULL)
        return;
    struct uvh_topic_publication *one =
        worker->collected == NULL ? worker->batch->first : worker->collected->next;
    /* Without space, the subscribers at the end of the loop iteration get it. */
    for (; one != NULL && uvh_topic_fanout_reserve(&worker->fanout); one = one->next) {
        collect(worker, one, true);
        worker->collected = one;
    }
}

/* Collects what follows `from`, and sends when there is no space left. */
static void collect_and_send(struct uvh_topics_worker *worker,
                             const struct uvh_topic_publication *from, bool leave_out)
{
    for (; from != NULL; from = from->next) {
        if (!uvh_topic_fanout_reserve(&worker->fanout))
            uvh_topic_fanout_send(&worker->fanout);
        collect(worker, from, leave_out);
    }
}

/* ---- from worker to worker ---- */

/* Takes all entries of a worker's inbox, oldest first. */
static struct uvh_topic_mail *empty_box(struct uvh_topics_worker *worker)
{
    uvh_lock_acquire(&worker->lock);
    struct uvh_topic_mail *first = worker->box;
    worker->box = worker->box_last = NULL;
    uvh_lock_release(&worker->lock);
    return first;
}

static void unref_all(struct uvh_topic_mail *mail)
{
    while (mail != NULL) {
        struct uvh_topic_mail *next = mail->next;
        batch_unref(mail->batch);
        mail = next;
    }
}

static void read_box(uvhttp_server_t *server, size_t index, void *arg)
{
    struct uvhttp_topics *topics = arg;
    struct uvh_topics_worker *worker = &topics->workers[index];
    struct uvh_topic_mail *mails = empty_box(worker);
    (void)server;
    for (const struct uvh_topic_mail *mail = mails; mail != NULL; mail = mail->next)
        collect_and_send(worker, mail->batch->first, false);
    uvh_topic_fanout_send(&worker->fanout);
    unref_all(mails);
}

/* Takes one lock, and sends a loop message when the inbox was empty. A worker that has ended is
 * skipped. */
static void put_in_box(struct uvh_topics_worker *worker, struct uvh_topic_batch *batch)
{
    struct uvhttp_topics *topics = worker->topics;
    struct uvh_topic_mail *mail = &batch->mails[worker->index];
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    uvh_lock_acquire(&worker->lock);
    bool first = worker->box == NULL;
    if (first)
        worker->box = mail;
    else
        worker->box_last->next = mail;
    worker->box_last = mail;
    uvh_lock_release(&worker->lock);
    int err = first ? uvhttp_server_post(topics->server, worker->index, read_box, topics) : 0;
    if (err == 0)
        return;
    if (err != UVHTTP_ESTOPPED)
        uvhttp_server_log(topics->server, UVHTTP_LOG_ERROR,
                          "topic messages for worker %zu are lost: %s", worker->index,
                          uvhttp_strerror(err));
    unref_all(empty_box(worker));
}

static void put_in_other_boxes(struct uvhttp_topics *topics, struct uvh_topic_batch *batch,
                               size_t own)
{
    for (size_t i = 0; i < topics->worker_count; i++) {
        if (i != own)
            put_in_box(&topics->workers[i], batch);
    }
}

/* Ends a loop iteration in which connections of this worker have published. */
static void flush(uvhttp_server_t *server, size_t index, void *arg)
{
    struct uvhttp_topics *topics = arg;
    struct uvh_topics_worker *worker = &topics->workers[index];
    struct uvh_topic_batch *batch = worker->batch;
    const struct uvh_topic_publication *collected = worker->collected;
    (void)server;
    worker->batch = NULL; /* later messages form the next batch */
    worker->collected = NULL;
    put_in_other_boxes(topics, batch, index);
    collect_and_send(worker, collected == NULL ? batch->first : collected->next, true);
    uvh_topic_fanout_send(&worker->fanout);
    batch_unref(batch);
}

/* The first worker distributes messages published outside of connections. */
static void flush_elsewhere(uvhttp_server_t *server, size_t index, void *arg)
{
    struct uvhttp_topics *topics = arg;
    struct uvh_topics_worker *worker = &topics->workers[index];
    (void)server;
    uvh_lock_acquire(&topics->lock);
    struct uvh_topic_batch *batch = topics->elsewhere;
    topics->elsewhere = NULL;
    uvh_lock_release(&topics->lock);
    put_in_other_boxes(topics, batch, index);
    collect_and_send(worker, batch->first, false);
    uvh_topic_fanout_send(&worker->fanout);
    batch_unref(batch);
}

/* ---- publishing ---- */

/* Appends to the current batch; the first message creates it and sends a loop message. */
static int append(struct uvhttp_topics *topics, struct uvh_topic_batch **batch, size_t index,
                  uvhttp_post_cb run, struct uvh_topic_publication *one)
{
    if (*batch == NULL) {
        struct uvh_topic_batch *made = batch_new(topics);
        if (made == NULL)
            return UVHTTP_ENOMEM;
        int err = uvhttp_server_post(topics->server, index, run, topics);
        if (err != 0) {
            batch_unref(made);
            return err;
        }
        *batch = made;
    }
    batch_append(*batch, one);
    return 0;
}

static int append_from(struct uvhttp_topics *topics, const uvhttp_websocket_t *ws,
                       struct uvh_topic_publication *one)
{
    if (ws != NULL) {
        struct uvh_topics_worker *worker = &topics->workers[uvhttp_websocket_worker(ws)];
        return append(topics, &worker->batch, worker->index, flush, one);
    }
    uvh_lock_acquire(&topics->lock);
    int err = append(topics, &topics->elsewhere, 0, flush_elsewhere, one);
    uvh_lock_release(&topics->lock);
    return err;
}

/* Frames the message once for all, and compresses it once, if a subscriber needs that. */
static int make_publication(struct uvhttp_topics *topics, const uvhttp_websocket_t *ws,
                            uvhttp_slice_t topic, uvhttp_websocket_kind_t kind, uvhttp_slice_t data,
                            struct uvh_topic_publication **out)
{
    const struct uvh_ws_deflate_settings *deflate =
        atomic_load(&topics->compressing) > 0 ? atomic_load(&topics->deflate) : NULL;
    struct uvh_topic_publication *one = uvh_alloc(topics->allocator, sizeof(*one) + topic.length);
    if (one == NULL)
        return UVHTTP_ENOMEM;
    *one = (struct uvh_topic_publication){.publisher = ws, .length = topic.length};
    memcpy(one->topic, topic.base, topic.length);
    one->message =
        uvh_websocket_message_make(topics->memory, deflate, kind, data.base, data.length);
    if (one->message == NULL) {
        uvh_free(topics->allocator, one);
        return UVHTTP_ENOMEM;
    }
    *out = one;
    return 0;
}

/* In this process. */
static int deliver(struct uvhttp_topics *topics, const uvhttp_websocket_t *ws, const char *topic,
                   uvhttp_websocket_kind_t kind, uvhttp_slice_t data)
{
    uvhttp_slice_t name = {topic, topic == NULL ? 0 : strlen(topic)};
    struct uvh_topic_publication *one;
    if (topics == NULL)
        return UVHTTP_ENOMEM;
    if (name.length > topics->options.max_topic_size || !uvh_topic_is_topic(topic, name.length) ||
        !uvh_websocket_message_fits(kind, data.base, data.length))
        return UVHTTP_EINVAL;
    if (atomic_load(&topics->members) == 0)
        return 0;
    int err = make_publication(topics, ws, name, kind, data, &one);
    if (err != 0)
        return err;
    err = append_from(topics, ws, one);
    if (err != 0)
        publication_free(topics->allocator, one);
    return err;
}

static int publish(struct uvhttp_topics *topics, const uvhttp_websocket_t *ws, const char *topic,
                   uvhttp_websocket_kind_t kind, const void *data, size_t size)
{
    int err = deliver(topics, ws, topic, kind, (uvhttp_slice_t){data, size});
    if (err != 0)
        return err;
    const uvhttp_topics_adapter_t *functions = &topics->presence.functions;
    if (functions->publish == NULL)
        return 0;
    err = functions->publish(topics->presence.adapter, topic, kind, data, size);
    if (err != 0)
        uvhttp_server_log(topics->server, UVHTTP_LOG_WARNING,
                          "a message was not published to other machines: %s",
                          uvhttp_strerror(err));
    return 0;
}

int uvhttp_websocket_publish(uvhttp_websocket_t *ws, uvhttp_topics_t *topics, const char *topic,
                             uvhttp_websocket_kind_t kind, const void *data, size_t size)
{
    if (topics != NULL && uvhttp_websocket_server(ws) != topics->server)
        return UVHTTP_EINVAL;
    return publish(topics, ws, topic, kind, data, size);
}

int uvhttp_topics_publish(uvhttp_topics_t *topics, const char *topic, uvhttp_websocket_kind_t kind,
                          const void *data, size_t size)
{
    return publish(topics, NULL, topic, kind, data, size);
}

int uvhttp_topics_deliver(uvhttp_topics_t *topics, const char *topic, uvhttp_websocket_kind_t kind,
                          const void *data, size_t size)
{
    return deliver(topics, NULL, topic, kind, (uvhttp_slice_t){data, size});
}

/* ---- the end ---- */

void uvh_topics_forget(struct uvhttp_topics *topics)
{
    batch_unref(topics->elsewhere);
    for (size_t i = 0; i < topics->worker_count; i++) {
        batch_unref(topics->workers[i].batch);
        unref_all(empty_box(&topics->workers[i]));
    }
}
