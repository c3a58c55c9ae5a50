/* Which media types are worth compressing. */
#include "codec/fields/compressible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

static void compressible_media_types_are_recognized(void **state)
{
    (void)state;
    static const char *const yes[] = {"text/html; charset=utf-8",
                                      "text/plain",
                                      "TEXT/CSS",
                                      "application/json",
                                      "application/json;a=b",
                                      "application/ld+json",
                                      "image/svg+xml",
                                      "Application/Problem+JSON ; x=y",
                                      "application/wasm",
                                      "font/ttf",
                                      "image/x-icon",
                                      "application/x-tar",
                                      "application/xml\t",
                                      "application/geo+json-seq"};
    static const char *const no[] = {"",
                                     "text/",
                                     "+json",
                                     "image/png",
                                     "image/jpeg",
                                     "video/mp4",
                                     "font/woff2",
                                     "application/zip",
                                     "application/gzip",
                                     "application/octet-stream",
                                     "application/jsonx",
                                     "application/jso",
                                     "image/png; a=text/plain",
                                     "image/png; profile=x+xml",
                                     "application/epub+zip"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (!uvh_compressible_type(slice_of(yes[i])))
            fail_msg("not compressible: %s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (uvh_compressible_type(slice_of(no[i])))
            fail_msg("compressible: %s", no[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressible_media_types_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
