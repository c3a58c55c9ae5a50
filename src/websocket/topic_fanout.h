/* Messages on their way from a worker's tree to its subscribers: collected first, then each
 * subscriber gets all of its own with one call.
 *
 * Collecting calls nobody, so the tree may be walked; sending may close connections and run users'
 * code, and walks nothing but a list that those take themselves out of.
 *
 * Always true: there is room for one message to every member, so collecting one behind a sending
 * cannot fail. One thread. Called by topics.c and topics_publish.c. */
#ifndef UVH_WEBSOCKET_TOPIC_FANOUT_H
#define UVH_WEBSOCKET_TOPIC_FANOUT_H

#include <uvhttp/websocket.h>

#include "base/list.h"
#include "websocket/topic_tree.h"

struct uvh_topics_worker;

/* A connection's subscriptions to the topics of one object. */
struct uvh_topic_member {
    struct uvh_topic_subscriber subscriber;
    struct uvh_list waiting; /* in fanout->waiting while there is something for it */
    uint32_t first, last;    /* of that: indices of fanout->parcels */
    uint32_t count;
    uvhttp_websocket_t *ws;
    struct uvh_topics_worker *worker;
    struct uvh_topic_member *next; /* of the same connection */
    bool compressing;
};

/* A message for one member. */
struct uvh_topic_parcel {
    uvhttp_websocket_message_t *message; /* whoever has it collected holds it */
    uint32_t next;                       /* for the same member */
};

struct uvh_topic_fanout {
    const uvhttp_allocator_t *allocator;
    struct uvh_topic_parcel *parcels;
    uint32_t capacity; /* at least `members` */
    uint32_t used;
    uint32_t most; /* for one member */
    uint32_t members;
    struct uvh_list waiting;
    struct uvh_topic_member *sending; /* NULL when it has gone meanwhile */
};

void uvh_topic_fanout_init(struct uvh_topic_fanout *fanout, const uvhttp_allocator_t *allocator);
void uvh_topic_fanout_release(struct uvh_topic_fanout *fanout);

/* There is one more. UVHTTP_ENOMEM: there is not. */
int uvh_topic_fanout_join(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member);
/* It goes; what waits for it is forgotten. */
void uvh_topic_fanout_leave(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member);

/* Makes room for one more message to every member. False when it is to be sent first what was
 * collected, since memory ran out or it is much. */
bool uvh_topic_fanout_room(struct uvh_topic_fanout *fanout);

/* A message for a member; there is room. */
void uvh_topic_fanout_collect(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member,
                              uvhttp_websocket_message_t *message);

/* Sends all that was collected. Members may come and go meanwhile. */
void uvh_topic_fanout_send(struct uvh_topic_fanout *fanout);

#endif
