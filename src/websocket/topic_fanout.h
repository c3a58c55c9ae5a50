/* Distributes messages from a worker's tree to its subscribers: collects them first, then sends
 * each subscriber all of its messages with one call.
 *
 * Collecting makes no callbacks, so the tree may be walked meanwhile. Sending may close connections
 * and run users' code, so it takes the first member of a list until the list is empty; a member
 * that leaves is removed from it.
 *
 * Invariant: after a send there is space for one message to every member, so collecting one cannot
 * fail. One thread. */
#ifndef UVH_WEBSOCKET_TOPIC_FANOUT_H
#define UVH_WEBSOCKET_TOPIC_FANOUT_H

#include <uvhttp/websocket.h>

#include "base/list.h"
#include "websocket/topic_tree.h"

struct uvh_topics_worker;

/* A connection's subscriptions to the topics of one uvhttp_topics_t. */
struct uvh_topic_member {
    struct uvh_topic_subscriber subscriber;
    struct uvh_list link; /* in fanout->pending while `count` is not 0 */
    uint32_t count;       /* pending messages */
    uint32_t first, last; /* of these: indices of fanout->deliveries */
    uvhttp_websocket_t *ws;
    struct uvh_topics_worker *worker;
    struct uvh_topic_member *next; /* of the same connection, in another uvhttp_topics_t */
    bool compressing;
};

/* A message for one member. */
struct uvh_topic_delivery {
    uvhttp_websocket_message_t *message; /* the collecting caller holds a reference */
    uint32_t next;                       /* index of the next one for the same member */
};

struct uvh_topic_fanout {
    const uvhttp_allocator_t *allocator;
    struct uvh_topic_delivery *deliveries;
    uint32_t capacity; /* at least `members` */
    uint32_t used;
    uint32_t max_count; /* the largest `count` of the members */
    uint32_t members;
    struct uvh_list pending;          /* members with pending messages */
    struct uvh_topic_member *sending; /* the current one; NULL when it has left meanwhile */
};

void uvh_topic_fanout_init(struct uvh_topic_fanout *fanout, const uvhttp_allocator_t *allocator);
void uvh_topic_fanout_release(struct uvh_topic_fanout *fanout);

/* Adds a member. Returns 0, or UVHTTP_ENOMEM without adding it. */
int uvh_topic_fanout_join(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member);
/* Removes a member; drops its pending messages. */
void uvh_topic_fanout_leave(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member);

/* Ensures space for one more message to every member. False when the collected messages must be
 * sent first, because there are many, or out of memory. */
bool uvh_topic_fanout_reserve(struct uvh_topic_fanout *fanout);

/* Adds a message for a member; requires space. */
void uvh_topic_fanout_collect(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member,
                              uvhttp_websocket_message_t *message);

/* Sends all collected messages. Members may be added and removed meanwhile. */
void uvh_topic_fanout_send(struct uvh_topic_fanout *fanout);

#endif
