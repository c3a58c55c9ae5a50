/* Media types by extension. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/fields/mime.h"

static const char *type_of(const char *name)
{
    return uvh_mime_type((uvhttp_slice_t){name, strlen(name)});
}

static void known_extensions_have_media_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *type;
    } rows[] = {{"index.html", "text/html; charset=utf-8"},
                {"INDEX.HTM", "text/html; charset=utf-8"},
                {"/a/b/style.css", "text/css; charset=utf-8"},
                {"app.js", "text/javascript; charset=utf-8"},
                {"app.mjs", "text/javascript; charset=utf-8"},
                {"data.json", "application/json"},
                {"a.b.svg", "image/svg+xml"},
                {"x.png", "image/png"},
                {"x.JPeG", "image/jpeg"},
                {"x.webp", "image/webp"},
                {"x.avif", "image/avif"},
                {"favicon.ico", "image/x-icon"},
                {"site.webmanifest", "application/manifest+json"},
                {"x.wasm", "application/wasm"},
                {"x.woff2", "font/woff2"},
                {"readme.md", "text/markdown; charset=utf-8"},
                {"readme.txt", "text/plain; charset=utf-8"},
                {"x.pdf", "application/pdf"},
                {"x.mp4", "video/mp4"},
                {"x.aac", "audio/aac"},
                {"x.zst", "application/zstd"},
                {"x.tar.gz", "application/gzip"},
                {"x.c", "text/plain; charset=utf-8"},
                {"x.jxl", "image/jxl"},
                {"x.ts", "video/mp2t"},
                {"x.js.map", "application/json"},
                {"feed.xml", "application/xml"},
                {"page.xhtml", "application/xhtml+xml"},
                {"x.123", "application/vnd.lotus-1-2-3"}, /* the first row */
                {"x.zsh", "text/plain; charset=utf-8"},
                {"x.appinstaller", "application/appinstaller"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(type_of(rows[i].name), rows[i].type);
}

/* Reads the table's file as text, to detect rows out of order, which a binary search would not
 * find, and wrong start indexes. */
static void table_extensions_are_found(void **state)
{
    (void)state;
    char line[160], before[32] = "";
    size_t count = 0;
    FILE *table = fopen(UVHTTP_TESTS_DIR "/../src/codec/fields/mime_table.inc", "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table) != NULL) {
        char extension[32], type[128], name[40];
        if (sscanf(line, " \"%31[^\\]\\0\" \"%127[^\\]\\0\"", extension, type) != 2)
            continue;
        snprintf(name, sizeof name, "a.b.%s", extension);
        assert_string_equal(type_of(name), type);
        assert_true(strcmp(before, extension) < 0);
        assert_true(strncmp(type, "text/", 5) != 0 || strstr(type, "; charset=utf-8") != NULL);
        snprintf(before, sizeof before, "%s", extension);
        count++;
    }
    fclose(table);
    assert_true(count > 1000);
}

static void unknown_extensions_are_octet_stream(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",     "README",      "a.",      "a.unknown",          ".",      "a.html/",
        "html", "dir.html/ab", "x.html~", "x.htmlhtmlhtmlhtml", "x.htm ", "x.ht"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_string_equal(type_of(names[i]), "application/octet-stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_extensions_have_media_types),
        cmocka_unit_test(table_extensions_are_found),
        cmocka_unit_test(unknown_extensions_are_octet_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
