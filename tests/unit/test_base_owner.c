/* Objects without locks abort in debug builds when a second thread uses them without a hand-over.
 * Other builds check nothing, and the owner takes no space. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/owner.h"
#include "base/slab.h"
#include "files/absent_cache.h"
#include "files/file_cache.h"

#if defined(UVH_DEBUG_CHECKS)
#define CHECKED true
#else
#define CHECKED false
#endif

/* The action of one thread, an optional hand-over, and the action of another thread. */
struct use {
    const char *name;
    void (*first)(void);
    void (*hand_over)(void);
    void (*second)(void);
};

static struct uvh_slab slab;
static struct uvh_arena_pool blocks;
static struct uvh_arena arena;
static struct uvh_buffer_pool buffers;
static struct uvh_buffer *buffer;
static struct uvh_file_cache files;
static struct uvh_file_entry *entry;
static struct uvh_absent_cache absent;
static void *object;

static void require(bool holds)
{
    if (!holds)
        _exit(2);
}

/* ---- uses ---- */

static void slab_init(void)
{
    uvh_slab_init(&slab, uvh_alloc_default(), 32, 4);
}

static void slab_take(void)
{
    object = uvh_slab_take(&slab);
    require(object != NULL);
}

static void slab_use(void)
{
    slab_init();
    slab_take();
}

static void slab_hand_over(void)
{
    uvh_owner_hand_over(&slab.owner);
}

static void slab_give(void)
{
    uvh_slab_give(&slab, object);
}

static void arena_init(void)
{
    uvh_arena_pool_init(&blocks, uvh_alloc_default());
}

static void arena_begin(void)
{
    require(uvh_arena_begin(&arena, &blocks, 16) != NULL);
}

static void arena_use(void)
{
    arena_init();
    arena_begin();
}

static void arena_hand_over(void)
{
    uvh_owner_hand_over(&blocks.owner);
}

static void arena_alloc(void)
{
    require(uvh_arena_alloc(&arena, 8) != NULL);
}

static void arena_text(void)
{
    require(uvh_arena_text(&arena, 8) != NULL);
}

static void arena_release(void)
{
    uvh_arena_release(&arena);
}

static void buffer_init(void)
{
    uvh_buffer_pool_init(&buffers, uvh_alloc_default(), 256);
}

static void buffer_take(void)
{
    buffer = uvh_buffer_take(&buffers, 0);
    require(buffer != NULL);
}

static void buffer_use(void)
{
    buffer_init();
    buffer_take();
}

static void buffer_hand_over(void)
{
    uvh_owner_hand_over(&buffers.owner);
}

static void buffer_ref(void)
{
    uvh_buffer_ref(buffer);
}

static void buffer_unref(void)
{
    uvh_buffer_unref(buffer);
}

static void load_entry(void)
{
    static const char path[] = "test_base_owner.c";
    struct uvh_file_root root;
    require(uvh_file_root_open(&root, UVHTTP_TESTS_DIR "/unit") == 0);
    const struct uvh_file_load_options options = {.allocator = uvh_alloc_default(),
                                                  .root = &root,
                                                  .path = path,
                                                  .key = {path, sizeof(path) - 1},
                                                  .memory_file_size = 1 << 20};
    require(uvh_file_entry_load(&options, &entry) == 0);
    uvh_file_root_close(&root);
}

static void entry_use(void)
{
    load_entry();
    uvh_file_entry_ref(entry);
}

static void entry_unref(void)
{
    uvh_file_entry_unref(entry);
}

static void files_init(void)
{
    const struct uvh_file_cache_limits limits = {
        .entries = 10, .memory = 1 << 20, .descriptors = 10};
    uvh_file_cache_init(&files, uvh_alloc_default(), &limits, 1);
}

static void files_insert(void)
{
    load_entry();
    require(uvh_file_cache_insert(&files, entry));
}

static void files_use(void)
{
    files_init();
    files_insert();
}

static void files_hand_over(void)
{
    uvh_file_cache_hand_over(&files);
}

static void files_find(void)
{
    require(uvh_file_cache_find(&files, "other", 5) == NULL);
}

static void files_remove(void)
{
    uvh_file_cache_remove(&files, entry);
}

static void files_release(void)
{
    uvh_file_cache_release(&files);
}

static void absent_use(void)
{
    uvh_absent_cache_init(&absent, uvh_alloc_default(), 10, 1);
    require(uvh_absent_cache_put(&absent, (uvhttp_slice_t){"a", 1}) != NULL);
}

static void absent_find(void)
{
    require(uvh_absent_cache_find(&absent, (uvhttp_slice_t){"a", 1}) != NULL);
}

static void absent_put(void)
{
    require(uvh_absent_cache_put(&absent, (uvhttp_slice_t){"b", 1}) != NULL);
}

static void absent_remove(void)
{
    uvh_absent_cache_remove(&absent, (uvhttp_slice_t){"a", 1});
}

/* ---- running the uses ---- */

static void *run_second(void *arg)
{
    const struct use *use = arg;
    use->second();
    return NULL;
}

static void run_child(const struct use *use)
{
    const struct rlimit none = {0, 0};
    pthread_t thread;
    setrlimit(RLIMIT_CORE, &none);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    use->first();
    if (use->hand_over != NULL)
        use->hand_over();
    require(pthread_create(&thread, NULL, run_second, (void *)(uintptr_t)use) == 0);
    require(pthread_join(thread, NULL) == 0);
    _exit(0);
}

/* Runs the first action on one thread and the second on another, in a child process. Returns
 * whether SIGABRT ended it; any other failure fails the test. */
static bool aborts(const struct use *use)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        run_child(use);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
        return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s ended with status %d", use->name, status);
    return false;
}

static void use_by_foreign_thread_aborts_debug_builds(void **state)
{
    static const struct use uses[] = {
        {"slab take", slab_use, NULL, slab_take},
        {"slab give", slab_use, NULL, slab_give},
        {"arena begin", arena_use, NULL, arena_begin},
        {"arena alloc", arena_use, NULL, arena_alloc},
        {"arena text", arena_use, NULL, arena_text},
        {"arena release", arena_use, NULL, arena_release},
        {"buffer take", buffer_use, NULL, buffer_take},
        {"buffer ref", buffer_use, NULL, buffer_ref},
        {"buffer unref", buffer_use, NULL, buffer_unref},
        {"entry unref", entry_use, NULL, entry_unref},
        {"files find", files_use, NULL, files_find},
        {"files insert", files_use, NULL, files_insert},
        {"files remove", files_use, NULL, files_remove},
        {"absent find", absent_use, NULL, absent_find},
        {"absent put", absent_use, NULL, absent_put},
        {"absent remove", absent_use, NULL, absent_remove},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
        if (aborts(&uses[i]) != CHECKED)
            fail_msg("%s", uses[i].name);
    }
}

static void hand_over_allows_use_by_thread(void **state)
{
    static const struct use uses[] = {
        {"slab", slab_use, slab_hand_over, slab_give},
        {"arena", arena_use, arena_hand_over, arena_release},
        {"buffer", buffer_use, buffer_hand_over, buffer_unref},
        {"files", files_use, files_hand_over, files_remove},
        {"new slab", slab_init, NULL, slab_take},
        {"new arena", arena_init, NULL, arena_begin},
        {"new buffers", buffer_init, NULL, buffer_take},
        {"new entry", load_entry, NULL, entry_unref},
        {"new files", files_init, NULL, files_insert},
        {"files that end", files_use, NULL, files_release},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
        assert_false(aborts(&uses[i]));
}

static void owner_has_no_size_in_release_builds(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct uvh_owner), CHECKED ? sizeof(void *) : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_by_foreign_thread_aborts_debug_builds),
        cmocka_unit_test(hand_over_allows_use_by_thread),
        cmocka_unit_test(owner_has_no_size_in_release_builds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
