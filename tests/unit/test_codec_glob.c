/* Patterns of paths, compared with a slow matcher written from the table of the header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/text/glob.h"

static bool matches(const char *pattern, const char *path)
{
    return uvh_glob_matches((uvhttp_slice_t){pattern, strlen(pattern)},
                            (uvhttp_slice_t){path, strlen(path)});
}

static bool matches_part(const char *pattern, const char *path)
{
    return uvh_glob_matches_part((uvhttp_slice_t){pattern, strlen(pattern)},
                                 (uvhttp_slice_t){path, strlen(path)});
}

static bool is_valid(const char *pattern)
{
    return uvh_glob_is_valid((uvhttp_slice_t){pattern, strlen(pattern)});
}

static void pattern_without_slash_matches_names(void **state)
{
    (void)state;
    assert_true(matches("*.css", "site.css"));
    assert_true(matches("*.css", "/deep/down/site.css"));
    assert_false(matches("*.css", "site.css.map"));
    assert_false(matches("*.css", "site.css/x"));
    assert_true(matches("*", "anything"));
    assert_true(matches("index.html", "a/index.html"));
    assert_false(matches("index.html", "a/my-index.html"));
    assert_true(matches("?.txt", "a.txt"));
    assert_false(matches("?.txt", ".txt"));
    assert_false(matches("?.txt", "ab.txt"));
    assert_true(matches("a*b*c", "a--b--b--c"));
    assert_false(matches("A.txt", "a.txt"));
}

static void pattern_with_slash_matches_paths(void **state)
{
    (void)state;
    assert_true(matches("/index.html", "index.html"));
    assert_true(matches("/index.html", "/index.html"));
    assert_false(matches("/index.html", "a/index.html"));
    assert_true(matches("assets/*.js", "/assets/app.js"));
    assert_false(matches("assets/*.js", "/assets/lib/app.js"));
    assert_false(matches("assets/*.js", "/x/assets/app.js"));
    assert_true(matches("assets/**", "assets/lib/app.js"));
    assert_true(matches("assets/**", "assets/"));
    assert_false(matches("assets/**", "assets"));
    assert_true(matches("a/**/b", "a/b"));
    assert_true(matches("a/**/b", "a/x/y/b"));
    assert_false(matches("a/**/b", "a/xb"));
    assert_false(matches("a/**/b", "ab"));
    assert_true(matches("**/b", "b"));
    assert_true(matches("**/b", "x/b"));
    assert_false(matches("**/b", "xb"));
    assert_true(matches("/a**c", "a/b/c"));
    assert_true(matches("**/a/*.js", "x/a/y/a/z.js"));
    assert_false(matches("a/*/c", "a/b/b/c"));
}

static void parts_of_a_path_match(void **state)
{
    (void)state;
    assert_true(matches_part("*.bak", "a.bak"));
    assert_true(matches_part("*.bak", "/x/a.bak/"));
    assert_true(matches_part("*.bak", "a.bak/x/y"));
    assert_false(matches_part("*.bak", "x/a.bak.txt"));
    assert_true(matches_part("/a", "a"));
    assert_true(matches_part("/a", "a/"));
    assert_true(matches_part("/a", "a/b/c"));
    assert_false(matches_part("/a", "ab"));
    assert_false(matches_part("/a", "b/a"));
    assert_true(matches_part("**/a", "x/a/y"));
    assert_false(matches_part("a/**", "a/"));
    assert_false(matches_part("**", ""));
    assert_false(matches_part("[", "["));
}

static void bracket_expressions_match(void **state)
{
    (void)state;
    assert_true(matches("[abc].txt", "b.txt"));
    assert_false(matches("[abc].txt", "d.txt"));
    assert_true(matches("app.[0-9a-f][0-9a-f].js", "app.7e.js"));
    assert_false(matches("app.[0-9a-f][0-9a-f].js", "app.7g.js"));
    assert_true(matches("[!a-c]", "d"));
    assert_true(matches("[^a-c]", "d"));
    assert_false(matches("[!a-c]", "a"));
    assert_true(matches("[]]", "]"));
    assert_true(matches("[a-]", "-"));
    assert_true(matches("[\\]]", "]"));
    assert_false(matches("/a[!b]c", "a/c"));
    assert_false(matches("/a[.-0]c", "a/c"));
}

static void backslash_escapes_match(void **state)
{
    (void)state;
    assert_true(matches("\\*", "*"));
    assert_false(matches("\\*", "x"));
    assert_true(matches("a\\[b", "a[b"));
    assert_true(matches("\\\\", "\\"));
}

/* A character is one unit for any number of bytes; malformed UTF-8 does not form a slash. */
static void utf8_characters_match_once(void **state)
{
    (void)state;
    assert_true(matches("?.txt", "\xc3\xa4.txt"));
    assert_true(matches("[\xc3\xa0-\xc3\xbf]", "\xc3\xa4"));
    assert_false(matches("[\xc3\xa0-\xc3\xbf]", "\xc3\x84"));
    assert_true(matches("?", "\xf0\x9f\x98\x80"));
    assert_true(matches("?", "\xff"));
    assert_true(matches("??", "\xc3\xff"));
    assert_false(matches("/a/b", "a\xe0\x80\xaf"
                                 "b"));
    assert_false(matches("\xff", "\xfe"));
}

static void invalid_patterns_match_nothing(void **state)
{
    char longest[UVH_GLOB_MAX_LENGTH + 2];
    (void)state;
    memset(longest, 'a', sizeof(longest));
    longest[UVH_GLOB_MAX_LENGTH + 1] = '\0';
    assert_false(is_valid(longest));
    assert_false(matches(longest, longest));
    longest[UVH_GLOB_MAX_LENGTH] = '\0';
    assert_true(is_valid(longest));
    assert_true(matches(longest, longest));
    assert_false(is_valid(""));
    assert_false(matches("", ""));
    assert_false(is_valid("a["));
    assert_false(is_valid("[]"));
    assert_false(is_valid("[a-"));
    assert_false(is_valid("[b-a]"));
    assert_false(is_valid("a\\"));
    assert_false(is_valid("[a\\"));
    assert_false(matches("a[", "a["));
    assert_true(is_valid("]"));
    assert_true(is_valid("**"));
}

/* A matcher with backtracking would never finish these. No time is measured: the test only has to
 * end. */
static void matching_time_is_bounded(void **state)
{
    char pattern[UVH_GLOB_MAX_LENGTH + 1];
    char path[8192];
    (void)state;
    for (size_t i = 0; i < UVH_GLOB_MAX_LENGTH; i++)
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    pattern[UVH_GLOB_MAX_LENGTH - 1] = 'b';
    pattern[UVH_GLOB_MAX_LENGTH] = '\0';
    memset(path, 'a', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_false(matches(pattern, path));
    for (size_t i = 0; i + 3 < UVH_GLOB_MAX_LENGTH; i += 4)
        memcpy(pattern + i, "**/a", 4);
    pattern[UVH_GLOB_MAX_LENGTH - 1] = 'b';
    for (size_t i = 1; i < sizeof(path) - 1; i += 2)
        path[i] = '/';
    assert_false(matches(pattern, path));
    assert_false(matches_part(pattern, path));
}

/* ---- Comparison with a slow matcher ---- */

static bool reference_match(const char *p, const char *t, bool boundary);

static bool reference_match_stars(const char *rest, const char *t, bool directories, bool slashes,
                                  bool boundary)
{
    for (;; t++) {
        if ((!directories || boundary) && reference_match(rest, t, boundary))
            return true;
        if (*t == '\0' || (*t == '/' && !slashes))
            return false;
        boundary = *t == '/';
    }
}

/* Supports '*', '**', '?', "[ab]" and letters. `begin`: the pattern is at the start of a name. */
static bool reference_match(const char *p, const char *t, bool begin)
{
    if (*p == '\0')
        return *t == '\0';
    if (*p == '*') {
        const char *rest = p + 1;
        bool slashes = *rest == '*';
        while (*rest == '*')
            rest++;
        bool directories = slashes && begin && *rest == '/';
        return reference_match_stars(rest + (directories ? 1 : 0), t, directories, slashes, begin);
    }
    if (*t == '\0')
        return false;
    if (strncmp(p, "[ab]", 4) == 0)
        return (*t == 'a' || *t == 'b') && reference_match(p + 4, t + 1, false);
    if (*p == '?')
        return *t != '/' && reference_match(p + 1, t + 1, false);
    return *p == *t && reference_match(p + 1, t + 1, *p == '/');
}

/* The path, and each directory on it, in turn. */
static bool reference_match_part(const char *pattern, const char *path)
{
    char part[16];
    for (size_t i = 1; path[0] != '\0' && i <= strlen(path); i++) {
        if (path[i - 1] == '/' || (path[i] != '/' && path[i] != '\0'))
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (reference_match(pattern, part, true))
            return true;
    }
    return false;
}

static void random_patterns_match_reference(void **state)
{
    static const char *const chunks[] = {"a", "b", "*", "**", "?", "/", "[ab]", "/**/", "**/"};
    unsigned random = 1;
    size_t hits = 0;
    (void)state;
    for (size_t i = 0; i < 300000; i++) {
        char pattern[64] = "";
        char path[16] = "";
        size_t count = 1 + (random = random * 1103515245u + 12345u) / 65536 % 6;
        size_t length = 0;
        for (size_t j = 0; j < count; j++) {
            const char *chunk = chunks[(random = random * 1103515245u + 12345u) / 65536 %
                                       (sizeof(chunks) / sizeof(chunks[0]))];
            memcpy(pattern + length, chunk, strlen(chunk) + 1);
            length += strlen(chunk);
        }
        if (strchr(pattern, '/') == NULL || pattern[0] == '/')
            continue;
        count = (random = random * 1103515245u + 12345u) / 65536 % 8;
        for (size_t j = 0; j < count; j++)
            path[j] = "ab/"[(random = random * 1103515245u + 12345u) / 65536 % 3];
        if (path[0] == '/')
            continue;
        bool expected = reference_match(pattern, path, true);
        hits += expected;
        if (matches(pattern, path) != expected)
            fail_msg("%s over %s: expected %d", pattern, path, expected);
        if (strstr(path, "//") == NULL &&
            matches_part(pattern, path) != reference_match_part(pattern, path))
            fail_msg("%s over a part of %s", pattern, path);
    }
    assert_true(hits > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pattern_without_slash_matches_names),
        cmocka_unit_test(pattern_with_slash_matches_paths),
        cmocka_unit_test(parts_of_a_path_match),
        cmocka_unit_test(bracket_expressions_match),
        cmocka_unit_test(backslash_escapes_match),
        cmocka_unit_test(utf8_characters_match_once),
        cmocka_unit_test(invalid_patterns_match_nothing),
        cmocka_unit_test(matching_time_is_bounded),
        cmocka_unit_test(random_patterns_match_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
