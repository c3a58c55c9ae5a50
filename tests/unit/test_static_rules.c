/* files/static_rules.c: the type and the fields of files by name, refused options, and failed
 * allocations. */
#include <uvhttp.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "files/static_rules.h"
#include "http/response.h"
#include "support/fault_heap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct fault_heap heap;
static struct uvh_static_rules *rules;

static void begin(uvhttp_static_options_t config)
{
    fault_heap_init(&heap);
    assert_int_equal(uvh_static_rules_new(&rules, &config, &heap.allocator, NULL), 0);
}

static void end(void)
{
    uvh_static_rules_free(rules);
    assert_int_equal(heap.live, 0);
}

static void copy_lines(const uvhttp_prepared_t *prepared, char *out, size_t size)
{
    assert_true(prepared->lines.length < size);
    memcpy(out, prepared->lines.data != NULL ? prepared->lines.data : "", prepared->lines.length);
    out[prepared->lines.length] = '\0';
}

static char fields[2048], validators[2048];

static int add_fields(const char *path)
{
    uvhttp_prepared_t *one = uvhttp_prepared_new(NULL), *other = uvhttp_prepared_new(NULL);
    int err = uvh_static_rules_add(rules, path, one, other);
    copy_lines(one, fields, sizeof(fields));
    copy_lines(other, validators, sizeof(validators));
    uvhttp_prepared_free(one);
    uvhttp_prepared_free(other);
    return err;
}

static void expect(const char *path, const char *expected, const char *expected_in_304)
{
    assert_int_equal(add_fields(path), 0);
    assert_string_equal(fields, expected);
    assert_string_equal(validators, expected_in_304);
}

static void empty_rules_use_default_types(void **state)
{
    (void)state;
    begin((uvhttp_static_options_t){.root = "."});
    assert_null(rules);
    assert_string_equal(uvh_static_rules_type(rules, "a/b.css"), "text/css; charset=utf-8");
    assert_string_equal(uvh_static_rules_type(rules, "a.css/b"), "application/octet-stream");
    expect("a/b.css", "", "");
    end();
}

static void type_rules_take_precedence(void **state)
{
    (void)state;
    static const char *const given[] = {"md=text/x-md", ".GZ=application/x-one; a=b=c",
                                        "tar.gz=application/x-two", "map=a/b", "map=c/d"};
    static const uvhttp_static_rule_t by_pattern[] = {
        {"/bin/**", "content-type", "application/x-binary"},
        {"LICENSE", "Content-Type", "text/plain"},
        {"/bin/*.md", "Content-Type", NULL},
    };
    static const struct {
        const char *path;
        const char *type;
    } rows[] = {
        {"x.md", "text/x-md"},
        {"x.MD", "text/x-md"},
        {"docs.md/x.gz", "application/x-one; a=b=c"},
        {"x.tar.gz", "application/x-two"},
        {"x.map", "c/d"},
        {"x.html", "text/html; charset=utf-8"},
        {"x.unknown", "text/x-default"},
        {"README", "text/x-default"},
        {"a/LICENSE", "text/plain"},
        {"bin/x.html", "application/x-binary"},
        {"bin/x.md", "text/x-md"},
        {"md", "text/x-default"},
        {"x.bin", "application/octet-stream"},
    };
    begin((uvhttp_static_options_t){.types = given,
                                    .type_count = COUNT(given),
                                    .default_type = "text/x-default",
                                    .rules = by_pattern,
                                    .rule_count = COUNT(by_pattern)});
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(uvh_static_rules_type(rules, rows[i].path), rows[i].type);
    expect("LICENSE", "", ""); /* the type is not in the fields */
    end();
}

static void last_rule_of_field_applies(void **state)
{
    (void)state;
    static const uvhttp_static_rule_t given[] = {
        {"**", "Cache-Control", "max-age=60"},
        {"*.css", "X-Kind", "style"},
        {"/assets/**", "cache-control", "max-age=90"},
        {"/assets/**", "Vary", "Origin"},
        {"secret.css", "X-Kind", NULL},
        {"/none/**", "Cache-Control", NULL},
    };
    begin((uvhttp_static_options_t){.rules = given, .rule_count = COUNT(given)});
    expect("index.html", "Cache-Control: max-age=60\r\n", "Cache-Control: max-age=60\r\n");
    expect("assets/a.css", "X-Kind: style\r\ncache-control: max-age=90\r\nVary: Origin\r\n",
           "cache-control: max-age=90\r\nVary: Origin\r\n");
    expect("secret.css", "Cache-Control: max-age=60\r\n", "Cache-Control: max-age=60\r\n");
    expect("none/a.css", "X-Kind: style\r\n", "");
    end();
}

static void content_disposition_gets_filename(void **state)
{
    (void)state;
    static const uvhttp_static_rule_t given[] = {
        {"*.pdf", "Content-Disposition", "attachment"},
        {"show.pdf", "Content-Disposition", "inline"},
        {"own.pdf", "Content-Disposition", "attachment; filename=\"o.pdf\""},
    };
    begin((uvhttp_static_options_t){.rules = given, .rule_count = COUNT(given)});
    expect("a/b c.pdf", "Content-Disposition: attachment; filename=\"b c.pdf\"\r\n", "");
    expect("\xc3\xa4.pdf",
           "Content-Disposition: attachment; filename=\"_.pdf\"; filename*=UTF-8''%C3%A4.pdf\r\n",
           "");
    expect("show.pdf", "Content-Disposition: inline; filename=\"show.pdf\"\r\n", "");
    expect("own.pdf", "Content-Disposition: attachment; filename=\"o.pdf\"\r\n", "");
    end();
}

static void immutable_assets_get_cache_control(void **state)
{
    (void)state;
    static const uvhttp_static_rule_t given[] = {
        {"/old/**", "Cache-Control", "no-store"},
        {"/plain/**", "Cache-Control", NULL},
    };
    static const char immutable[] = "Cache-Control: public, max-age=31536000, immutable\r\n";
    static const char revalidated[] = "Cache-Control: no-cache\r\n";
    begin((uvhttp_static_options_t){
        .rules = given, .rule_count = COUNT(given), .immutable_assets = true});
    expect("assets/index-BfK3x_9Q.js", immutable, immutable);
    expect("main.3f2a9c01.css.map", immutable, immutable);
    expect("index.html", revalidated, revalidated);
    expect("docs/main.3f2a9c01.html", revalidated, revalidated);
    expect("page.xhtml", revalidated, revalidated);
    expect("logo.svg", "", "");
    expect("old/main.3f2a9c01.css", "Cache-Control: no-store\r\n", "Cache-Control: no-store\r\n");
    expect("plain/main.3f2a9c01.css", "", "");
    end();
}

static void expect_refused(uvhttp_static_options_t config, const char *message)
{
    uvhttp_error_t error;
    config.root = ".";
    assert_int_equal(uvhttp_static_check(&config, &error), UVHTTP_ECONFIG);
    if (strncmp(error.text, message, strlen(message)) != 0)
        fail_msg("'%s' instead of '%s'", error.text, message);
    assert_int_equal(uvhttp_static_check(&config, NULL), UVHTTP_ECONFIG);
    uvhttp_static_t *files;
    assert_int_equal(uvhttp_static_new(&files, &config, NULL), UVHTTP_ECONFIG);
    assert_null(files);
}

static void refuse_type(const char *type, const char *message)
{
    expect_refused((uvhttp_static_options_t){.types = &type, .type_count = 1}, message);
}

static void refuse_rule(const char *pattern, const char *field, const char *value,
                        const char *message)
{
    const uvhttp_static_rule_t rule = {pattern, field, value};
    expect_refused((uvhttp_static_options_t){.rules = &rule, .rule_count = 1}, message);
}

static void invalid_options_are_refused(void **state)
{
    (void)state;
    refuse_type("md", "types is \"md\"; must be an extension and its type");
    refuse_type("=text/plain", "types is \"=text/plain\"; must be an extension");
    refuse_type(".=text/plain", "types is \".=text/plain\"; must be an extension");
    refuse_type("a/b=text/plain", "types is \"a/b=text/plain\"; must be an extension");
    refuse_type(NULL, "types is \"\"; must be an extension");
    refuse_type("md=markdown", "types is \"markdown\"; must be a media type");
    refuse_type("md=text/", "types is \"text/\"; must be a media type");
    refuse_type("md=text/a b", "types is \"text/a b\"; must be a media type");
    refuse_type("md=text/plain\r\nX: y", "types is \"text/plain??X: y\"; must be a media type");
    refuse_type("md=text/plain; a\x01", "types is \"text/plain; a?\"; must be a media type");
    expect_refused((uvhttp_static_options_t){.default_type = "none"},
                   "default_type is \"none\"; must be a media type");
    refuse_rule(NULL, "X-A", "b", "pattern is \"\"; must be a pattern such as");
    refuse_rule("[a", "X-A", "b", "pattern is \"[a\"; must be a pattern such as");
    refuse_rule("*", NULL, "b", "field is \"\"; must be the name of a field");
    refuse_rule("*", "X A", "b", "field is \"X A\"; must be the name of a field");
    refuse_rule("*", "etag", "b", "field is \"etag\"; must be the name of a field");
    refuse_rule("*", "Content-Length", "1",
                "field is \"Content-Length\"; must be the name of a field");
    refuse_rule("*", "X-A", "", "value is \"\"; must be a non-empty text");
    refuse_rule("*", "X-A", "a\r\nX-B: c", "value is \"(not shown)\"; must be a non-empty text");
    refuse_rule("*", "Content-Type", "html", "value is \"html\"; must be a media type");

    static uvhttp_static_rule_t many[257];
    static const char *many_types[1001];
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = (uvhttp_static_rule_t){"*", "X-A", "b"};
    for (size_t i = 0; i < COUNT(many_types); i++)
        many_types[i] = "a=b/c";
    expect_refused((uvhttp_static_options_t){.rules = many, .rule_count = 257},
                   "rules has 257 elements; at most 256 are allowed");
    expect_refused((uvhttp_static_options_t){.types = many_types, .type_count = 1001},
                   "types has 1001 elements; at most 1000 are allowed");
    begin((uvhttp_static_options_t){
        .rules = many, .rule_count = 256, .types = many_types, .type_count = 1000});
    expect("x", "X-A: b\r\n", "");
    end();

    assert_int_equal(uvhttp_static_check(NULL, NULL), UVHTTP_EINVAL);
}

static void array_without_count_is_refused(void **state)
{
    (void)state;
    static const uvhttp_static_rule_t rule = {"*.css", "X-A", "b"};
    static const char *const type = "md=text/markdown";
    static const struct {
        uvhttp_static_options_t config;
        const char *message;
    } rows[] = {
        {{.root = ".", .rules = &rule}, "rules is set and its count is 0"},
        {{.root = ".", .rule_count = 1}, "rules is NULL and its count is 1"},
        {{.root = ".", .types = &type}, "types is set and its count is 0"},
        {{.root = ".", .type_count = 300}, "types is NULL and its count is 300"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uvhttp_error_t error;
        uvhttp_static_t *context;
        assert_int_equal(uvhttp_static_check(&rows[i].config, &error), UVHTTP_EINVAL);
        assert_string_equal(error.text, rows[i].message);
        assert_int_equal(uvhttp_static_check(&rows[i].config, NULL), UVHTTP_EINVAL);
        assert_int_equal(uvhttp_static_new(&context, &rows[i].config, NULL), UVHTTP_EINVAL);
        assert_null(context);
    }
}

static void keep_line(uvhttp_log_level_t level, const char *message, void *line)
{
    assert_int_equal(level, UVHTTP_LOG_ERROR);
    snprintf(line, 256, "%s", message);
}

static void refused_mount_is_logged(void **state)
{
    (void)state;
    static const uvhttp_static_rule_t rule = {"*.css", "X-A", "b"};
    char line[256] = "";
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->log = keep_line;
    config->log_arg = line;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    const uvhttp_static_options_t files = {.root = ".", .rules = &rule};
    assert_int_equal(uvhttp_static_mount(server, "/files/", &files, NULL), UVHTTP_EINVAL);
    assert_string_equal(
        line,
        "static files at \"/files/\": invalid configuration: rules is set and its count is 0");
    line[0] = '\0';
    assert_int_equal(uvhttp_static_mount(
                         server, "/", &(uvhttp_static_options_t){.root = "/nowhere/at all"}, NULL),
                     -ENOENT);
    assert_string_equal(line, "");
    uvhttp_server_free(server);
}

static void macros_set_arrays_and_counts(void **state)
{
    (void)state;
    begin((uvhttp_static_options_t){UVHTTP_STATIC_TYPES("x=text/x", "y=text/y"),
                                    UVHTTP_STATIC_RULES({"*.x", "X-A", "1"}, {"*.y", "X-B", "2"})});
    expect("a.y", "X-B: 2\r\n", "");
    end();
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    static const char *const given_types[] = {"md=text/x-md"};
    static const uvhttp_static_rule_t given[] = {
        {"*.md", "Content-Disposition", "attachment"},
        {"*.md", "Cache-Control", "no-cache"},
    };
    uvhttp_static_options_t config = {.types = given_types,
                                      .type_count = 1,
                                      .default_type = "a/b",
                                      .rules = given,
                                      .rule_count = 2,
                                      .allocator = &heap.allocator};
    fault_heap_init(&heap);
    size_t failed = 0;
    for (size_t n = 1;; n++) {
        fault_heap_arm(&heap, n, false);
        int err = uvh_static_rules_new(&rules, &config, &heap.allocator, NULL);
        if (err == 0)
            break;
        assert_int_equal(err, UVHTTP_ENOMEM);
        assert_null(rules);
        assert_int_equal(heap.live, 0);
        failed++;
    }
    assert_true(failed > 8);
    fault_heap_arm(&heap, 1, false);
    assert_int_equal(add_fields("x.md"), UVHTTP_ENOMEM);
    fault_heap_arm(&heap, 0, false);
    expect("x.md",
           "Content-Disposition: attachment; filename=\"x.md\"\r\nCache-Control: no-cache\r\n",
           "Cache-Control: no-cache\r\n");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_rules_use_default_types),
        cmocka_unit_test(type_rules_take_precedence),
        cmocka_unit_test(last_rule_of_field_applies),
        cmocka_unit_test(content_disposition_gets_filename),
        cmocka_unit_test(immutable_assets_get_cache_control),
        cmocka_unit_test(invalid_options_are_refused),
        cmocka_unit_test(array_without_count_is_refused),
        cmocka_unit_test(refused_mount_is_logged),
        cmocka_unit_test(macros_set_arrays_and_counts),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
