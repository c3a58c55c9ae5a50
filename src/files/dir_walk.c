/* The directories being walked form a list from the innermost outwards; each holds its entries
 * until all are visited. */
#include "files/dir_walk.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"

struct uvh_dir_walk_level {
    struct uvh_dir_walk_level *outer;
    struct uvh_dir_entries entries;
    size_t next;
    size_t path_length; /* of the directory's own path */
    uint64_t device, inode;
};

/* The contents of the directory are unknown after such an error: skipping it would show it as
 * empty. */
static bool is_shortage(int error)
{
    return error == UVHTTP_ENOMEM || error == -ENOMEM || error == -EMFILE || error == -ENFILE ||
           error == -EIO;
}

static bool is_walked(const struct uvh_dir_walk *walk, const struct uvh_file_facts *facts)
{
    for (const struct uvh_dir_walk_level *level = walk->level; level != NULL;
         level = level->outer) {
        if (level->device == facts->device && level->inode == facts->inode)
            return true;
    }
    return false;
}

static void free_level(struct uvh_dir_walk *walk, struct uvh_dir_walk_level *level)
{
    uvh_dir_entries_release(&level->entries);
    uvh_free(walk->allocator, level);
}

/* Reads the directory of walk->path, and makes it the current one. */
static int enter(struct uvh_dir_walk *walk)
{
    struct uvh_file_facts facts;
    int result = uvh_file_facts_read(walk->root, walk->path, &facts);
    if (result != 0)
        return result;
    if (is_walked(walk, &facts))
        return -ELOOP;
    struct uvh_dir_walk_level *level = uvh_alloc_zero(walk->allocator, sizeof(*level));
    if (level == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_dir_query query = {.root = walk->root,
                                  .directory = walk->path,
                                  .hidden = walk->hidden,
                                  .hide = walk->hide,
                                  .most = walk->left};
    result = uvh_dir_entries_read(&level->entries, walk->allocator, &query);
    if (result == 0 && level->entries.cut)
        result = UVHTTP_ETOOLARGE;
    if (result != 0) {
        free_level(walk, level);
        return result;
    }
    level->path_length = strlen(walk->path);
    level->device = facts.device;
    level->inode = facts.inode;
    level->outer = walk->level;
    walk->level = level;
    return 0;
}

int uvh_dir_walk_begin(struct uvh_dir_walk *walk, const uvhttp_allocator_t *allocator,
                       const struct uvh_file_root *root, const char *directory, bool hidden,
                       const char *const *hide, size_t most)
{
    *walk = (struct uvh_dir_walk){
        .allocator = allocator, .root = root, .hidden = hidden, .hide = hide, .left = most};
    walk->prefix = strlen(directory);
    if (walk->prefix >= sizeof(walk->path))
        return -ENAMETOOLONG;
    memcpy(walk->path, directory, walk->prefix + 1);
    return enter(walk);
}

/* False when the path is too long for the system: it could not be served either. */
static bool set_path(struct uvh_dir_walk *walk, const struct uvh_dir_entry *entry)
{
    size_t directory = walk->level->path_length;
    size_t name = strlen(entry->name);
    if (directory + name + 2 > sizeof(walk->path))
        return false;
    memcpy(walk->path + directory, entry->name, name);
    memcpy(walk->path + directory + name, "/", 2);
    if (!entry->directory)
        walk->path[directory + name] = '\0';
    return true;
}

int uvh_dir_walk_next(struct uvh_dir_walk *walk, struct uvh_dir_walk_member *member)
{
    if (walk->enter) {
        walk->enter = false;
        int result = enter(walk);
        if (result == UVHTTP_ETOOLARGE || is_shortage(result))
            return result;
    }
    while (walk->level != NULL) {
        struct uvh_dir_walk_level *level = walk->level;
        if (level->next == level->entries.count) {
            walk->level = level->outer;
            free_level(walk, level);
            continue;
        }
        const struct uvh_dir_entry *entry = &level->entries.items[level->next++];
        if (!set_path(walk, entry))
            continue;
        if (walk->left == 0)
            return UVHTTP_ETOOLARGE;
        walk->left--;
        walk->enter = entry->directory;
        *member = (struct uvh_dir_walk_member){.path = walk->path,
                                               .name = walk->path + walk->prefix,
                                               .size = entry->size,
                                               .modified = entry->modified,
                                               .directory = entry->directory};
        return 1;
    }
    return 0;
}

void uvh_dir_walk_release(struct uvh_dir_walk *walk)
{
    while (walk->level != NULL) {
        struct uvh_dir_walk_level *level = walk->level;
        walk->level = level->outer;
        free_level(walk, level);
    }
}
