/* Which paths share a version with the paths derived from them, and which versions a change
 * increments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "files/path_versions.h"

static struct uvh_path_versions versions;
static _Atomic uint64_t changed;

static int set_up(void **state)
{
    (void)state;
    memset(&versions, 0, sizeof(versions));
    atomic_store(&changed, 0);
    uvh_path_versions_init(&versions, false, &changed);
    return 0;
}

static uvhttp_slice_t slice(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

static unsigned index_of(const char *path)
{
    return uvh_path_versions_index(&versions, slice(path));
}

static uint64_t version_of(const char *path)
{
    return uvh_path_versions_read(&versions, index_of(path));
}

static void derived_paths_share_version(void **state)
{
    static const char *const groups[][6] = {
        {"about", "about/", "about.html", "about.html.gz", "about.x", "about."},
        {"a/b", "a/b/", "a/b.c", "a/b.c.d", "a/b..", "a/b.c/"},
        {".a", ".a/", ".a.b", ".a.b.c", ".a..", ".a."},
        {"a.b/c", "a.b/c/", "a.b/c.d", "a.b/c.d.e", "a.b/c.", "a.b/c.d/"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        for (size_t k = 1; k < 6; k++)
            assert_int_equal(index_of(groups[i][k]), index_of(groups[i][0]));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(index_of(groups[i][0]), index_of(groups[k][0]));
    }
    assert_int_not_equal(index_of(""), index_of("about"));
    assert_int_not_equal(index_of("a/b"), index_of("a"));
}

static void raise_changes_path_and_directory_only(void **state)
{
    (void)state;
    uvh_path_versions_raise(&versions, slice("a/b/c.html"));
    assert_int_equal(version_of("a/b/c"), 1);
    assert_int_equal(version_of("a/b/"), 1);
    assert_int_equal(version_of("a/"), 0);
    assert_int_equal(version_of(""), 0);
    assert_int_equal(version_of("a/b/d"), 0);
    assert_int_equal(atomic_load(&changed), 1);
    uvh_path_versions_raise(&versions, slice("x"));
    assert_int_equal(version_of("x"), 1);
    assert_int_equal(version_of(""), 1);
    assert_int_equal(version_of("a/b/c"), 1);
    assert_int_equal(atomic_load(&changed), 2);
}

static void raise_directories_changes_all_parents(void **state)
{
    (void)state;
    uvh_path_versions_raise_directories(&versions, slice("a/b/c"));
    assert_int_equal(version_of("a/b/c"), 1);
    assert_int_equal(version_of("a/b"), 1);
    assert_int_equal(version_of("a"), 1);
    assert_int_equal(version_of(""), 1);
    assert_int_equal(version_of("d"), 0);
    assert_int_equal(atomic_load(&changed), 1);
}

static void raise_all_changes_every_path(void **state)
{
    (void)state;
    uvh_path_versions_raise_all(&versions);
    assert_int_equal(version_of(""), 1);
    assert_int_equal(version_of("a/b.c"), 1);
    assert_int_equal(version_of("x"), 1);
    assert_int_equal(atomic_load(&changed), 1);
}

static void single_version_covers_every_path(void **state)
{
    (void)state;
    uvh_path_versions_init(&versions, true, &changed);
    uvh_path_versions_raise(&versions, slice("a/b"));
    assert_true(version_of("x/y.z") > 0);
    assert_int_equal(index_of("x/y.z"), index_of(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(derived_paths_share_version, set_up),
        cmocka_unit_test_setup(raise_changes_path_and_directory_only, set_up),
        cmocka_unit_test_setup(raise_directories_changes_all_parents, set_up),
        cmocka_unit_test_setup(raise_all_changes_every_path, set_up),
        cmocka_unit_test_setup(single_version_covers_every_path, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
