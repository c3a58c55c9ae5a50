/* files/file_cache.c and files/file_entry.c: limits, eviction order, references, the content of an
 * entry, and failed allocations. The whole cache is checked after each operation. */
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

/* Writes to the file between fstat and read, like another process. */
static struct {
    int times; /* the number of following allocations that each change the file */
    int directory;
    const char *name;
    size_t size;
} concurrent_write;

static void write_concurrently(void)
{
    char bytes[64];
    if (concurrent_write.times == 0)
        return;
    concurrent_write.times--;
    concurrent_write.size++;
    memset(bytes, 'a' + (int)(concurrent_write.size % 26), sizeof(bytes));
    int descriptor =
        openat(concurrent_write.directory, concurrent_write.name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, concurrent_write.size),
                     (ssize_t)concurrent_write.size);
    close(descriptor);
}

struct fixture {
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
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/uvhttp-cache-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    fixture->directory = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->directory >= 0);
    assert_int_equal(uvh_file_root_open(&fixture->root, fixture->path), 0);
    fault_heap_init(&fixture->heap);
    fixture->heap.before = write_concurrently;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    if (fixture->cache.table.slots != NULL)
        uvh_file_cache_release(&fixture->cache);
    assert_int_equal(fixture->heap.live, 0);
    uvh_file_root_close(&fixture->root);
    close(fixture->directory);
    snprintf(command, sizeof(command), "rm -rf '%s'", fixture->path);
    assert_int_equal(system(command), 0);
    free(fixture);
    return 0;
}

static void init_cache(struct fixture *fixture, size_t entries, size_t memory, size_t descriptors)
{
    struct uvh_file_cache_limits limits = {entries, memory, descriptors};
    uvh_file_cache_init(&fixture->cache, &fixture->heap.allocator, &limits, 42);
}

static void make_file(struct fixture *fixture, const char *name, size_t size, char byte)
{
    char bytes[1000];
    assert_true(size <= sizeof(bytes));
    memset(bytes, byte, sizeof(bytes));
    int descriptor =
        openat(fixture->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, size), (ssize_t)size);
    close(descriptor);
}

static int load(struct fixture *fixture, const char *path, struct uvh_file_entry **entry)
{
    struct uvh_file_load_options options = {
        .allocator = &fixture->heap.allocator,
        .root = &fixture->root,
        .path = path,
        .key = {path, strlen(path)},
        .memory_file_size = MEMORY_FILE_SIZE,
    };
    return uvh_file_entry_load(&options, entry);
}

/* One of the two lists. `count` gets the entries of this list that are not in the other one, or all
 * of it for the descriptors. */
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

/* Loads and inserts; only the cache refers to the entry afterwards. */
static void add(struct fixture *fixture, const char *path)
{
    struct uvh_file_entry *entry;
    assert_int_equal(load(fixture, path, &entry), 0);
    assert_true(uvh_file_cache_insert(&fixture->cache, entry));
    uvh_file_entry_unref(entry);
    assert_sane(&fixture->cache);
}

static struct uvh_file_entry *find(struct fixture *fixture, const char *path)
{
    struct uvh_file_entry *entry = uvh_file_cache_find(&fixture->cache, path, strlen(path));
    assert_sane(&fixture->cache);
    return entry;
}

static void test_small_file_is_loaded_into_memory(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *entry;
    int before = count_descriptors();
    make_file(fixture, "page.html", MEMORY_FILE_SIZE, 'x');
    assert_int_equal(load(fixture, "page.html", &entry), 0);
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

static void test_large_file_is_kept_as_descriptor(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *entry;
    int before = count_descriptors();
    make_file(fixture, "large", MEMORY_FILE_SIZE + 1, 'x');
    assert_int_equal(load(fixture, "large", &entry), 0);
    assert_int_equal(count_descriptors(), before + 1);
    assert_true(entry->descriptor >= 0);
    assert_null(entry->body);
    assert_int_equal(entry->size, MEMORY_FILE_SIZE + 1);
    uvh_file_entry_unref(entry);
    assert_int_equal(count_descriptors(), before);
}

static void test_empty_file_is_in_memory(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *entry;
    make_file(fixture, "empty", 0, 'x');
    assert_int_equal(load(fixture, "empty", &entry), 0);
    assert_int_equal(entry->descriptor, -1);
    assert_int_equal(entry->size, 0);
    assert_non_null(entry->body);
    uvh_file_entry_unref(entry);
}

/* The tag consists of inode, size, and the modification and change times in nanoseconds. */
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

static void test_etag_changes_with_file(void **state)
{
    struct fixture *fixture = *state;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 255, .tv_nsec = 1}};
    static const char *const names[] = {"one", "two", "two", "two"};
    struct uvh_file_entry *entries[4];
    make_file(fixture, "one", 10, 'x');
    make_file(fixture, "two", 10, 'x');
    for (size_t i = 0; i < 4; i++) {
        if (i == 2)
            make_file(fixture, "two", 11, 'x');
        times[1].tv_nsec = i == 3 ? 2 : 1;
        assert_int_equal(utimensat(fixture->directory, names[i], times, 0), 0);
        assert_int_equal(load(fixture, names[i], &entries[i]), 0);
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
static void test_modification_date_is_not_in_future(void **state)
{
    struct fixture *fixture = *state;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 32503680000}};
    struct uvh_file_entry *entry;
    make_file(fixture, "future", 10, 'x');
    assert_int_equal(utimensat(fixture->directory, "future", times, 0), 0);
    assert_int_equal(load(fixture, "future", &entry), 0);
    assert_true(entry->modified < 32503680000);
    uvh_file_entry_unref(entry);
    times[1].tv_sec = 1000;
    assert_int_equal(utimensat(fixture->directory, "future", times, 0), 0);
    assert_int_equal(load(fixture, "future", &entry), 0);
    assert_int_equal(entry->modified, 1000);
    uvh_file_entry_unref(entry);
}

/* A recently written file can be written again within one tick of the file system's clock, which
 * its facts do not show. */
static void test_recently_written_file_is_not_settled(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *entry;
    make_file(fixture, "fresh", 10, 'x');
    assert_int_equal(load(fixture, "fresh", &entry), 0);
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

static void test_old_file_is_settled(void **state)
{
    struct uvh_file_root root;
    struct uvh_file_entry *entry;
    struct fixture *fixture = *state;
    assert_int_equal(uvh_file_root_open(&root, "/usr/bin"), 0);
    struct uvh_file_load_options options = {.allocator = &fixture->heap.allocator,
                                            .root = &root,
                                            .path = "env",
                                            .key = {"env", 3},
                                            .memory_file_size = 1 << 20};
    assert_int_equal(uvh_file_entry_load(&options, &entry), 0);
    assert_true(entry->settled);
    uvh_file_entry_unref(entry);
    uvh_file_root_close(&root);
}

/* Bytes, size and entity tag are consistent, even if another process writes at the same time. */
static void test_file_changed_while_read_is_reread(void **state)
{
    struct fixture *fixture = *state;
    for (int times = 1; times <= 3; times++) {
        struct uvh_file_entry *entry;
        struct uvh_file_facts facts;
        make_file(fixture, "file", 20, 'o');
        concurrent_write.directory = fixture->directory;
        concurrent_write.name = "file";
        concurrent_write.size = 10;
        concurrent_write.times = times;
        assert_int_equal(load(fixture, "file", &entry), 0);
        assert_int_equal(concurrent_write.times, 0);
        assert_int_equal(entry->descriptor, -1);
        assert_int_equal(entry->size, 10 + times);
        for (size_t i = 0; i < entry->size; i++)
            assert_int_equal(entry->body[i], 'a' + (10 + times) % 26);
        assert_int_equal(uvh_file_facts_read(&fixture->root, "file", &facts), 0);
        assert_true(uvh_file_facts_equal(&entry->facts, &facts));
        uvh_file_entry_unref(entry);
    }
}

/* A constantly changing file is sent from the disk. */
static void test_constantly_changing_file_stays_on_disk(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *entry;
    make_file(fixture, "file", 20, 'o');
    concurrent_write.directory = fixture->directory;
    concurrent_write.name = "file";
    concurrent_write.size = 10;
    concurrent_write.times = 4;
    assert_int_equal(load(fixture, "file", &entry), 0);
    assert_int_equal(concurrent_write.times, 0);
    assert_true(entry->descriptor >= 0);
    assert_int_equal(entry->size, 14);
    uvh_file_entry_unref(entry);
}

static void test_non_regular_file_is_not_loaded(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *entry;
    int before = count_descriptors();
    assert_int_equal(mkdirat(fixture->directory, "folder", 0755), 0);
    assert_int_equal(mkfifoat(fixture->directory, "fifo", 0644), 0);
    assert_int_equal(load(fixture, "folder", &entry), UVHTTP_ENOTREG);
    assert_int_equal(load(fixture, "fifo", &entry), UVHTTP_ENOTREG);
    assert_int_equal(load(fixture, "missing", &entry), -ENOENT);
    assert_null(entry);
    assert_int_equal(count_descriptors(), before);
}

static void test_entry_is_found_by_key_only(void **state)
{
    struct fixture *fixture = *state;
    init_cache(fixture, 10, 1000, 10);
    make_file(fixture, "a", 10, 'a');
    make_file(fixture, "ab", 10, 'b');
    assert_null(find(fixture, "a"));
    add(fixture, "a");
    assert_null(find(fixture, "ab"));
    assert_null(find(fixture, ""));
    add(fixture, "ab");
    assert_int_equal(find(fixture, "a")->body[0], 'a');
    assert_int_equal(find(fixture, "ab")->body[0], 'b');
    assert_int_equal(uvh_file_cache_find(&fixture->cache, "abc", 1)->body[0], 'a');
}

/* Attaches a variant of `size` bytes to an entry, as dynamic compression does. */
static void attach(struct fixture *fixture, const char *path, size_t size)
{
    char body[1000] = {0};
    struct uvh_file_entry *entry = find(fixture, path);
    struct uvh_file_entry *variant =
        uvh_file_entry_encoded(entry, UVH_CODING_GZIP, (uvhttp_slice_t){body, size});
    assert_non_null(variant);
    assert_int_equal(variant->etag[0], 'W');
    uvh_file_cache_attach(entry, UVH_CODING_GZIP, variant);
    uvh_file_entry_unref(variant);
    assert_sane(&fixture->cache);
}

static void test_variants_count_towards_memory_limit(void **state)
{
    struct fixture *fixture = *state;
    init_cache(fixture, 10, 100, 10);
    make_file(fixture, "small", 30, 'x');
    make_file(fixture, "other", 30, 'x');
    make_file(fixture, "large", MEMORY_FILE_SIZE + 1, 'x');
    add(fixture, "large");
    add(fixture, "small");
    attach(fixture, "large", 40);
    attach(fixture, "small", 20);
    assert_int_equal(fixture->cache.memory, 90);
    /* The least recently used entry is evicted, also if only its variant is in memory. */
    add(fixture, "other");
    assert_null(find(fixture, "large"));
    assert_non_null(find(fixture, "small"));
    assert_int_equal(fixture->cache.memory, 80);
    assert_int_equal(fixture->cache.descriptors, 0);
    /* A variant beyond the limit is not attached and evicts nothing. */
    attach(fixture, "other", 71);
    assert_null(find(fixture, "other")->variants[UVH_CODING_GZIP]);
    assert_int_equal(fixture->cache.table.count, 2);
    attach(fixture, "other", 70);
    assert_non_null(find(fixture, "other")->variants[UVH_CODING_GZIP]);
    assert_int_equal(fixture->cache.table.count, 1);
    /* A variant is not attached twice, nor to an entry outside the cache. */
    attach(fixture, "other", 1);
    assert_int_equal(fixture->cache.memory, 100);
    struct uvh_file_entry *entry = find(fixture, "other");
    uvh_file_entry_ref(entry);
    uvh_file_cache_remove(&fixture->cache, entry);
    struct uvh_file_entry *variant =
        uvh_file_entry_encoded(entry, UVH_CODING_ZSTD, (uvhttp_slice_t){"", 0});
    uvh_file_cache_attach(entry, UVH_CODING_ZSTD, variant);
    assert_null(entry->variants[UVH_CODING_ZSTD]);
    uvh_file_entry_unref(variant);
    uvh_file_entry_unref(entry);
}

static void test_least_recently_used_entry_is_evicted(void **state)
{
    struct fixture *fixture = *state;
    init_cache(fixture, 3, 1000, 10);
    make_file(fixture, "a", 10, 'a');
    make_file(fixture, "b", MEMORY_FILE_SIZE + 1, 'b');
    make_file(fixture, "c", 10, 'c');
    make_file(fixture, "d", 10, 'd');
    add(fixture, "a");
    add(fixture, "b");
    add(fixture, "c");
    assert_non_null(find(fixture, "a"));
    add(fixture, "d"); /* b, a descriptor, is the least recently used */
    assert_null(find(fixture, "b"));
    assert_non_null(find(fixture, "a"));
    assert_non_null(find(fixture, "c"));
    assert_non_null(find(fixture, "d"));
    add(fixture, "b"); /* now a, in memory, is the least recently used */
    assert_null(find(fixture, "a"));
}

static void test_memory_limit_evicts_entries(void **state)
{
    struct fixture *fixture = *state;
    init_cache(fixture, 100, 250, 10);
    make_file(fixture, "a", 100, 'a');
    make_file(fixture, "b", 100, 'b');
    make_file(fixture, "c", 60, 'c');
    make_file(fixture, "large", 1000, 'l');
    add(fixture, "a");
    add(fixture, "b");
    add(fixture, "large"); /* uses no memory */
    add(fixture, "c");
    assert_null(find(fixture, "a"));
    assert_non_null(find(fixture, "b"));
    assert_non_null(find(fixture, "c"));
    assert_non_null(find(fixture, "large"));
    assert_int_equal(fixture->cache.memory, 160);
}

static void test_descriptor_limit_evicts_entries(void **state)
{
    struct fixture *fixture = *state;
    int before = count_descriptors();
    init_cache(fixture, 100, 1000, 2);
    make_file(fixture, "small", 1, 's');
    add(fixture, "small");
    for (char name[2] = "a"; name[0] <= 'e'; name[0]++) {
        make_file(fixture, name, MEMORY_FILE_SIZE + 1, name[0]);
        add(fixture, name);
    }
    assert_int_equal(count_descriptors(), before + 2);
    assert_null(find(fixture, "c"));
    assert_non_null(find(fixture, "d"));
    assert_non_null(find(fixture, "e"));
    assert_non_null(find(fixture, "small"));
    uvh_file_cache_shed(&fixture->cache);
    assert_sane(&fixture->cache);
    assert_null(find(fixture, "d"));
    assert_non_null(find(fixture, "e"));
    assert_int_equal(count_descriptors(), before + 1);
}

static void test_entry_beyond_limits_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *entry;
    init_cache(fixture, 10, 50, 0);
    make_file(fixture, "a", 40, 'a');
    make_file(fixture, "b", 60, 'b');
    make_file(fixture, "c", 1000, 'c');
    add(fixture, "a");
    for (const char *name = "bc"; *name != '\0'; name++) {
        const char path[2] = {*name, '\0'};
        assert_int_equal(load(fixture, path, &entry), 0);
        assert_false(uvh_file_cache_insert(&fixture->cache, entry));
        assert_sane(&fixture->cache);
        assert_int_equal(entry->references, 1);
        uvh_file_entry_unref(entry);
    }
    assert_non_null(find(fixture, "a"));
}

static void test_newer_entry_replaces_older(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_entry *old;
    struct uvh_file_entry *new;
    init_cache(fixture, 10, 1000, 10);
    make_file(fixture, "a", 10, 'o');
    assert_int_equal(load(fixture, "a", &old), 0);
    make_file(fixture, "a", 20, 'n');
    assert_int_equal(load(fixture, "a", &new), 0);
    old->checked_at = 5;
    new->checked_at = 6;
    assert_true(uvh_file_cache_insert(&fixture->cache, old));
    assert_true(uvh_file_cache_insert(&fixture->cache, new));
    assert_sane(&fixture->cache);
    assert_ptr_equal(find(fixture, "a"), new);
    assert_int_equal(fixture->cache.table.count, 1);
    assert_int_equal(old->references, 1);
    assert_false(uvh_file_cache_insert(&fixture->cache, old));
    assert_ptr_equal(find(fixture, "a"), new);
    uvh_file_entry_unref(old);
    uvh_file_entry_unref(new);
}

/* The cache of each worker begins with the prewarmed entries; both change independently. Without
 * memory the copy has fewer entries. */
static void test_cache_copy_is_independent(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_cache_limits limits = {10, 1000, 10};
    struct uvh_file_cache copy;
    int before = count_descriptors();
    size_t failing = 0, missing = 0;
    bool failed;
    init_cache(fixture, 10, 1000, 10);
    make_file(fixture, "small", 10, 's');
    make_file(fixture, "empty", 0, 'e');
    make_file(fixture, "large", 1000, 'l');
    add(fixture, "small");
    add(fixture, "empty");
    add(fixture, "large");
    do {
        uvh_file_cache_init(&copy, &fixture->heap.allocator, &limits, 43);
        fault_heap_arm(&fixture->heap, ++failing, false);
        uvh_file_cache_copy(&copy, &fixture->cache);
        failed = fixture->heap.calls >= failing;
        fixture->heap.fail_at = 0;
        assert_sane(&copy);
        assert_sane(&fixture->cache);
        bool complete = copy.table.count == 3; /* also without memory for the table */
        assert_true(complete || (failed && copy.table.count == 2));
        missing += !complete;
        if (failed)
            uvh_file_cache_release(&copy);
    } while (failed);
    assert_true(missing > 3);
    struct uvh_file_entry *large = uvh_file_cache_find(&copy, "large", 5);
    struct uvh_file_entry *small = uvh_file_cache_find(&copy, "small", 5);
    assert_true(small != find(fixture, "small") && large != find(fixture, "large"));
    assert_string_equal(small->etag, find(fixture, "small")->etag);
    uvh_file_cache_release(&fixture->cache);
    char bytes[10];
    assert_memory_equal(small->body, "ssssssssss", 10);
    assert_int_equal(uvh_file_read(large->descriptor, bytes, 10, 990), 10);
    assert_memory_equal(bytes, "llllllllll", 10);
    assert_true(small->fresh_until == 0 && small->fields != NULL && large->validators != NULL);
    uvh_file_cache_release(&copy);
    assert_int_equal(count_descriptors(), before);
}

static void test_referenced_entry_survives_cache(void **state)
{
    struct fixture *fixture = *state;
    int before = count_descriptors();
    init_cache(fixture, 10, 1000, 10);
    make_file(fixture, "small", 10, 's');
    make_file(fixture, "large", 1000, 'l');
    add(fixture, "small");
    add(fixture, "large");
    struct uvh_file_entry *small = find(fixture, "small");
    struct uvh_file_entry *large = find(fixture, "large");
    uvh_file_entry_ref(small);
    uvh_file_entry_ref(large);
    uvh_file_cache_remove(&fixture->cache, small);
    assert_sane(&fixture->cache);
    uvh_file_cache_remove(&fixture->cache, small); /* no effect */
    assert_sane(&fixture->cache);
    uvh_file_cache_release(&fixture->cache);
    char bytes[10];
    assert_memory_equal(small->body, "ssssssssss", 10);
    assert_int_equal(uvh_file_read(large->descriptor, bytes, 10, 990), 10);
    assert_memory_equal(bytes, "llllllllll", 10);
    uvh_file_entry_unref(small);
    uvh_file_entry_unref(large);
    assert_int_equal(count_descriptors(), before);
}

static void test_many_entries_are_found(void **state)
{
    struct fixture *fixture = *state;
    char name[16];
    init_cache(fixture, 1000, 100000, 10);
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        make_file(fixture, name, 3, (char)('a' + i % 26));
        struct uvh_file_entry *entry;
        assert_int_equal(load(fixture, name, &entry), 0);
        assert_true(uvh_file_cache_insert(&fixture->cache, entry));
        uvh_file_entry_unref(entry);
    }
    assert_sane(&fixture->cache);
    assert_int_equal(fixture->cache.table.count, 1000);
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        struct uvh_file_entry *entry = uvh_file_cache_find(&fixture->cache, name, strlen(name));
        assert_int_equal(entry != NULL, i >= 200);
        if (entry != NULL)
            assert_int_equal(entry->body[0], 'a' + i % 26);
    }
}

/* Operations in random order, also on referenced entries. A lookup finds the last inserted entry of
 * a name, or none. */
static void test_random_operations_keep_cache_consistent(void **state)
{
    enum { NAMES = 40, STEPS = 20000, HELD = 8 };
    struct fixture *fixture = *state;
    struct uvh_file_entry *held[HELD] = {NULL};
    char sizes[NAMES] = {0}; /* the byte its last version consists of, 0 at first */
    unsigned random = 7;
    size_t evicted = 0;
    init_cache(fixture, 24, 900, 5);
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
            make_file(fixture, name, random / 65536 % 150, sizes[which]);
            assert_int_equal(load(fixture, name, &entry), 0);
            entry->checked_at = (uint64_t)i;
            assert_true(uvh_file_cache_insert(&fixture->cache, entry));
            uvh_file_entry_unref(held[i % HELD]);
            held[i % HELD] = entry;
            break;
        }
        case 2: {
            struct uvh_file_entry *entry = find(fixture, name);
            if (entry != NULL)
                uvh_file_cache_remove(&fixture->cache, entry);
            assert_null(find(fixture, name));
            break;
        }
        case 3:
            if (i % 50 == 0)
                uvh_file_cache_shed(&fixture->cache);
            break;
        case 4: /* possibly one that was evicted */
            if (held[i % HELD] != NULL)
                uvh_file_cache_remove(&fixture->cache, held[i % HELD]);
            break;
        default: {
            const struct uvh_file_entry *entry = find(fixture, name);
            evicted += entry == NULL && sizes[which] != 0;
            if (entry != NULL && entry->descriptor < 0 && entry->size > 0)
                assert_int_equal(entry->body[0], sizes[which]);
        }
        }
        assert_sane(&fixture->cache);
    }
    assert_true(evicted > 100);
    assert_true(atomic_load(&fixture->cache.counts.evictions) > 100);
    for (size_t i = 0; i < HELD; i++)
        uvh_file_entry_unref(held[i]);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_cache_limits limits = {10, 1000, 10};
    int before = count_descriptors();
    make_file(fixture, "small", 10, 's');
    make_file(fixture, "large", 1000, 'l');
    size_t fail_at = 0;
    bool done = false;
    while (!done) {
        fault_heap_arm(&fixture->heap, ++fail_at, false);
        struct uvh_file_entry *entries[2] = {NULL, NULL};
        uvh_file_cache_init(&fixture->cache, &fixture->heap.allocator, &limits, 1);
        int err = load(fixture, "small", &entries[0]);
        if (err == 0)
            err = load(fixture, "large", &entries[1]);
        for (size_t i = 0; i < 2 && entries[i] != NULL; i++) {
            assert_true(uvh_file_cache_insert(&fixture->cache, entries[i]));
            uvh_file_entry_unref(entries[i]);
        }
        assert_sane(&fixture->cache);
        uvh_file_cache_release(&fixture->cache);
        done = fixture->heap.calls < fail_at;
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        assert_int_equal(fixture->heap.live, 0);
        assert_int_equal(count_descriptors(), before);
    }
    assert_true(fail_at > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_file_is_loaded_into_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_file_is_kept_as_descriptor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_file_is_in_memory, set_up, tear_down),
        cmocka_unit_test(etag_depends_on_every_fact),
        cmocka_unit_test_setup_teardown(test_etag_changes_with_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modification_date_is_not_in_future, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recently_written_file_is_not_settled, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_old_file_is_settled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file_changed_while_read_is_reread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_constantly_changing_file_stays_on_disk, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_non_regular_file_is_not_loaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_entry_is_found_by_key_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_variants_count_towards_memory_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_least_recently_used_entry_is_evicted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_memory_limit_evicts_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptor_limit_evicts_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_entry_beyond_limits_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_newer_entry_replaces_older, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache_copy_is_independent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_referenced_entry_survives_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_entries_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_operations_keep_cache_consistent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_every_failed_allocation_is_reported, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
