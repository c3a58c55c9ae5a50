/* Names are kept in an arena, so that a hundred thousand of them are some hundred allocations, and never move. */
#include "modules/dir_entries.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "modules/static_path.h"

enum {
    FULL = 1, /* ends the reading of the folder */
    FIRST_CAPACITY = 64,
};

struct reading {
    struct uvh_dir_entries *entries;
    const struct uvh_dir_query *query;
};

/* What a link leads to, if it may be served. */
static bool look_behind(const struct uvh_dir_query *query, const char *name, struct uvh_file_facts *facts)
{
    char path[PATH_MAX];
    size_t folder = strlen(query->folder);
    size_t length = strlen(name);
    if (folder + length >= sizeof(path))
        return false;
    memcpy(path, query->folder, folder);
    memcpy(path + folder, name, length + 1);
    return uvh_file_look(query->root, path, facts) == 0;
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

static int add(struct uvh_dir_entries *entries, const char *name, const struct uvh_file_facts *facts)
{
    if (entries->count == entries->capacity && grow(entries) != 0)
        return UVHTTP_ENOMEM;
    const char *copy = uvh_arena_copy(&entries->names, name, strlen(name));
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    bool folder = facts->kind == UVH_FILE_FOLDER;
    entries->items[entries->count++] = (struct uvh_dir_entry){
        .name = copy,
        .size = folder ? 0 : facts->size,
        .modified = facts->modified_seconds,
        .folder = folder,
    };
    entries->folders += folder;
    entries->bytes += folder ? 0 : facts->size;
    return 0;
}

static int take(const char *name, const struct uvh_file_facts *facts, void *arg)
{
    struct reading *reading = arg;
    struct uvh_dir_entries *entries = reading->entries;
    struct uvh_file_facts target = *facts;
    if ((name[0] == '.' && !reading->query->hidden) || uvh_static_path_is_kept_back(name, true))
        return 0;
    if (facts->kind == UVH_FILE_LINK && !look_behind(reading->query, name, &target))
        return 0;
    if (target.kind != UVH_FILE_REGULAR && target.kind != UVH_FILE_FOLDER)
        return 0;
    if (entries->count == reading->query->most) {
        entries->cut = true;
        return FULL;
    }
    return add(entries, name, &target);
}

static int lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : (unsigned char)byte;
}

/* Without regard to ASCII case, then by bytes, so that no two names are equal. */
static int compare_names(const struct uvh_dir_entry *a, const struct uvh_dir_entry *b)
{
    size_t i = 0;
    while (a->name[i] != '\0' && lower(a->name[i]) == lower(b->name[i]))
        i++;
    int difference = lower(a->name[i]) - lower(b->name[i]);
    return difference != 0 ? difference : strcmp(a->name, b->name);
}

/* Negative, 0 or positive; the whole order of one sorting is this, then compare_names. */
static int compare_kinds(const struct uvh_dir_entry *a, const struct uvh_dir_entry *b)
{
    return b->folder - a->folder;
}

static int by_name(const void *left, const void *right)
{
    int difference = compare_kinds(left, right);
    return difference != 0 ? difference : compare_names(left, right);
}

static int by_name_down(const void *left, const void *right)
{
    int difference = compare_kinds(left, right);
    return difference != 0 ? difference : compare_names(right, left);
}

static int by_size(const void *left, const void *right)
{
    const struct uvh_dir_entry *a = left, *b = right;
    int difference = compare_kinds(a, b);
    if (difference == 0)
        difference = (a->size > b->size) - (a->size < b->size);
    return difference != 0 ? difference : compare_names(a, b);
}

static int by_size_down(const void *left, const void *right)
{
    const struct uvh_dir_entry *a = left, *b = right;
    int difference = compare_kinds(a, b);
    if (difference == 0)
        difference = (a->size < b->size) - (a->size > b->size);
    return difference != 0 ? difference : compare_names(a, b);
}

static int by_date(const void *left, const void *right)
{
    const struct uvh_dir_entry *a = left, *b = right;
    int difference = compare_kinds(a, b);
    if (difference == 0)
        difference = (a->modified > b->modified) - (a->modified < b->modified);
    return difference != 0 ? difference : compare_names(a, b);
}

static int by_date_down(const void *left, const void *right)
{
    const struct uvh_dir_entry *a = left, *b = right;
    int difference = compare_kinds(a, b);
    if (difference == 0)
        difference = (a->modified < b->modified) - (a->modified > b->modified);
    return difference != 0 ? difference : compare_names(a, b);
}

static void sort(struct uvh_dir_entries *entries, const struct uvh_dir_query *query)
{
    static int (*const orders[][2])(const void *, const void *) = {
        [UVH_DIR_SORT_NAME] = {by_name, by_name_down},
        [UVH_DIR_SORT_SIZE] = {by_size, by_size_down},
        [UVH_DIR_SORT_DATE] = {by_date, by_date_down},
    };
    if (entries->count > 0)
        qsort(entries->items, entries->count, sizeof(*entries->items),
              orders[query->sort][query->descending]);
}

int uvh_dir_entries_read(struct uvh_dir_entries *entries, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_query *query)
{
    *entries = (struct uvh_dir_entries){0};
    uvh_arena_pool_init(&entries->pool, allocator);
    if (uvh_arena_begin(&entries->names, &entries->pool, 0) == NULL)
        return UVHTTP_ENOMEM;
    struct reading reading = {entries, query};
    int result = uvh_file_list(query->root, query->folder, take, &reading);
    if (result != 0 && result != FULL)
        return result;
    sort(entries, query);
    return 0;
}

void uvh_dir_entries_release(struct uvh_dir_entries *entries)
{
    if (entries->names.blocks != NULL)
        uvh_arena_release(&entries->names);
    entries->names.blocks = NULL;
    uvh_arena_pool_release(&entries->pool);
    uvh_free(entries->pool.allocator, entries->items);
    entries->items = NULL;
    entries->count = 0;
}
