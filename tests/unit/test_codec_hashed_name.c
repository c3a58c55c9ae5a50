/* codec/fields/hashed_name.c: names with the hashes of bundlers, and similar names without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codec/fields/hashed_name.h"

static bool is_hashed(const char *path)
{
    return uvh_hashed_name((uvhttp_slice_t){path, strlen(path)});
}

static void names_with_bundler_hash_are_recognized(void **state)
{
    (void)state;
    static const char *const names[] = {
        /* Vite and Rollup */
        "/assets/index-BfK3x_9Q.js", "assets/index-D1-kZ4_a.css", "assets/vendor-react-C8w-UN3i.js",
        "assets/logo-_aB3dE-9.svg", "assets/Inter-roman.B8GkRt1q.woff2",
        /* webpack, Parcel, Next.js */
        "main.3f2a9c01.js", "/static/js/main.0b1c2d3e4f5a6b7c8d9e.chunk.3f2a9c01.js",
        "js/runtime~main.8d2b1e0f.js.map", "styles.2c26b46b68ffc68ff99b453c1d304134.css",
        "app-83c1bb4e1de8d0c2.js", "index.FD126C42.css",
        /* esbuild, Angular, Hugo */
        "main-5ANVBQE7.js", "chunk-QH7MDC2W.js.br",
        "main.min.9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.css"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!is_hashed(names[i]))
            fail_msg("no hash found: %s", names[i]);
    }
}

static void names_without_hash_are_not_recognized(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "/",
        ".",
        "-",
        "index.html",
        "main.js",
        "jquery-3.7.1.min.js",
        "bootstrap.bundle.min.js",
        "report-20240131.pdf",
        "IMG_20240131_120000.jpg",
        "photo-DSC00012.jpg",
        "my-document2.pdf",
        "report-Version2.pdf",
        "report-Draft-v2.pdf",
        "index-MyWidget.js",
        "notes-DEADBEEF.txt",
        "some-component.js",
        "3f2a9c01.js",
        "main.3f2a9c01",
        "main.3f2a9c0.js",
        "3f2a9c01/main.js",
        "a.3f2a9c01/b.js",
        "release-decade90.txt",
        "Screenshot-2024-05-06.png",
        "font-Roboto-Medium500.woff2",
        "chunk-ABCDEFGH.js",
        "v1.2.3-rc1.tar.gz",
        "backup-2024-01-31T1200.sql",
        "main-3f2a9c01.",
        "x.3f2a9c01.map",
        "CHAPTER-CHAPTER2.txt",
        "key-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0.txt",
        "file-12345678.css"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is_hashed(names[i]))
            fail_msg("hash found: %s", names[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_with_bundler_hash_are_recognized),
        cmocka_unit_test(names_without_hash_are_not_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
