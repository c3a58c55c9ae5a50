/* Topics and their subscriptions. A connection has a list of its members, one for each
 * uvhttp_topics_t, and calls `on_removed` when it ends. */
#include "websocket/topics.h"

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "options/frozen.h"
#include "options/reload.h"
#include "platform/random.h"
#include "websocket/websocket.h"

enum {
    DEFAULT_TOPIC_SIZE = 255,
    DEFAULT_SUBSCRIPTIONS = 64,
    DEFAULT_MEMORY = 64 << 20,
};

/* ---- create and destroy ---- */

static void topics_free(void *arg)
{
    struct uvhttp_topics *topics = arg;
    const uvhttp_allocator_t *allocator = topics->allocator;
    if (topics->presence.functions.release != NULL)
        topics->presence.functions.release(topics->presence.adapter);
    uvh_topics_forget(topics);
    for (size_t i = 0; i < topics->worker_count; i++) {
        uvh_topic_tree_release(&topics->workers[i].tree);
        uvh_topic_fanout_release(&topics->workers[i].fanout);
        uvh_lock_destroy(&topics->workers[i].lock);
    }
    uvh_topic_presence_release(&topics->presence);
    uvh_ws_deflate_many_release(&topics->many);
    uvh_lock_destroy(&topics->lock);
    uvh_ws_memory_unref(topics->memory);
    uvh_free(allocator, topics);
}

static void put_options(struct uvhttp_topics *topics, const uvhttp_topics_options_t *options)
{
    if (options != NULL)
        topics->options = *options;
    if (topics->options.max_topic_size == 0)
        topics->options.max_topic_size = DEFAULT_TOPIC_SIZE;
    if (topics->options.max_subscriptions == 0)
        topics->options.max_subscriptions = DEFAULT_SUBSCRIPTIONS;
    if (topics->options.memory == 0)
        topics->options.memory = DEFAULT_MEMORY;
}

static int create(uvhttp_topics_t **out, uvhttp_server_t *server,
                  const uvhttp_topics_options_t *options, uvhttp_error_t *error)
{
    const uvhttp_allocator_t *allocator =
        options == NULL || options->allocator == NULL ? uvh_alloc_default() : options->allocator;
    size_t workers = uvhttp_server_worker_count(server);
    struct uvhttp_topics *topics;
    uint64_t seed;
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    int err = server == NULL ? UVHTTP_ENOMEM
                             : uvh_check_not_frozen(server, error, "topics must be created");
    if (err == 0)
        err = uvh_random_number(&seed);
    if (err != 0)
        return err;
    if ((topics = uvh_alloc_zero(allocator,
                                 sizeof(*topics) + workers * sizeof(topics->workers[0]))) == NULL)
        return UVHTTP_ENOMEM;
    topics->allocator = allocator;
    topics->server = server;
    put_options(topics, options);
    uvh_topic_presence_init(&topics->presence, allocator, seed);
    uvh_lock_init(&topics->lock);
    topics->worker_count = workers;
    for (size_t i = 0; i < workers; i++) {
        struct uvh_topics_worker *worker = &topics->workers[i];
        worker->topics = topics;
        worker->index = i;
        uvh_topic_tree_init(&worker->tree, allocator, seed);
        uvh_topic_fanout_init(&worker->fanout, allocator);
        uvh_lock_init(&worker->lock);
    }
    topics->memory = uvh_ws_memory_new(allocator, topics->options.memory, true);
    err = topics->memory == NULL ? UVHTTP_ENOMEM : uvhttp_server_keep(server, topics_free, topics);
    if (err != 0) {
        topics_free(topics);
        return err;
    }
    *out = topics;
    return 0;
}

int uvhttp_topics_new(uvhttp_topics_t **out, uvhttp_server_t *server,
                      const uvhttp_topics_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(out, server, options, error));
}

/* Connections read both callbacks without a lock, and topics outlive a reload. */
static int check_new(const struct uvhttp_topics *topics)
{
    int err = uvh_check_not_frozen(topics->server, NULL, "topics must be set up");
    return err == 0 && uvh_is_reloading(topics->server) ? UVHTTP_EFROZEN : err;
}

int uvhttp_topics_set_adapter(uvhttp_topics_t *topics, const uvhttp_topics_adapter_t *functions,
                              void *adapter)
{
    if (topics == NULL)
        return UVHTTP_ENOMEM;
    if (functions == NULL || functions->publish == NULL ||
        topics->presence.functions.publish != NULL)
        return UVHTTP_EINVAL;
    int err = check_new(topics);
    if (err != 0)
        return err;
    topics->presence.functions = *functions;
    topics->presence.adapter = adapter;
    return 0;
}

void uvhttp_topics_on_presence(uvhttp_topics_t *topics, uvhttp_topics_presence_cb presence,
                               void *arg)
{
    if (topics == NULL)
        return;
    if (check_new(topics) != 0) {
        uvhttp_server_log(topics->server, UVHTTP_LOG_ERROR,
                          "uvhttp_topics_on_presence has no effect: the server listens already");
        return;
    }
    topics->on_presence = presence;
    topics->on_presence_arg = arg;
}

/* ---- members ---- */

static struct uvh_topic_member *member_of(const struct uvhttp_topics *topics,
                                          const uvhttp_websocket_t *ws)
{
    struct uvh_topic_member *member = uvh_websocket_member(ws);
    while (member != NULL && member->worker->topics != topics)
        member = member->next;
    return member;
}

/* Frees the subscription, then notifies the user, whose callback may do anything. */
static void unsubscribe(struct uvh_topics_worker *worker,
                        struct uvh_topic_subscription *subscription)
{
    struct uvhttp_topics *topics = worker->topics;
    struct uvh_topic_present *present = subscription->presence;
    uvh_topics_collect(worker);
    uvh_topic_tree_remove(&worker->tree, subscription);
    size_t left = uvh_topic_presence_leave(&topics->presence, present);
    if (topics->on_presence != NULL)
        topics->on_presence(topics, present->pattern, left, topics->on_presence_arg);
    uvh_topic_presence_unref(&topics->presence, present);
}

/* Counts a member, and whether it compresses. Publishing reads both counters on any thread. */
static void count_member(const struct uvh_topic_member *member, int change)
{
    struct uvhttp_topics *topics = member->worker->topics;
    atomic_fetch_add(&topics->members, (size_t)change);
    if (member->compressing)
        atomic_fetch_add(&topics->compressing, (size_t)change);
}

/* The connection ends; it has unlinked its members already. */
static void on_removed(struct uvh_topic_member *member)
{
    while (member != NULL) {
        struct uvh_topic_member *next = member->next;
        struct uvh_topics_worker *worker = member->worker;
        struct uvh_topic_subscription *one;
        while ((one = uvh_topic_subscriber_first(&member->subscriber)) != NULL)
            unsubscribe(worker, one);
        uvh_topic_fanout_leave(&worker->fanout, member);
        count_member(member, -1);
        uvh_free(worker->topics->allocator, member);
        member = next;
    }
}

static void copy_settings(struct uvhttp_topics *topics, const struct uvh_ws_deflate_settings *from)
{
    uvh_lock_acquire(&topics->lock);
    if (atomic_load(&topics->deflate) == NULL) {
        topics->settings = *from;
        topics->settings.allocator = topics->allocator;
        topics->settings.budget = topics->settings.windows = NULL;
        topics->settings.many = &topics->many;
        atomic_store(&topics->deflate, &topics->settings);
    }
    uvh_lock_release(&topics->lock);
}

static struct uvh_topic_member *join(struct uvhttp_topics *topics, uvhttp_websocket_t *ws)
{
    struct uvh_topics_worker *worker = &topics->workers[uvhttp_websocket_worker(ws)];
    struct uvh_topic_member *member = uvh_alloc_zero(topics->allocator, sizeof(*member));
    if (member == NULL)
        return NULL;
    if (uvh_topic_fanout_join(&worker->fanout, member) != 0) {
        uvh_free(topics->allocator, member);
        return NULL;
    }
    uvh_topic_subscriber_init(&member->subscriber);
    member->ws = ws;
    member->worker = worker;
    member->compressing = ws->deflate != NULL;
    member->next = uvh_websocket_member(ws);
    uvh_websocket_set_member(ws, member, on_removed);
    if (member->compressing && atomic_load(&topics->deflate) == NULL)
        copy_settings(topics, &uvhttp_websocket_endpoint_of(ws)->deflate);
    count_member(member, 1);
    return member;
}

/* ---- subscriptions ---- */

static int check(const struct uvhttp_topics *topics, const uvhttp_websocket_t *ws,
                 const char *pattern, size_t *length)
{
    if (topics == NULL)
        return UVHTTP_ENOMEM;
    if (pattern == NULL || uvhttp_websocket_server(ws) != topics->server || ws->client)
        return UVHTTP_EINVAL;
    *length = strlen(pattern);
    return *length <= topics->options.max_topic_size && uvh_topic_is_pattern(pattern, *length)
               ? 0
               : UVHTTP_EINVAL;
}

int uvhttp_websocket_subscribe(uvhttp_websocket_t *ws, uvhttp_topics_t *topics, const char *pattern)
{
    size_t length, count;
    int err = check(topics, ws, pattern, &length);
    if (err != 0 || !uvh_websocket_is_open(ws))
        return err != 0 ? err : UVHTTP_EDISCONNECTED;
    struct uvh_topics_worker *worker = &topics->workers[uvhttp_websocket_worker(ws)];
    struct uvh_topic_member *member = member_of(topics, ws);
    if (member != NULL &&
        uvh_topic_tree_find(&worker->tree, &member->subscriber, pattern, length) != NULL)
        return 0;
    if (member != NULL && member->subscriber.count >= topics->options.max_subscriptions)
        return UVHTTP_EFULL;
    uvh_topics_collect(worker);
    if (member == NULL && (member = join(topics, ws)) == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_topic_subscription *one =
        uvh_topic_tree_add(&worker->tree, &member->subscriber, pattern, length);
    if (one == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_topic_present *present =
        uvh_topic_presence_enter(&topics->presence, pattern, length, &count);
    if (present == NULL) {
        uvh_topic_tree_remove(&worker->tree, one);
        return UVHTTP_ENOMEM;
    }
    one->presence = present;
    if (topics->on_presence != NULL) {
        uvh_topic_presence_ref(&topics->presence, present);
        topics->on_presence(topics, present->pattern, count, topics->on_presence_arg);
        uvh_topic_presence_unref(&topics->presence, present);
    }
    return 0;
}

int uvhttp_websocket_unsubscribe(uvhttp_websocket_t *ws, uvhttp_topics_t *topics,
                                 const char *pattern)
{
    size_t length;
    int err = check(topics, ws, pattern, &length);
    if (err != 0)
        return err;
    struct uvh_topics_worker *worker = &topics->workers[uvhttp_websocket_worker(ws)];
    const struct uvh_topic_member *member = member_of(topics, ws);
    struct uvh_topic_subscription *one =
        member == NULL ? NULL
                       : uvh_topic_tree_find(&worker->tree, &member->subscriber, pattern, length);
    if (one == NULL)
        return UVHTTP_EINVAL;
    unsubscribe(worker, one);
    return 0;
}

size_t uvhttp_topics_count(uvhttp_topics_t *topics, const char *pattern)
{
    if (topics == NULL || pattern == NULL)
        return 0;
    return uvh_topic_presence_count(&topics->presence, pattern, strlen(pattern));
}
