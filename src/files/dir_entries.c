/* Names are in an arena, so that a hundred thousand of them need some hundred allocations and never
 * move. With more entries than wanted, the kept ones form a heap with the last one in the order on
 * top; a better entry replaces that one. */
#include "files/dir_entries.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "codec/fields/coding.h"
#include "codec/text/name_order.h"
#include "files/static_path.h"

enum {
    FULL = 1, /* ends the reading of the directory */
    FIRST_CAPACITY = 64,
    /* Names that a filter omits, so that a request that matches nothing ends in time. */
    MOST_OMITTED = 1000000,
    /* Bytes: enough for any usual name, so that a slot is never reallocated twice. */
    NAME_CAPACITY = 256,
};

struct reading {
    struct uvh_dir_entries *entries;
    const struct uvh_dir_query *query;
    int directory;  /* descriptor */
    size_t read;    /* entries so far */
    size_t omitted; /* by the filter */
};

/* The target of a link, if it may be served. */
static bool follow_link(const struct uvh_dir_query *query, const char *name,
                        struct uvh_file_facts *facts)
{
    char path[PATH_MAX];
    size_t directory = strlen(query->directory);
    size_t length = strlen(name);
    if (directory + length >= sizeof(path))
        return false;
    memcpy(path, query->directory, directory);
    memcpy(path + directory, name, length + 1);
    return uvh_file_facts_read(query->root, path, facts) == 0;
}

static int grow(struct uvh_dir_entries *entries)
{
    size_t capacity = entries->capacity == 0 ? FIRST_CAPACITY : entries->capacity * 2;
    struct uvh_dir_entry *items =
        uvh_realloc(entries->pool.allocator, entries->items, capacity * sizeof(*items));
    if (items == NULL)
        return UVHTTP_ENOMEM;
    entries->items = items;
    entries->capacity = capacity;
    return 0;
}

static int compare_names(const struct uvh_dir_entry *a, const struct uvh_dir_entry *b)
{
    return uvh_name_order_compare(a->name, b->name);
}

/* The order of the listing: directories first, whatever the direction. */
static int compare(const struct uvh_dir_query *query, const struct uvh_dir_entry *left,
                   const struct uvh_dir_entry *right)
{
    const struct uvh_dir_entry *a = query->descending ? right : left;
    const struct uvh_dir_entry *b = query->descending ? left : right;
    if (left->directory != right->directory)
        return right->directory - left->directory;
    if (query->sort == UVH_DIR_SORT_NAME)
        return compare_names(a, b);
    int difference = query->sort == UVH_DIR_SORT_SIZE
                         ? (a->size > b->size) - (a->size < b->size)
                         : (a->modified > b->modified) - (a->modified < b->modified);
    return difference != 0 ? difference : compare_names(left, right);
}

/* ---- stat ---- */

static bool is_listed(enum uvh_file_kind kind)
{
    return kind == UVH_FILE_REGULAR || kind == UVH_FILE_DIRECTORY;
}

/* False for an entry that is not shown. */
static bool check(const struct reading *reading, struct uvh_dir_entry *entry)
{
    struct uvh_file_facts facts;
    if (uvh_file_facts_read_in(reading->directory, entry->name, &facts) != 0)
        return false;
    if (facts.kind == UVH_FILE_LINK && !follow_link(reading->query, entry->name, &facts))
        return false;
    if (!is_listed(facts.kind))
        return false;
    entry->directory = facts.kind == UVH_FILE_DIRECTORY;
    entry->size = entry->directory ? 0 : facts.size;
    entry->modified = facts.modified_seconds;
    entry->checked = true;
    return true;
}

/* True for a compressed file next to its source, which is served in place of it. */
static bool is_sibling(const struct reading *reading, const char *name)
{
    char source[PATH_MAX];
    size_t length = strlen(name);
    for (int coding = UVH_CODING_IDENTITY + 1; coding < UVH_CODING_COUNT; coding++) {
        const char *suffix = uvh_coding_suffix((enum uvh_coding)coding);
        size_t rest = length - strlen(suffix);
        struct uvh_file_facts facts;
        if (length <= strlen(suffix) || rest >= sizeof(source) || strcmp(name + rest, suffix) != 0)
            continue;
        memcpy(source, name, rest);
        source[rest] = '\0';
        return uvh_file_facts_read_in(reading->directory, source, &facts) == 0 &&
               facts.kind != UVH_FILE_DIRECTORY;
    }
    return false;
}

/* The length of one of the further names without its slash. */
static size_t listed_length(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && name[length - 1] == '/' ? length - 1 : length;
}

static bool is_listed_name(const struct uvh_dir_query *query, const char *name)
{
    for (const char *const *at = query->listed; at != NULL && *at != NULL; at++) {
        if (strlen(name) == listed_length(*at) && strncmp(name, *at, listed_length(*at)) == 0)
            return true;
    }
    return false;
}

/* ---- selection ---- */

static int add(struct uvh_dir_entries *entries, const struct uvh_dir_entry *entry)
{
    if (entries->count == entries->capacity && grow(entries) != 0)
        return UVHTTP_ENOMEM;
    size_t length = strlen(entry->name);
    const char *copy = uvh_arena_copy(&entries->names, entry->name, length);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_dir_entry *added = &entries->items[entries->count++];
    *added = *entry;
    added->name = copy;
    added->capacity = (uint32_t)length + 1;
    return 0;
}

static void swap(struct uvh_dir_entry *a, struct uvh_dir_entry *b)
{
    struct uvh_dir_entry moved = *a;
    *a = *b;
    *b = moved;
}

/* Restores the heap of the first `count` entries below an index. */
static void sink(const struct reading *reading, size_t index, size_t count)
{
    struct uvh_dir_entry *items = reading->entries->items;
    for (;;) {
        size_t last = index;
        for (size_t below = 2 * index + 1; below <= 2 * index + 2 && below < count; below++) {
            if (compare(reading->query, &items[below], &items[last]) > 0)
                last = below;
        }
        if (last == index)
            return;
        swap(&items[index], &items[last]);
        index = last;
    }
}

static void make_heap(const struct reading *reading)
{
    size_t count = reading->entries->count;
    for (size_t index = count / 2; index > 0; index--)
        sink(reading, index - 1, count);
}

static void sort(const struct reading *reading)
{
    struct uvh_dir_entry *items = reading->entries->items;
    make_heap(reading);
    for (size_t count = reading->entries->count; count > 1;) {
        swap(&items[0], &items[--count]);
        sink(reading, 0, count);
    }
}

/* Replaces the last entry; reuses the memory of its name if large enough. */
static int replace_last(const struct reading *reading, const struct uvh_dir_entry *entry)
{
    struct uvh_dir_entry *last = &reading->entries->items[0];
    size_t size = strlen(entry->name) + 1;
    char *name = (char *)(uintptr_t)last->name;
    uint32_t capacity = last->capacity;
    if (size > capacity) {
        capacity = size > NAME_CAPACITY ? (uint32_t)size : NAME_CAPACITY;
        name = uvh_arena_alloc(&reading->entries->names, capacity);
        if (name == NULL)
            return UVHTTP_ENOMEM;
    }
    memcpy(name, entry->name, size);
    *last = *entry;
    last->name = name;
    last->capacity = capacity;
    sink(reading, 0, reading->entries->count);
    return 0;
}

static bool is_before_last(const struct reading *reading, const struct uvh_dir_entry *entry)
{
    return compare(reading->query, entry, &reading->entries->items[0]) < 0;
}

/* The position of an entry is unknown before its stat. When sorted by name, that holds only for a
 * link, which may lead to a directory. */
static bool needs_check(const struct reading *reading, enum uvh_file_kind kind)
{
    return reading->query->sort != UVH_DIR_SORT_NAME || !is_listed(kind);
}

/* The name of an unfinished upload, or one to hide; the directory itself is not hidden. */
static bool is_denied(const struct uvh_dir_query *query, const char *name)
{
    char path[PATH_MAX];
    if (query->hide == NULL)
        return uvh_static_path_is_denied(name, true, NULL);
    snprintf(path, sizeof(path), "%s%s", query->directory, name);
    return uvh_static_path_is_denied(path, true, query->hide);
}

static int take(const char *name, enum uvh_file_kind kind, void *arg)
{
    struct reading *reading = arg;
    const struct uvh_dir_query *query = reading->query;
    struct uvh_dir_entries *entries = reading->entries;
    struct uvh_dir_entry entry = {.name = name, .directory = kind != UVH_FILE_REGULAR};
    if ((name[0] == '.' && !query->hidden) || is_denied(query, name) || kind == UVH_FILE_OTHER ||
        is_listed_name(query, name))
        return 0;
    if (query->filter != NULL && !uvh_name_order_contains(name, query->filter)) {
        entries->cut = entries->cut || ++reading->omitted == MOST_OMITTED;
        return reading->omitted == MOST_OMITTED ? FULL : 0;
    }
    if (query->no_siblings && is_sibling(reading, name))
        return 0;
    bool full = entries->count == query->most;
    if (full && query->read != 0 && reading->read >= query->read) {
        entries->cut = true;
        entries->chosen_from = reading->read;
        return FULL;
    }
    reading->read++;
    /* Even as a directory it would sort after the others. */
    if (entries->cut && query->sort == UVH_DIR_SORT_NAME && !is_before_last(reading, &entry))
        return 0;
    if (needs_check(reading, kind) && !check(reading, &entry))
        return 0;
    if (!full)
        return add(entries, &entry);
    if (query->read == 0 || query->most == 0) {
        entries->cut = true;
        return FULL;
    }
    if (!entries->cut)
        make_heap(reading);
    entries->cut = true;
    return is_before_last(reading, &entry) ? replace_last(reading, &entry) : 0;
}

/* Appends the further names, as far as the limit allows. Returns 0 or UVHTTP_ENOMEM. */
static int add_listed(const struct reading *reading)
{
    const struct uvh_dir_query *query = reading->query;
    struct uvh_dir_entries *entries = reading->entries;
    for (const char *const *at = query->listed; at != NULL && *at != NULL; at++) {
        size_t length = listed_length(*at);
        if (query->filter != NULL && !uvh_name_order_contains(*at, query->filter))
            continue;
        if (entries->count == query->most) {
            entries->cut = true;
            break;
        }
        struct uvh_dir_entry entry = {
            .name = *at, .directory = (*at)[length] == '/', .checked = true, .added = true};
        if (add(entries, &entry) != 0)
            return UVHTTP_ENOMEM;
        ((char *)(uintptr_t)entries->items[entries->count - 1].name)[length] = '\0';
    }
    return 0;
}

/* Stats the remaining entries, omits those that no longer exist, and counts. */
static void finish(const struct reading *reading)
{
    struct uvh_dir_entries *entries = reading->entries;
    size_t kept = 0;
    for (size_t i = 0; i < entries->count; i++) {
        struct uvh_dir_entry *entry = &entries->items[i];
        if (!entry->checked && !check(reading, entry))
            continue;
        entries->directories += entry->directory;
        entries->bytes += entry->size;
        entries->items[kept++] = *entry;
    }
    entries->count = kept;
    sort(reading);
}

int uvh_dir_entries_read(struct uvh_dir_entries *entries, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_query *query)
{
    *entries = (struct uvh_dir_entries){0};
    uvh_arena_pool_init(&entries->pool, allocator);
    if (uvh_arena_begin(&entries->names, &entries->pool, 0) == NULL)
        return UVHTTP_ENOMEM;
    struct reading reading = {.entries = entries, .query = query};
    int result = uvh_file_open_directory(query->root, query->directory, false, &reading.directory);
    if (result != 0)
        return result;
    result = uvh_file_list_in(reading.directory, take, &reading);
    if (result == 0 || result == FULL)
        result = add_listed(&reading);
    if (result == 0)
        finish(&reading);
    uvh_file_close(reading.directory);
    return result;
}

void uvh_dir_entries_release(struct uvh_dir_entries *entries)
{
    uvh_owner_hand_over(&entries->pool.owner); /* the job that read them has ended */
    if (entries->names.blocks != NULL)
        uvh_arena_release(&entries->names);
    entries->names.blocks = NULL;
    uvh_arena_pool_release(&entries->pool);
    uvh_free(entries->pool.allocator, entries->items);
    entries->items = NULL;
    entries->count = 0;
}
