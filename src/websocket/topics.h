/* The internal interface of topics. topics.c creates them and stores subscriptions.
 * topics_publish.c moves messages: from the publisher to a batch, from there to all workers, and by
 * topic_fanout.c to subscribers.
 *
 * A message published by a connection is added to its worker's batch, without a lock. A loop
 * message of the worker to itself ends the iteration: it adds the batch to the inboxes of all other
 * workers, and delivers it here. Messages published outside of connections are collected under a
 * lock, and the first worker distributes them in the same way.
 *
 * Invariants: a worker's state is used on its thread only, except its inbox. A batch is immutable
 * once other workers have it. */
#ifndef UVH_WEBSOCKET_TOPICS_H
#define UVH_WEBSOCKET_TOPICS_H

#include <stdatomic.h>

#include <uvhttp/topics.h>

#include "platform/lock.h"
#include "websocket/deflate.h"
#include "websocket/topic_fanout.h"
#include "websocket/topic_presence.h"
#include "websocket/topic_tree.h"

/* A message and its topic. */
struct uvh_topic_publication {
    struct uvh_topic_publication *next;
    uvhttp_websocket_message_t *message;
    /* Does not get the message; compared, never dereferenced. NULL: no exception. */
    const uvhttp_websocket_t *publisher;
    size_t length;
    char topic[];
};

/* An entry in a worker's inbox. */
struct uvh_topic_mail {
    struct uvh_topic_mail *next;
    struct uvh_topic_batch *batch;
};

/* The messages published in one loop iteration of one worker. */
struct uvh_topic_batch {
    const uvhttp_allocator_t *allocator;
    atomic_size_t refs;
    struct uvh_topic_publication *first;
    struct uvh_topic_publication *last;
    struct uvh_topic_mail mails[]; /* one for each worker */
};

struct uvh_topics_worker {
    struct uvhttp_topics *topics;
    size_t index;
    struct uvh_topic_tree tree;
    struct uvh_topic_fanout fanout;
    struct uvh_topic_batch *batch; /* current batch or NULL; if set, a loop message is pending */
    /* The last publication of it that is in `fanout`; NULL: none. */
    struct uvh_topic_publication *collected;
    char padding[64]; /* padding: avoids false sharing */
    struct uvh_lock lock;
    struct uvh_topic_mail *box; /* the lock protects the following */
    struct uvh_topic_mail *box_last;
};

struct uvhttp_topics {
    const uvhttp_allocator_t *allocator;
    uvhttp_server_t *server;
    uvhttp_topics_options_t options; /* with the defaults set */
    uvhttp_topics_presence_cb on_presence;
    void *on_presence_arg;
    struct uvh_topic_presence presence;
    struct uvh_ws_memory *memory; /* for messages until they are sent or queued */
    /* Connections with subscriptions, on all workers. */
    atomic_size_t members;
    atomic_size_t compressing; /* those with compression */
    /* How messages are compressed: `settings`, which are copied from the endpoint of the first of
     * those, since a reload may free the endpoint. NULL: there never was one. */
    const struct uvh_ws_deflate_settings *_Atomic deflate;
    struct uvh_ws_deflate_settings settings;
    struct uvh_ws_deflate_many many;
    struct uvh_lock lock;
    /* Published outside of connections, under the lock. While it is set, a loop message is
     * pending. */
    struct uvh_topic_batch *elsewhere;
    size_t worker_count;
    struct uvh_topics_worker workers[];
};

/* ---- topics_publish.c ---- */

/* Call before the tree changes: messages published before are collected for the current
 * subscribers. */
void uvh_topics_collect(struct uvh_topics_worker *worker);

/* The server has ended: frees batches that were not delivered. */
void uvh_topics_forget(struct uvhttp_topics *topics);

#endif
