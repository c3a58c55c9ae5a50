/* files/file_cache.c and files/file_entry.c: budgets, order of throwing out, references, what an
 * entry holds, and what happens when memory runs out. After each operation the cache is checked as
 * a whole. */
#include "files/file_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "support/fault_heap.h"

enum { MEMORY_FILE_SIZE = 100 };

/* Stands between the look at a file and the reading of it, as another process may. */
static struct {
    int times; /* so many allocations from now on each change the file */
    int directory;
    const char *name;
    size_t size;
} intruder;

static void intrude(void)
{
    char bytes[64];
    if (intruder.times == 0)
        return;
    intruder.times--;
    intruder.size++;
    memset(bytes, 'a' + (int)(intruder.size % 26), sizeof(bytes));
    int descriptor = openat(intruder.directory, intruder.name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, intruder.size), (ssize_t)intruder.size);
    close(descriptor);
}

struct place {
    char path[64];
    int directory;
    struct uvh_file_root root;
    struct fault_heap heap;
    struct uvh_file_cache cache;
};

static int count_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    snprintf(place->path, sizeof(place->path), "/tmp/uvhttp-cache-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->directory = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->directory >= 0);
    assert_int_equal(uvh_file_root_open(&place->root, place->path), 0);
    fault_heap_init(&place->heap);
    place->heap.before = intrude;
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    if (place->cache.table.slots != NULL)
        uvh_file_cache_release(&place->cache);
    assert_int_equal(place->heap.live, 0);
    uvh_file_root_close(&place->root);
    close(place->directory);
    snprintf(command, sizeof(command), "rm -rf '%s'", place->path);
    assert_int_equal(system(command), 0);
    free(place);
    return 0;
}

static void init_cache(struct place *place, size_t entries, size_t memory, size_t descriptors)
{
    struct uvh_file_cache_limits limits = {entries, memory, descriptors};
    uvh_file_cache_init(&place->cache, &place->heap.allocator, &limits, 42);
}

static void make_file(struct place *place, const char *name, size_t size, char byte)
{
    char bytes[1000];
    assert_true(size <= sizeof(bytes));
    memset(bytes, byte, sizeof(bytes));
    int descriptor = openat(place->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, size), (ssize_t)size);
    close(descriptor);
}

static int load(struct place *place, const char *path, struct uvh_file_entry **entry)
{
    struct uvh_file_load_options order = {
        .allocator = &place->heap.allocator,
        .root = &place->root,
        .path = path,
        .key = {path, strlen(path)},
        .memory_file_size = MEMORY_FILE_SIZE,
    };
    return uvh_file_entry_load(&order, entry);
}

/* One of the two lists; `count` gets those that the other does not have, when this is that of
 * memory. */
static void check_list(const struct uvh_list *list, bool on_disk, size_t *count, size_t *amount)
{
    uint64_t used = UINT64_MAX;
    for (const struct uvh_list *at = list->next; at != list; at = at->next) {
        const struct uvh_file_entry *entry =
            on_disk ? UVH_CONTAINER_OF(at, const struct uvh_file_entry, by_descriptor)
                    : UVH_CONTAINER_OF(at, const struct uvh_file_entry, by_memory);
        assert_true(at->next->previous == at);
        assert_int_equal(!uvh_list_empty(&entry->by_descriptor),
                         uvh_file_entry_descriptors(entry) > 0);
        assert_int_equal(!uvh_list_empty(&entry->by_memory),
                         uvh_file_entry_memory(entry) > 0 ||
                             uvh_file_entry_descriptors(entry) == 0);
        assert_true(entry->references >= 1);
        assert_true(entry->used < used);
        used = entry->used;
        if (on_disk || uvh_list_empty(&entry->by_descriptor))
            ++*count;
        *amount += on_disk ? uvh_file_entry_descriptors(entry) : uvh_file_entry_memory(entry);
    }
}

static void assert_sane(const struct uvh_file_cache *cache)
{
    size_t count = 0;
    size_t in_table = 0;
    size_t memory = 0;
    size_t descriptors = 0;
    check_list(&cache->in_memory, false, &count, &memory);
    check_list(&cache->on_disk, true, &count, &descriptors);
    assert_int_equal(count, cache->table.count);
    assert_int_equal(memory, cache->memory);
    assert_int_equal(descriptors, cache->descriptors);
    assert_true(count <= cache->limits.entries);
    assert_true(memory <= cache->limits.memory);
    assert_true(descriptors <= cache->limits.descriptors);
    const struct uvh_hash_link *link = NULL;
    while ((link = uvh_hash_table_walk(&cache->table, link)) != NULL)
        in_table++;
    assert_int_equal(in_table, count);
    assert_int_equal(atomic_load(&cache->counts.entries), count);
    assert_int_equal(atomic_load(&cache->counts.memory), memory);
    assert_int_equal(atomic_load(&cache->counts.descriptors), descriptors);
}

/* Loads and inserts; the cache holds the only reference afterwards. */
static void add(struct place *place, const char *path)
{
    struct uvh_file_entry *entry;
    assert_int_equal(load(place, path, &entry), 0);
    assert_true(uvh_file_cache_insert(&place->cache, entry));
    uvh_file_entry_unref(entry);
    assert_sane(&place->cache);
}

static struct uvh_file_entry *find(struct place *place, const char *path)
{
    struct uvh_file_entry *entry = uvh_file_cache_find(&place->cache, path, strlen(path));
    assert_sane(&place->cache);
    return entry;
}

static void test_small_files_are_in_memory(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *entry;
    int before = count_descriptors();
    make_file(place, "page.html", MEMORY_FILE_SIZE, 'x');
    assert_int_equal(load(place, "page.html", &entry), 0);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(entry->descriptor, -1);
    assert_int_equal(entry->size, MEMORY_FILE_SIZE);
    for (size_t i = 0; i < MEMORY_FILE_SIZE; i++)
        assert_int_equal(entry->body[i], 'x');
    assert_string_equal(entry->type, "text/html; charset=utf-8");
    assert_string_equal(entry->key, "page.html");
    assert_int_equal(entry->etag_length, strlen(entry->etag));
    assert_int_equal(entry->references, 1);
    uvh_file_entry_unref(entry);
}

static void test_large_files_are_descriptors(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *entry;
    int before = count_descriptors();
    make_file(place, "large", MEMORY_FILE_SIZE + 1, 'x');
    assert_int_equal(load(place, "large", &entry), 0);
    assert_int_equal(count_descriptors(), before + 1);
    assert_true(entry->descriptor >= 0);
    assert_null(entry->body);
    assert_int_equal(entry->size, MEMORY_FILE_SIZE + 1);
    uvh_file_entry_unref(entry);
    assert_int_equal(count_descriptors(), before);
}

static void test_empty_file(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *entry;
    make_file(place, "empty", 0, 'x');
    assert_int_equal(load(place, "empty", &entry), 0);
    assert_int_equal(entry->descriptor, -1);
    assert_int_equal(entry->size, 0);
    assert_non_null(entry->body);
    uvh_file_entry_unref(entry);
}

/* The tag is that of inode, size and the times of content and inode in nanoseconds. */
static void etag_depends_on_every_fact(void **state)
{
    enum { COUNT = 8 };
    struct uvh_file_facts facts[COUNT] = {0};
    char tags[COUNT][UVH_FILE_ENTRY_ETAG_SIZE];
    (void)state;
    facts[1].inode = 1;
    facts[2].size = 1;
    facts[3].modified_seconds = 1;
    facts[4].modified_nanoseconds = 1;
    facts[5].changed_seconds = 1;
    facts[6].changed_nanoseconds = 1;
    facts[7].inode = facts[7].size = UINT64_MAX;
    facts[7].modified_seconds = facts[7].changed_seconds = -1;
    for (size_t i = 0; i < COUNT; i++) {
        size_t length = uvh_file_entry_format_etag(&facts[i], tags[i]);
        assert_int_equal(length, strlen(tags[i]));
        assert_int_equal(tags[i][strlen(tags[i]) - 1], '"');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(tags[i], tags[k]);
    }
}

static void test_tags_differ_when_the_file_does(void **state)
{
    struct place *place = *state;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 255, .tv_nsec = 1}};
    static const char *const names[] = {"one", "two", "two", "two"};
    struct uvh_file_entry *entries[4];
    make_file(place, "one", 10, 'x');
    make_file(place, "two", 10, 'x');
    for (size_t i = 0; i < 4; i++) {
        if (i == 2)
            make_file(place, "two", 11, 'x');
        times[1].tv_nsec = i == 3 ? 2 : 1;
        assert_int_equal(utimensat(place->directory, names[i], times, 0), 0);
        assert_int_equal(load(place, names[i], &entries[i]), 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(entries[i]->etag, entries[k]->etag);
    }
    char tag[UVH_FILE_ENTRY_ETAG_SIZE];
    const struct uvh_file_facts *facts = &entries[0]->facts;
    snprintf(tag, sizeof(tag), "\"%llx-a-%llx-%llx\"", (unsigned long long)facts->inode,
             255000000001ULL,
             (unsigned long long)facts->changed_seconds * 1000000000U + facts->changed_nanoseconds);
    assert_string_equal(entries[0]->etag, tag);
    for (size_t i = 0; i < 4; i++)
        uvh_file_entry_unref(entries[i]);
}

/* RFC 9110 8.8.2.1. */
static void test_modification_date_is_never_in_the_future(void **state)
{
    struct place *place = *state;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 32503680000}};
    struct uvh_file_entry *entry;
    make_file(place, "future", 10, 'x');
    assert_int_equal(utimensat(place->directory, "future", times, 0), 0);
    assert_int_equal(load(place, "future", &entry), 0);
    assert_true(entry->modified < 32503680000);
    uvh_file_entry_unref(entry);
    times[1].tv_sec = 1000;
    assert_int_equal(utimensat(place->directory, "future", times, 0), 0);
    assert_int_equal(load(place, "future", &entry), 0);
    assert_int_equal(entry->modified, 1000);
    uvh_file_entry_unref(entry);
}

/* A file that has just been written may be written again within one tick of the file system's
 * clock, unseen in its facts. */
static void test_fresh_files_are_read_again(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *entry;
    make_file(place, "fresh", 10, 'x');
    assert_int_equal(load(place, "fresh", &entry), 0);
    assert_false(entry->settled);
    assert_false(uvh_file_entry_current(&entry->facts, entry->settled, &entry->facts));
    assert_true(uvh_file_entry_current(&entry->facts, true, &entry->facts));
    struct uvh_file_facts other = entry->facts;
    other.changed_nanoseconds ^= 1;
    assert_false(uvh_file_entry_current(&entry->facts, true, &other));
    other = entry->facts;
    other.changed_seconds ^= 1;
    assert_false(uvh_file_entry_current(&entry->facts, true, &other));
    uvh_file_entry_unref(entry);
}

static void test_old_files_are_settled(void **state)
{
    struct uvh_file_root root;
    struct uvh_file_entry *entry;
    struct place *place = *state;
    assert_int_equal(uvh_file_root_open(&root, "/usr/bin"), 0);
    struct uvh_file_load_options order = {.allocator = &place->heap.allocator,
                                          .root = &root,
                                          .path = "env",
                                          .key = {"env", 3},
                                          .memory_file_size = 1 << 20};
    assert_int_equal(uvh_file_entry_load(&order, &entry), 0);
    assert_true(entry->settled);
    uvh_file_entry_unref(entry);
    uvh_file_root_close(&root);
}

/* Bytes, size and entity tag belong together even if somebody writes meanwhile. */
static void test_a_file_that_changes_while_it_is_read_is_read_again(void **state)
{
    struct place *place = *state;
    for (int times = 1; times <= 3; times++) {
        struct uvh_file_entry *entry;
        struct uvh_file_facts facts;
        make_file(place, "file", 20, 'o');
        intruder.directory = place->directory;
        intruder.name = "file";
        intruder.size = 10;
        intruder.times = times;
        assert_int_equal(load(place, "file", &entry), 0);
        assert_int_equal(intruder.times, 0);
        assert_int_equal(entry->descriptor, -1);
        assert_int_equal(entry->size, 10 + times);
        for (size_t i = 0; i < entry->size; i++)
            assert_int_equal(entry->body[i], 'a' + (10 + times) % 26);
        assert_int_equal(uvh_file_facts_read(&place->root, "file", &facts), 0);
        assert_true(uvh_file_facts_equal(&entry->facts, &facts));
        uvh_file_entry_unref(entry);
    }
}

/* One that never holds still is sent from the disk. */
static void test_a_file_that_keeps_changing_stays_on_disk(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *entry;
    make_file(place, "file", 20, 'o');
    intruder.directory = place->directory;
    intruder.name = "file";
    intruder.size = 10;
    intruder.times = 4;
    assert_int_equal(load(place, "file", &entry), 0);
    assert_int_equal(intruder.times, 0);
    assert_true(entry->descriptor >= 0);
    assert_int_equal(entry->size, 14);
    uvh_file_entry_unref(entry);
}

static void test_what_is_no_file_is_not_loaded(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *entry;
    int before = count_descriptors();
    assert_int_equal(mkdirat(place->directory, "folder", 0755), 0);
    assert_int_equal(mkfifoat(place->directory, "fifo", 0644), 0);
    assert_int_equal(load(place, "folder", &entry), UVHTTP_ENOTREG);
    assert_int_equal(load(place, "fifo", &entry), UVHTTP_ENOTREG);
    assert_int_equal(load(place, "missing", &entry), -ENOENT);
    assert_null(entry);
    assert_int_equal(count_descriptors(), before);
}

static void test_found_by_its_key_only(void **state)
{
    struct place *place = *state;
    init_cache(place, 10, 1000, 10);
    make_file(place, "a", 10, 'a');
    make_file(place, "ab", 10, 'b');
    assert_null(find(place, "a"));
    add(place, "a");
    assert_null(find(place, "ab"));
    assert_null(find(place, ""));
    add(place, "ab");
    assert_int_equal(find(place, "a")->body[0], 'a');
    assert_int_equal(find(place, "ab")->body[0], 'b');
    assert_int_equal(uvh_file_cache_find(&place->cache, "abc", 1)->body[0], 'a');
}

/* Gives an entry a variant of `size` bytes, as compression on the fly does. */
static void attach(struct place *place, const char *path, size_t size)
{
    char body[1000] = {0};
    struct uvh_file_entry *entry = find(place, path);
    struct uvh_file_entry *variant =
        uvh_file_entry_encoded(entry, UVH_CODING_GZIP, (uvhttp_slice_t){body, size});
    assert_non_null(variant);
    assert_int_equal(variant->etag[0], 'W');
    uvh_file_cache_attach(entry, UVH_CODING_GZIP, variant);
    uvh_file_entry_unref(variant);
    assert_sane(&place->cache);
}

static void test_variants_count_as_memory(void **state)
{
    struct place *place = *state;
    init_cache(place, 10, 100, 10);
    make_file(place, "small", 30, 'x');
    make_file(place, "other", 30, 'x');
    make_file(place, "large", MEMORY_FILE_SIZE + 1, 'x');
    add(place, "large");
    add(place, "small");
    attach(place, "large", 40);
    attach(place, "small", 20);
    assert_int_equal(place->cache.memory, 90);
    /* Room is made by what was not used for longest, also by what lies on the disk itself. */
    add(place, "other");
    assert_null(find(place, "large"));
    assert_non_null(find(place, "small"));
    assert_int_equal(place->cache.memory, 80);
    assert_int_equal(place->cache.descriptors, 0);
    /* What can never fit is not attached, and nothing is thrown out for it. */
    attach(place, "other", 71);
    assert_null(find(place, "other")->variants[UVH_CODING_GZIP]);
    assert_int_equal(place->cache.table.count, 2);
    attach(place, "other", 70);
    assert_non_null(find(place, "other")->variants[UVH_CODING_GZIP]);
    assert_int_equal(place->cache.table.count, 1);
    /* Nor is anything attached twice, or to what has left the cache. */
    attach(place, "other", 1);
    assert_int_equal(place->cache.memory, 100);
    struct uvh_file_entry *entry = find(place, "other");
    uvh_file_entry_ref(entry);
    uvh_file_cache_remove(&place->cache, entry);
    struct uvh_file_entry *variant =
        uvh_file_entry_encoded(entry, UVH_CODING_ZSTD, (uvhttp_slice_t){"", 0});
    uvh_file_cache_attach(entry, UVH_CODING_ZSTD, variant);
    assert_null(entry->variants[UVH_CODING_ZSTD]);
    uvh_file_entry_unref(variant);
    uvh_file_entry_unref(entry);
}

static void test_least_recently_used_goes_first(void **state)
{
    struct place *place = *state;
    init_cache(place, 3, 1000, 10);
    make_file(place, "a", 10, 'a');
    make_file(place, "b", MEMORY_FILE_SIZE + 1, 'b');
    make_file(place, "c", 10, 'c');
    make_file(place, "d", 10, 'd');
    add(place, "a");
    add(place, "b");
    add(place, "c");
    assert_non_null(find(place, "a"));
    add(place, "d"); /* b, a descriptor, is the oldest of all */
    assert_null(find(place, "b"));
    assert_non_null(find(place, "a"));
    assert_non_null(find(place, "c"));
    assert_non_null(find(place, "d"));
    add(place, "b"); /* now a, in memory, is */
    assert_null(find(place, "a"));
}

static void test_memory_budget(void **state)
{
    struct place *place = *state;
    init_cache(place, 100, 250, 10);
    make_file(place, "a", 100, 'a');
    make_file(place, "b", 100, 'b');
    make_file(place, "c", 60, 'c');
    make_file(place, "large", 1000, 'l');
    add(place, "a");
    add(place, "b");
    add(place, "large"); /* takes none of it */
    add(place, "c");
    assert_null(find(place, "a"));
    assert_non_null(find(place, "b"));
    assert_non_null(find(place, "c"));
    assert_non_null(find(place, "large"));
    assert_int_equal(place->cache.memory, 160);
}

static void test_descriptor_budget(void **state)
{
    struct place *place = *state;
    int before = count_descriptors();
    init_cache(place, 100, 1000, 2);
    make_file(place, "small", 1, 's');
    add(place, "small");
    for (char name[2] = "a"; name[0] <= 'e'; name[0]++) {
        make_file(place, name, MEMORY_FILE_SIZE + 1, name[0]);
        add(place, name);
    }
    assert_int_equal(count_descriptors(), before + 2);
    assert_null(find(place, "c"));
    assert_non_null(find(place, "d"));
    assert_non_null(find(place, "e"));
    assert_non_null(find(place, "small"));
    uvh_file_cache_shed(&place->cache);
    assert_sane(&place->cache);
    assert_null(find(place, "d"));
    assert_non_null(find(place, "e"));
    assert_int_equal(count_descriptors(), before + 1);
}

static void test_what_never_fits_is_not_taken(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *entry;
    init_cache(place, 10, 50, 0);
    make_file(place, "a", 40, 'a');
    make_file(place, "b", 60, 'b');
    make_file(place, "c", 1000, 'c');
    add(place, "a");
    for (const char *name = "bc"; *name != '\0'; name++) {
        const char path[2] = {*name, '\0'};
        assert_int_equal(load(place, path, &entry), 0);
        assert_false(uvh_file_cache_insert(&place->cache, entry));
        assert_sane(&place->cache);
        assert_int_equal(entry->references, 1);
        uvh_file_entry_unref(entry);
    }
    assert_non_null(find(place, "a"));
}

static void test_later_state_replaces_earlier(void **state)
{
    struct place *place = *state;
    struct uvh_file_entry *old;
    struct uvh_file_entry *new;
    init_cache(place, 10, 1000, 10);
    make_file(place, "a", 10, 'o');
    assert_int_equal(load(place, "a", &old), 0);
    make_file(place, "a", 20, 'n');
    assert_int_equal(load(place, "a", &new), 0);
    old->checked_at = 5;
    new->checked_at = 6;
    assert_true(uvh_file_cache_insert(&place->cache, old));
    assert_true(uvh_file_cache_insert(&place->cache, new));
    assert_sane(&place->cache);
    assert_ptr_equal(find(place, "a"), new);
    assert_int_equal(place->cache.table.count, 1);
    assert_int_equal(old->references, 1);
    assert_false(uvh_file_cache_insert(&place->cache, old));
    assert_ptr_equal(find(place, "a"), new);
    uvh_file_entry_unref(old);
    uvh_file_entry_unref(new);
}

/* What is being sent stays whole although the cache has thrown it out, and the cache went away. */
/* Each worker's cache begins with what was prewarmed; both go on alone. Without memory it has
 * less. */
static void test_a_cache_can_be_copied(void **state)
{
    struct place *place = *state;
    struct uvh_file_cache_limits limits = {10, 1000, 10};
    struct uvh_file_cache copy;
    int before = count_descriptors();
    size_t failing = 0, missing = 0;
    bool failed;
    init_cache(place, 10, 1000, 10);
    make_file(place, "small", 10, 's');
    make_file(place, "empty", 0, 'e');
    make_file(place, "large", 1000, 'l');
    add(place, "small");
    add(place, "empty");
    add(place, "large");
    do {
        uvh_file_cache_init(&copy, &place->heap.allocator, &limits, 43);
        fault_heap_arm(&place->heap, ++failing, false);
        uvh_file_cache_copy(&copy, &place->cache);
        failed = place->heap.calls >= failing;
        place->heap.fail_at = 0;
        assert_sane(&copy);
        assert_sane(&place->cache);
        bool complete = copy.table.count == 3; /* also without memory for the table */
        assert_true(complete || (failed && copy.table.count == 2));
        missing += !complete;
        if (failed)
            uvh_file_cache_release(&copy);
    } while (failed);
    assert_true(missing > 3);
    struct uvh_file_entry *large = uvh_file_cache_find(&copy, "large", 5);
    struct uvh_file_entry *small = uvh_file_cache_find(&copy, "small", 5);
    assert_true(small != find(place, "small") && large != find(place, "large"));
    assert_string_equal(small->etag, find(place, "small")->etag);
    uvh_file_cache_release(&place->cache);
    char bytes[10];
    assert_memory_equal(small->body, "ssssssssss", 10);
    assert_int_equal(uvh_file_read(large->descriptor, bytes, 10, 990), 10);
    assert_memory_equal(bytes, "llllllllll", 10);
    assert_true(small->fresh_until == 0 && small->fields != NULL && large->validators != NULL);
    uvh_file_cache_release(&copy);
    assert_int_equal(count_descriptors(), before);
}

static void test_references_keep_entries(void **state)
{
    struct place *place = *state;
    int before = count_descriptors();
    init_cache(place, 10, 1000, 10);
    make_file(place, "small", 10, 's');
    make_file(place, "large", 1000, 'l');
    add(place, "small");
    add(place, "large");
    struct uvh_file_entry *small = find(place, "small");
    struct uvh_file_entry *large = find(place, "large");
    uvh_file_entry_ref(small);
    uvh_file_entry_ref(large);
    uvh_file_cache_remove(&place->cache, small);
    assert_sane(&place->cache);
    uvh_file_cache_remove(&place->cache, small); /* harmless */
    assert_sane(&place->cache);
    uvh_file_cache_release(&place->cache);
    char bytes[10];
    assert_memory_equal(small->body, "ssssssssss", 10);
    assert_int_equal(uvh_file_read(large->descriptor, bytes, 10, 990), 10);
    assert_memory_equal(bytes, "llllllllll", 10);
    uvh_file_entry_unref(small);
    uvh_file_entry_unref(large);
    assert_int_equal(count_descriptors(), before);
}

static void test_many_entries(void **state)
{
    struct place *place = *state;
    char name[16];
    init_cache(place, 1000, 100000, 10);
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        make_file(place, name, 3, (char)('a' + i % 26));
        struct uvh_file_entry *entry;
        assert_int_equal(load(place, name, &entry), 0);
        assert_true(uvh_file_cache_insert(&place->cache, entry));
        uvh_file_entry_unref(entry);
    }
    assert_sane(&place->cache);
    assert_int_equal(place->cache.table.count, 1000);
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        struct uvh_file_entry *entry = uvh_file_cache_find(&place->cache, name, strlen(name));
        assert_int_equal(entry != NULL, i >= 200);
        if (entry != NULL)
            assert_int_equal(entry->body[0], 'a' + i % 26);
    }
}

/* Operations in any order, entries that others hold on to included. Whatever was put in last under
 * a name is what is found, if anything. */
static void test_random_walk(void **state)
{
    enum { NAMES = 40, STEPS = 20000, HELD = 8 };
    struct place *place = *state;
    struct uvh_file_entry *held[HELD] = {NULL};
    char sizes[NAMES] = {0}; /* the byte its last version consists of, 0 before */
    unsigned random = 7;
    size_t gone = 0;
    init_cache(place, 24, 900, 5);
    for (int i = 0; i < STEPS; i++) {
        char name[8];
        random = random * 1103515245u + 12345u;
        unsigned which = random / 65536 % NAMES;
        snprintf(name, sizeof(name), "n%u", which);
        random = random * 1103515245u + 12345u;
        switch (random / 65536 % 8) {
        case 0:
        case 1: {
            struct uvh_file_entry *entry;
            random = random * 1103515245u + 12345u;
            sizes[which] = (char)('a' + random / 65536 % 26);
            make_file(place, name, random / 65536 % 150, sizes[which]);
            assert_int_equal(load(place, name, &entry), 0);
            entry->checked_at = (uint64_t)i;
            assert_true(uvh_file_cache_insert(&place->cache, entry));
            uvh_file_entry_unref(held[i % HELD]);
            held[i % HELD] = entry;
            break;
        }
        case 2: {
            struct uvh_file_entry *entry = find(place, name);
            if (entry != NULL)
                uvh_file_cache_remove(&place->cache, entry);
            assert_null(find(place, name));
            break;
        }
        case 3:
            if (i % 50 == 0)
                uvh_file_cache_shed(&place->cache);
            break;
        case 4: /* one that was thrown out, perhaps */
            if (held[i % HELD] != NULL)
                uvh_file_cache_remove(&place->cache, held[i % HELD]);
            break;
        default: {
            const struct uvh_file_entry *entry = find(place, name);
            gone += entry == NULL && sizes[which] != 0;
            if (entry != NULL && entry->descriptor < 0 && entry->size > 0)
                assert_int_equal(entry->body[0], sizes[which]);
        }
        }
        assert_sane(&place->cache);
    }
    assert_true(gone > 100);
    assert_true(atomic_load(&place->cache.counts.evictions) > 100);
    for (size_t i = 0; i < HELD; i++)
        uvh_file_entry_unref(held[i]);
}

static void test_every_allocation_may_fail(void **state)
{
    struct place *place = *state;
    struct uvh_file_cache_limits limits = {10, 1000, 10};
    int before = count_descriptors();
    make_file(place, "small", 10, 's');
    make_file(place, "large", 1000, 'l');
    size_t fail_at = 0;
    bool done = false;
    while (!done) {
        fault_heap_arm(&place->heap, ++fail_at, false);
        struct uvh_file_entry *entries[2] = {NULL, NULL};
        uvh_file_cache_init(&place->cache, &place->heap.allocator, &limits, 1);
        int err = load(place, "small", &entries[0]);
        if (err == 0)
            err = load(place, "large", &entries[1]);
        for (size_t i = 0; i < 2 && entries[i] != NULL; i++) {
            assert_true(uvh_file_cache_insert(&place->cache, entries[i]));
            uvh_file_entry_unref(entries[i]);
        }
        assert_sane(&place->cache);
        uvh_file_cache_release(&place->cache);
        done = place->heap.calls < fail_at;
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        assert_int_equal(place->heap.live, 0);
        assert_int_equal(count_descriptors(), before);
    }
    assert_true(fail_at > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_files_are_in_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_files_are_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_file, set_up, tear_down),
        cmocka_unit_test(etag_depends_on_every_fact),
        cmocka_unit_test_setup_teardown(test_tags_differ_when_the_file_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modification_date_is_never_in_the_future, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_fresh_files_are_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_files_are_settled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_changes_while_it_is_read_is_read_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_keeps_changing_stays_on_disk, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_file_is_not_loaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_found_by_its_key_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_variants_count_as_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_least_recently_used_goes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptor_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_never_fits_is_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_later_state_replaces_earlier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_cache_can_be_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_references_keep_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_walk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
