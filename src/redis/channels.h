/* The channels and globs subscribed to at the broker. */
#ifndef UVH_REDIS_CHANNELS_H
#define UVH_REDIS_CHANNELS_H

#include <stdbool.h>

#include <uvhttp/types.h>

#include "base/list.h"

/* A channel or glob at the broker, and the patterns it serves: several patterns may map to one
 * glob. */
struct uvh_redis_channel {
    bool glob;
    bool sent;                          /* the broker is notified, on the current connection */
    bool refused;                       /* the broker refuses it there */
    bool replaced;                      /* the glob of all channels replaces it */
    const char *text;                   /* with the prefix; NUL-terminated */
    struct uvh_list link;               /* in the list of all */
    struct uvh_list changed;            /* in the list of changed channels, or in none */
    struct uvh_redis_pattern *patterns; /* NULL: no longer needed */
    char bytes[];                       /* of `text` */
};

struct uvh_redis_pattern {
    struct uvh_redis_pattern *next;
    char text[];
};

struct uvh_redis_channels {
    const uvhttp_allocator_t *allocator;
    const char *prefix;
    void *tree; /* of channels, by glob and text */
    struct uvh_list all;
    struct uvh_list changed;
    size_t refused; /* globs replaced by the one of all channels */
};

/* The caller sets `prefix` before it adds a pattern. */
void uvh_redis_channels_init(struct uvh_redis_channels *channels,
                             const uvhttp_allocator_t *allocator);
void uvh_redis_channels_release(struct uvh_redis_channels *channels);

/* A pattern is needed, or no longer needed. False when out of memory. */
bool uvh_redis_channels_add(struct uvh_redis_channels *channels, const char *pattern);
void uvh_redis_channels_remove(struct uvh_redis_channels *channels, const char *pattern);

/* A message received by a glob: whether a pattern of that glob matches the topic. */
bool uvh_redis_channels_fit(struct uvh_redis_channels *channels, const char *glob,
                            const char *topic);

/* The broker refused a channel: it is not subscribed to again on this connection. True when the
 * glob of all channels replaces it, which `may_replace` permits and nothing prevents. */
bool uvh_redis_channels_refuse(struct uvh_redis_channels *channels, bool glob, const char *text,
                               bool may_replace);

/* Removes a channel from the list of changed ones; NULL when the list is empty. The caller frees a
 * channel that is no longer needed. */
struct uvh_redis_channel *uvh_redis_channels_changed(struct uvh_redis_channels *channels);
void uvh_redis_channels_free(struct uvh_redis_channels *channels,
                             struct uvh_redis_channel *channel);

/* A new connection: the broker knows no channel, so all needed ones count as changed. */
void uvh_redis_channels_forget(struct uvh_redis_channels *channels);

#endif
