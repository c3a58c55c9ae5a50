/* Topics as their own files see them. topics.c makes them and keeps subscriptions, topics_publish.c
 * carries messages: from who publishes to a batch, from there to all workers, and by topic_fanout.c
 * to subscribers.
 *
 * A message published by a connection goes into its worker's batch, without a lock. A letter that
 * the worker writes to itself ends the turn: the batch is put into the boxes of all other workers,
 * and taken apart here. Those that come from elsewhere are collected under a lock and take the same
 * way from the first worker on.
 *
 * Always true: what belongs to a worker is touched on its thread only, but for its box. A batch
 * does not change once others have it. */
#ifndef UVH_WEBSOCKET_TOPICS_H
#define UVH_WEBSOCKET_TOPICS_H

#include <stdatomic.h>

#include <uvhttp/topics.h>

#include "platform/lock.h"
#include "websocket/topic_fanout.h"
#include "websocket/topic_presence.h"
#include "websocket/topic_tree.h"

/* A message and who is to have it. */
struct uvh_topic_publication {
    struct uvh_topic_publication *next;
    uvhttp_websocket_message_t *message;
    /* is left out; compared with, and not looked at. NULL: nobody is */
    const uvhttp_websocket_t *publisher;
    size_t length;
    char topic[];
};

/* A place in a worker's box. */
struct uvh_topic_mail {
    struct uvh_topic_mail *next;
    struct uvh_topic_batch *batch;
};

/* What was published in one turn of one worker. */
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
    struct uvh_topic_batch *batch; /* of this turn; NULL when nothing was published. While it is
                                      there, a letter is on its way */
    /* the last one of it that is in `fanout`; NULL: none */
    struct uvh_topic_publication *collected;
    char apart[64]; /* what others write is not to slow this one down */
    struct uvh_lock lock;
    struct uvh_topic_mail *box; /* the following are under the lock */
    struct uvh_topic_mail *box_last;
};

struct uvhttp_topics {
    const uvhttp_allocator_t *allocator;
    uvhttp_server_t *server;
    uvhttp_topics_options_t options; /* with the defaults put in */
    uvhttp_topics_presence_cb told;
    void *told_arg;
    struct uvh_topic_presence presence;
    struct uvh_ws_memory *memory; /* of messages until they have been sent or wait for somebody */
    /* connections that have subscribed to anything so far, on all workers */
    atomic_size_t members;
    atomic_size_t compressing; /* of these, with compression */
    struct uvhttp_websocket_endpoint *_Atomic
        /* of the first of those: how messages are compressed. NULL: there never was one */
        compressor;
    struct uvh_lock lock;
    struct uvh_topic_batch *
        /* published outside of connections, under the lock. While it is there, a letter is on its
         * way */
        elsewhere;
    size_t worker_count;
    struct uvh_topics_worker workers[];
};

/* ---- topics_publish.c ---- */

/* The tree is about to change: what was published before goes to those who have subscribed by
 * now. */
void uvh_topics_collect(struct uvh_topics_worker *worker);

/* The server has ended: frees what no letter has come for. */
void uvh_topics_forget(struct uvhttp_topics *topics);

#endif
