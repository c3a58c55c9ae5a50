/* Maps topic patterns to channels and globs of the broker. A topic is a channel; '+' and '#' become
 * '*'. '*' also matches '/', so a message received by a glob is matched against the patterns again.
 * When the broker refuses a glob, the glob of all channels, "#", replaces it: that channel then has
 * one more pattern, STAND_IN, which users cannot subscribe to and which matches whatever a refused
 * glob would match. tsearch(3) finds channels: its tree stays balanced whatever names clients
 * choose. */
#include "redis/redis.h"

#include <search.h>
#include <string.h>

static const char EVERYTHING[] = "#", STAND_IN[] = "";

/* ---- patterns ---- */

static bool is_glob(const char *pattern)
{
    return strpbrk(pattern, "+#") != NULL;
}

/* Copies text and escapes the special characters of globs. */
static char *copy_literal(char *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr("*?[]\\", text[i]) != NULL)
            *out++ = '\\';
        *out++ = text[i];
    }
    return out;
}

/* `out` has space for twice the length of prefix and pattern together. "a/#" also matches "a", so
 * its slash is omitted. */
static size_t write_glob(char *out, const char *prefix, const char *pattern)
{
    const char *begin = out;
    out = copy_literal(out, prefix, strlen(prefix));
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '+' || *pattern == '#')
            *out++ = '*';
        else if (strcmp(pattern, "/#") != 0)
            out = copy_literal(out, pattern, 1);
    }
    *out = '\0';
    return (size_t)(out - begin);
}

static bool fits(const char *pattern, const char *topic)
{
    for (;;) {
        size_t level = strcspn(pattern, "/"), said = strcspn(topic, "/");
        if (strcmp(pattern, "#") == 0)
            return true;
        if (!(level == 1 && *pattern == '+') &&
            (level != said || memcmp(pattern, topic, level) != 0))
            return false;
        pattern += level;
        topic += said;
        if (*topic == '\0')
            return *pattern == '\0' || strcmp(pattern, "/#") == 0;
        if (*pattern == '\0')
            return false;
        pattern++;
        topic++;
    }
}

/* ---- the table ---- */

static int compare(const void *left, const void *right)
{
    const struct uvh_redis_channel *one = left, *other = right;
    return one->glob != other->glob ? (int)one->glob - (int)other->glob
                                    : strcmp(one->text, other->text);
}

/* A channel that is not in the table. */
static struct uvh_redis_channel *make(const struct uvh_redis_channels *channels,
                                      const char *pattern)
{
    size_t prefix = strlen(channels->prefix), length = strlen(pattern);
    struct uvh_redis_channel *channel = channels->allocator->allocate(
        sizeof(*channel) + 2 * (prefix + length) + 1, channels->allocator->context);
    if (channel == NULL)
        return NULL;
    *channel = (struct uvh_redis_channel){.glob = is_glob(pattern)};
    if (channel->glob) {
        channel->length = write_glob(channel->text, channels->prefix, pattern);
    } else {
        memcpy(channel->text, channels->prefix, prefix);
        memcpy(channel->text + prefix, pattern, length + 1);
        channel->length = prefix + length;
    }
    return channel;
}

static void release(const struct uvh_redis_channels *channels, void *memory)
{
    if (memory != NULL)
        channels->allocator->release(memory, channels->allocator->context);
}

static void note_changed(struct uvh_redis_channels *channels, struct uvh_redis_channel *channel)
{
    if (channel->changed)
        return;
    channel->changed = true;
    channel->next_changed = channels->changed;
    channels->changed = channel;
}

/* Inserts a channel unless an equal one exists, and returns the one in the table. NULL when out of
 * memory. */
static struct uvh_redis_channel *put(struct uvh_redis_channels *channels,
                                     struct uvh_redis_channel *channel)
{
    struct uvh_redis_channel **slot = tsearch(channel, &channels->tree, compare);
    if (slot == NULL || *slot != channel) {
        release(channels, channel);
        return slot == NULL ? NULL : *slot;
    }
    channel->next = channels->first;
    if (channel->next != NULL)
        channel->next->previous = channel;
    channels->first = channel;
    return channel;
}

/* Adds a pattern to the channel of another pattern, or to its own. */
static bool add(struct uvh_redis_channels *channels, const char *channel_of, const char *pattern)
{
    size_t size = strlen(pattern) + 1;
    struct uvh_redis_pattern *one =
        channels->allocator->allocate(sizeof(*one) + size, channels->allocator->context);
    struct uvh_redis_channel *channel = one == NULL ? NULL : make(channels, channel_of);
    if (channel != NULL)
        channel = put(channels, channel);
    if (channel == NULL) {
        release(channels, one);
        return false;
    }
    memcpy(one->text, pattern, size);
    one->next = channel->patterns;
    channel->patterns = one;
    note_changed(channels, channel);
    return true;
}

bool uvh_redis_channels_add(struct uvh_redis_channels *channels, const char *pattern)
{
    return add(channels, pattern, pattern);
}

/* False when the channel has no such pattern. */
static bool remove_from(struct uvh_redis_channels *channels, struct uvh_redis_channel *channel,
                        const char *pattern)
{
    struct uvh_redis_pattern **at = &channel->patterns;
    while (*at != NULL && strcmp((*at)->text, pattern) != 0)
        at = &(*at)->next;
    if (*at == NULL)
        return false;
    struct uvh_redis_pattern *removed = *at;
    *at = removed->next;
    release(channels, removed);
    if (channel->patterns == NULL)
        note_changed(channels, channel);
    return true;
}

void uvh_redis_channels_remove(struct uvh_redis_channels *channels, const char *pattern)
{
    const char *channel_of = strcmp(pattern, STAND_IN) == 0 ? EVERYTHING : pattern;
    struct uvh_redis_channel *key = make(channels, channel_of);
    if (key != NULL) {
        struct uvh_redis_channel **slot = tfind(key, &channels->tree, compare);
        if (slot != NULL)
            (void)remove_from(channels, *slot, pattern);
        release(channels, key);
        return;
    }
    /* Without memory for the key, search all channels: unused ones must be removed. */
    struct uvh_redis_channel *channel = channels->first;
    while (channel != NULL && !remove_from(channels, channel, pattern))
        channel = channel->next;
}

/* A message that matches a refused glob. */
static bool fits_refused(const struct uvh_redis_channels *channels, const char *topic)
{
    for (const struct uvh_redis_channel *one = channels->first; one != NULL; one = one->next) {
        const struct uvh_redis_pattern *pattern = one->refused && one->glob ? one->patterns : NULL;
        while (pattern != NULL && !fits(pattern->text, topic))
            pattern = pattern->next;
        if (pattern != NULL)
            return true;
    }
    return false;
}

/* False when out of memory. */
static bool find(struct uvh_redis_channels *channels, bool glob, const char *text,
                 struct uvh_redis_channel **channel)
{
    size_t length = strlen(text);
    struct uvh_redis_channel *key =
        channels->allocator->allocate(sizeof(*key) + length + 1, channels->allocator->context);
    *channel = NULL;
    if (key == NULL)
        return false;
    *key = (struct uvh_redis_channel){.glob = glob};
    memcpy(key->text, text, length + 1);
    struct uvh_redis_channel **slot = tfind(key, &channels->tree, compare);
    if (slot != NULL)
        *channel = *slot;
    release(channels, key);
    return true;
}

bool uvh_redis_channels_fit(struct uvh_redis_channels *channels, const char *glob,
                            const char *topic)
{
    struct uvh_redis_channel *channel;
    if (!find(channels, true, glob, &channel))
        return true; /* the topics match it again; it only costs more */
    const struct uvh_redis_pattern *pattern = channel == NULL ? NULL : channel->patterns;
    for (; pattern != NULL; pattern = pattern->next) {
        if (strcmp(pattern->text, STAND_IN) == 0 ? fits_refused(channels, topic)
                                                 : fits(pattern->text, topic))
            return true;
    }
    return false;
}

/* NULL when there is none, or when out of memory. */
static const struct uvh_redis_channel *find_everything(const struct uvh_redis_channels *channels)
{
    struct uvh_redis_channel *key = make(channels, EVERYTHING);
    struct uvh_redis_channel **slot = key == NULL ? NULL : tfind(key, &channels->tree, compare);
    release(channels, key);
    return slot == NULL ? NULL : *slot;
}

bool uvh_redis_channels_refuse(struct uvh_redis_channels *channels, bool glob, const char *text,
                               bool may_stand_in)
{
    struct uvh_redis_channel *channel;
    if (!find(channels, glob, text, &channel) || channel == NULL || channel->refused)
        return false;
    const struct uvh_redis_channel *everything = find_everything(channels);
    channel->sent = false;
    channel->refused = true;
    if (!glob || !may_stand_in || channel == everything ||
        (everything != NULL && everything->refused))
        return false;
    if (channels->refused == 0 && !add(channels, EVERYTHING, STAND_IN))
        return false;
    channel->replaced = true;
    channels->refused++;
    return true;
}

/* The glob is no longer refused, or no longer subscribed to. */
static void forget_refusal(struct uvh_redis_channels *channels, struct uvh_redis_channel *channel)
{
    if (channel->replaced && --channels->refused == 0)
        uvh_redis_channels_remove(channels, STAND_IN);
    channel->refused = false;
    channel->replaced = false;
}

struct uvh_redis_channel *uvh_redis_channels_changed(struct uvh_redis_channels *channels)
{
    struct uvh_redis_channel *channel = channels->changed;
    if (channel == NULL)
        return NULL;
    channels->changed = channel->next_changed;
    channel->changed = false;
    return channel;
}

void uvh_redis_channels_free(struct uvh_redis_channels *channels, struct uvh_redis_channel *channel)
{
    forget_refusal(channels, channel);
    (void)tdelete(channel, &channels->tree, compare);
    if (channel->previous != NULL)
        channel->previous->next = channel->next;
    else
        channels->first = channel->next;
    if (channel->next != NULL)
        channel->next->previous = channel->previous;
    while (channel->patterns != NULL) {
        struct uvh_redis_pattern *next = channel->patterns->next;
        release(channels, channel->patterns);
        channel->patterns = next;
    }
    release(channels, channel);
}

void uvh_redis_channels_forget(struct uvh_redis_channels *channels)
{
    for (struct uvh_redis_channel *channel = channels->first; channel != NULL;
         channel = channel->next) {
        channel->sent = false;
        forget_refusal(channels, channel);
        note_changed(channels, channel);
    }
}

void uvh_redis_channels_release(struct uvh_redis_channels *channels)
{
    while (channels->first != NULL)
        uvh_redis_channels_free(channels, channels->first);
}
