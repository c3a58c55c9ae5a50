/* Maps topic patterns to channels and globs of the broker. A topic is a channel; '+' and '#' become
 * '*'. '*' also matches '/', so a message received by a glob is matched against the patterns again.
 * When the broker refuses a glob, the glob of all channels, "#", replaces it: that channel then has
 * one more pattern, REPLACEMENT, which users cannot subscribe to and which matches whatever a
 * refused glob would match. tsearch(3) finds channels: its tree stays balanced whatever names
 * clients choose. */
#include "redis/channels.h"

#include <search.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

static const char EVERYTHING[] = "#", REPLACEMENT[] = "";

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
static void write_glob(char *out, const char *prefix, const char *pattern)
{
    out = copy_literal(out, prefix, strlen(prefix));
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '+' || *pattern == '#')
            *out++ = '*';
        else if (strcmp(pattern, "/#") != 0)
            out = copy_literal(out, pattern, 1);
    }
    *out = '\0';
}

static bool fits(const char *pattern, const char *topic)
{
    for (;;) {
        size_t level = strcspn(pattern, "/"), given = strcspn(topic, "/");
        if (strcmp(pattern, "#") == 0)
            return true;
        if (!(level == 1 && *pattern == '+') &&
            (level != given || memcmp(pattern, topic, level) != 0))
            return false;
        pattern += level;
        topic += given;
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

/* NULL when there is none. */
static struct uvh_redis_channel *find(const struct uvh_redis_channels *channels, bool glob,
                                      const char *text)
{
    const struct uvh_redis_channel key = {.glob = glob, .text = text};
    struct uvh_redis_channel **slot = tfind(&key, &channels->tree, compare);
    return slot == NULL ? NULL : *slot;
}

/* The channel of a pattern, which is not in the table. */
static struct uvh_redis_channel *make(const struct uvh_redis_channels *channels,
                                      const char *pattern)
{
    size_t prefix = strlen(channels->prefix), size = strlen(pattern) + 1;
    struct uvh_redis_channel *channel =
        uvh_alloc(channels->allocator, sizeof(*channel) + 2 * (prefix + size));
    if (channel == NULL)
        return NULL;
    *channel = (struct uvh_redis_channel){.glob = is_glob(pattern), .text = channel->bytes};
    uvh_list_init(&channel->changed);
    if (channel->glob) {
        write_glob(channel->bytes, channels->prefix, pattern);
    } else {
        memcpy(channel->bytes, channels->prefix, prefix);
        memcpy(channel->bytes + prefix, pattern, size);
    }
    return channel;
}

static void note_changed(struct uvh_redis_channels *channels, struct uvh_redis_channel *channel)
{
    uvh_list_remove(&channel->changed);
    uvh_list_append(&channels->changed, &channel->changed);
}

/* Inserts a channel unless an equal one exists, and returns the one in the table. NULL when out of
 * memory. */
static struct uvh_redis_channel *put(struct uvh_redis_channels *channels,
                                     struct uvh_redis_channel *channel)
{
    struct uvh_redis_channel **slot = tsearch(channel, &channels->tree, compare);
    if (slot != NULL && *slot == channel) {
        uvh_list_append(&channels->all, &channel->link);
        return channel;
    }
    uvh_free(channels->allocator, channel);
    return slot == NULL ? NULL : *slot;
}

/* Adds a pattern to the channel of another pattern, or to its own. */
static bool add(struct uvh_redis_channels *channels, const char *channel_of, const char *pattern)
{
    size_t size = strlen(pattern) + 1;
    struct uvh_redis_pattern *one = uvh_alloc(channels->allocator, sizeof(*one) + size);
    struct uvh_redis_channel *channel = one == NULL ? NULL : make(channels, channel_of);
    if (channel != NULL)
        channel = put(channels, channel);
    if (channel == NULL) {
        uvh_free(channels->allocator, one);
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
    uvh_free(channels->allocator, removed);
    if (channel->patterns == NULL)
        note_changed(channels, channel);
    return true;
}

#define CHANNEL_OF(node) UVH_CONTAINER_OF(node, struct uvh_redis_channel, link)

void uvh_redis_channels_remove(struct uvh_redis_channels *channels, const char *pattern)
{
    const char *channel_of = strcmp(pattern, REPLACEMENT) == 0 ? EVERYTHING : pattern;
    struct uvh_redis_channel *key = make(channels, channel_of);
    if (key != NULL) {
        struct uvh_redis_channel *channel = find(channels, key->glob, key->text);
        if (channel != NULL)
            (void)remove_from(channels, channel, pattern);
        uvh_free(channels->allocator, key);
        return;
    }
    /* Without memory for the key, search all channels: unused ones must be removed. */
    struct uvh_list *node = channels->all.next;
    while (node != &channels->all && !remove_from(channels, CHANNEL_OF(node), pattern))
        node = node->next;
}

/* A message that matches a refused glob. */
static bool fits_refused(const struct uvh_redis_channels *channels, const char *topic)
{
    for (struct uvh_list *node = channels->all.next; node != &channels->all; node = node->next) {
        const struct uvh_redis_channel *one = CHANNEL_OF(node);
        const struct uvh_redis_pattern *pattern = one->refused && one->glob ? one->patterns : NULL;
        while (pattern != NULL && !fits(pattern->text, topic))
            pattern = pattern->next;
        if (pattern != NULL)
            return true;
    }
    return false;
}

bool uvh_redis_channels_fit(struct uvh_redis_channels *channels, const char *glob,
                            const char *topic)
{
    const struct uvh_redis_channel *channel = find(channels, true, glob);
    const struct uvh_redis_pattern *pattern = channel == NULL ? NULL : channel->patterns;
    for (; pattern != NULL; pattern = pattern->next) {
        if (strcmp(pattern->text, REPLACEMENT) == 0 ? fits_refused(channels, topic)
                                                    : fits(pattern->text, topic))
            return true;
    }
    return false;
}

/* NULL when there is none, or when out of memory. */
static const struct uvh_redis_channel *find_everything(const struct uvh_redis_channels *channels)
{
    struct uvh_redis_channel *key = make(channels, EVERYTHING);
    const struct uvh_redis_channel *found = key == NULL ? NULL : find(channels, true, key->text);
    uvh_free(channels->allocator, key);
    return found;
}

bool uvh_redis_channels_refuse(struct uvh_redis_channels *channels, bool glob, const char *text,
                               bool may_replace)
{
    struct uvh_redis_channel *channel = find(channels, glob, text);
    if (channel == NULL || channel->refused)
        return false;
    const struct uvh_redis_channel *everything = find_everything(channels);
    channel->sent = false;
    channel->refused = true;
    if (!glob || !may_replace || channel == everything ||
        (everything != NULL && everything->refused))
        return false;
    if (channels->refused == 0 && !add(channels, EVERYTHING, REPLACEMENT))
        return false;
    channel->replaced = true;
    channels->refused++;
    return true;
}

/* The glob is no longer refused, or no longer subscribed to. */
static void forget_refusal(struct uvh_redis_channels *channels, struct uvh_redis_channel *channel)
{
    if (channel->replaced && --channels->refused == 0)
        uvh_redis_channels_remove(channels, REPLACEMENT);
    channel->refused = false;
    channel->replaced = false;
}

struct uvh_redis_channel *uvh_redis_channels_changed(struct uvh_redis_channels *channels)
{
    struct uvh_list *node = uvh_list_take(&channels->changed);
    return node == NULL ? NULL : UVH_CONTAINER_OF(node, struct uvh_redis_channel, changed);
}

void uvh_redis_channels_free(struct uvh_redis_channels *channels, struct uvh_redis_channel *channel)
{
    forget_refusal(channels, channel);
    (void)tdelete(channel, &channels->tree, compare);
    uvh_list_remove(&channel->link);
    uvh_list_remove(&channel->changed);
    while (channel->patterns != NULL) {
        struct uvh_redis_pattern *next = channel->patterns->next;
        uvh_free(channels->allocator, channel->patterns);
        channel->patterns = next;
    }
    uvh_free(channels->allocator, channel);
}

void uvh_redis_channels_forget(struct uvh_redis_channels *channels)
{
    for (struct uvh_list *node = channels->all.next; node != &channels->all; node = node->next) {
        struct uvh_redis_channel *channel = CHANNEL_OF(node);
        channel->sent = false;
        forget_refusal(channels, channel);
        note_changed(channels, channel);
    }
}

void uvh_redis_channels_init(struct uvh_redis_channels *channels,
                             const uvhttp_allocator_t *allocator)
{
    *channels = (struct uvh_redis_channels){.allocator = allocator};
    uvh_list_init(&channels->all);
    uvh_list_init(&channels->changed);
}

void uvh_redis_channels_release(struct uvh_redis_channels *channels)
{
    while (!uvh_list_empty(&channels->all))
        uvh_redis_channels_free(channels, CHANNEL_OF(channels->all.next));
}
