/* Distributes messages from a worker's tree to its subscribers: collects them first, then sends
 * each subscriber all of its messages with one call.
 *
 * Collecting makes no callbacks, so the tree may be walked. Sending may close connections and run
 * users' code, and iterates only over a list that members remove themselves from.
 *
 * Invariant: after a send there is space for one message to every member, so collecting one cannot
 * fail. One thread. Called by topics.c and topics_publish.c. */
#ifndef UVH_WEBSOCKET_TOPIC_FANOUT_H
#define UVH_WEBSOCKET_TOPIC_FANOUT_H

#include <uvhttp/websocket.h>

#include "base/list.h"
#include "websocket/topic_tree.h"

struct uvh_topics_worker;

/* A connection's subscriptions to the topics of one object. */
struct uvh_topic_member {
    struct uvh_topic_subscriber subscriber;
    struct uvh_list waiting; /* in fanout->waiting while messages are pending */
    uint32_t first, last;    /* of those: indices of fanout->parcels */
    uint32_t count;
    uvhttp_websocket_t *ws;
    struct uvh_topics_worker *worker;
    struct uvh_topic_member *next; /* of the same connection */
    bool compressing;
};

/* A message for one member. */
struct uvh_topic_parcel {
    uvhttp_websocket_message_t *message; /* the collecting caller holds a reference */
    uint32_t next;                       /* for the same member */
};

struct uvh_topic_fanout {
    const uvhttp_allocator_t *allocator;
    struct uvh_topic_parcel *parcels;
    uint32_t capacity; /* at least `members` */
    uint32_t used;
    uint32_t most; /* per member */
    uint32_t members;
    struct uvh_list waiting;
    struct uvh_topic_member *sending; /* NULL when it was removed meanwhile */
};

void uvh_topic_fanout_init(struct uvh_topic_fanout *fanout, const uvhttp_allocator_t *allocator);
void uvh_topic_fanout_release(struct uvh_topic_fanout *fanout);

/* Adds a member. Returns 0, or UVHTTP_ENOMEM without adding it. */
int uvh_topic_fanout_join(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member);
/* Removes a member; drops its pending messages. */
void uvh_topic_fanout_leave(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member);

/* Ensures space for one more message to every member. False when the collected ones must be sent
 * first, since memory ran out or there are many. */
bool uvh_topic_fanout_reserve(struct uvh_topic_fanout *fanout);

/* Adds a message for a member; requires space. */
void uvh_topic_fanout_collect(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member,
                              uvhttp_websocket_message_t *message);

/* Sends all collected messages. Members may be added and removed meanwhile. */
void uvh_topic_fanout_send(struct uvh_topic_fanout *fanout);

#endif
