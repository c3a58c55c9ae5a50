/* Files that a handler chooses: conditions, ranges and download names, with and without a static
 * context, also in a blocking handler; and conditions of a handler's own representation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <uvhttp/error.h>
#include <uvhttp/static.h>

#include "base/compiler.h"
#include "support/stage.h"

static struct stage stage;
static struct raw_client client;
static struct raw_response reply;
static size_t offset;
static uvhttp_static_t *files;
static char directory[] = "/tmp/uvhttp-send-file-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* By query: `name` of the file, `as` the download name, `inline`, `type`, `status`. */
static int send_any(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char path[128];
    const uvhttp_send_file_options_t options = {
        .content_type = uvhttp_request_query(req, "type"),
        .download_name = uvhttp_request_query(req, "as"),
        .show_inline = uvhttp_request_query(req, "inline") != NULL,
    };
    const char *status = uvhttp_request_query(req, "status");
    (void)arg;
    snprintf(path, sizeof(path), "%s/%s", directory, uvhttp_request_query(req, "name"));
    int err = uvhttp_response_set_header(res, "Cache-Control", "private");
    if (err == 0)
        err = status != NULL ? uvhttp_response_send_file(res, (int)strtol(status, NULL, 10), path)
                             : uvhttp_response_send_file_with(res, path, &options);
    return err == 0 ? 0 : uvhttp_response_send_text(res, 500, uvhttp_error_name(err));
}

static int send_static(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_send_file_options_t options = {
        .content_type = uvhttp_request_query(req, "type"),
        .download_name = uvhttp_request_query(req, "as"),
    };
    (void)arg;
    int err = uvhttp_static_send(files, res, uvhttp_request_query(req, "name"), &options);
    return err == 0 ? 0 : uvhttp_response_send_text(res, 500, uvhttp_error_name(err));
}

/* A representation with a tag and a time; none when the query has `absent`. */
static int check_condition(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *tag = uvhttp_request_query(req, "tag");
    const uvhttp_validators_t current = {.etag = tag != NULL ? tag : "\"v1\"",
                                         .modified = 784111777}; /* 06 Nov 1994 08:49:37 */
    bool absent = uvhttp_request_query(req, "absent") != NULL;
    (void)arg;
    int status = uvhttp_request_precondition(req, absent ? NULL : &current);
    if (status < 0)
        return uvhttp_response_send_text(res, 500, uvhttp_error_name(status));
    return uvhttp_response_send_status(res, status == 0 ? 200 : status);
}

static int set_up(void **state)
{
    const uvhttp_route_t blocking = {
        .pattern = "/blocking", .handler = send_any, .flags = UVHTTP_ROUTE_BLOCKING};
    const uvhttp_route_t refused = {
        .pattern = "/blocking-static", .handler = send_static, .flags = UVHTTP_ROUTE_BLOCKING};
    (void)state;
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(directory));
    write_file("a.txt", "0123456789");
    write_file("page.html", "<p>page");
    write_file(".hidden", "secret");
    assert_int_equal(mkdir(path_of("sub"), 0700), 0);
    stage_begin(&stage);
    assert_int_equal(
        uvhttp_static_new(&files,
                          &(uvhttp_static_options_t){.root = directory,
                                                     .clean_urls = true,
                                                     .allocator = stage.config->allocator},
                          NULL),
        0);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, NULL, "/any", send_any, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, NULL, "/static", send_static, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, NULL, "/own", check_condition, NULL), 0);
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &blocking), 0);
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &refused), 0);
    assert_int_equal(uvhttp_static_mount_context(stage.server, "/", files, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    offset = 0;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"a.txt", "page.html", ".hidden"};
    (void)state;
    raw_client_close(&client, false);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    uvhttp_static_free(files);
    stage_end(&stage);
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++)
        unlink(path_of(names[i]));
    rmdir(path_of("sub"));
    return rmdir(directory);
}

static bool head_requested;

static bool has_reply(void *arg)
{
    (void)arg;
    return raw_client_response(&client, &offset, head_requested, &reply);
}

static int get(const char *target, const char *field)
{
    char request[1024];
    snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: h\r\n%s\r\n", target, field);
    head_requested = strncmp(target, "HEAD", 4) == 0;
    raw_client_send_text(&client, request);
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    return reply.status;
}

static const char *field(const char *name)
{
    static char value[256];
    return raw_response_field(&reply, name, value, sizeof(value)) ? value : NULL;
}

static void assert_body(const char *body)
{
    assert_int_equal(reply.body_length, strlen(body));
    assert_memory_equal(reply.body, body, reply.body_length);
}

static const char *const sources[] = {"/any", "/blocking", "/static"};

static void file_has_validators(void **state)
{
    char target[64];
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(sources); i++) {
        snprintf(target, sizeof(target), "GET %s?name=a.txt", sources[i]);
        assert_int_equal(get(target, ""), 200);
        assert_body("0123456789");
        assert_int_equal(field("ETag")[0], '"');
        assert_non_null(field("Last-Modified"));
        assert_string_equal(field("Accept-Ranges"), "bytes");
        assert_string_equal(field("Content-Type"), "text/plain; charset=utf-8");
        assert_null(field("Content-Disposition"));
        memcpy(target, "HEAD", 4);
    }
    assert_int_equal(get("HEAD /any?name=a.txt", ""), 200);
    assert_string_equal(field("Content-Length"), "10");
}

static void conditions_are_evaluated(void **state)
{
    char target[64], line[600], tag[256], date[256];
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(sources); i++) {
        snprintf(target, sizeof(target), "GET %s?name=a.txt", sources[i]);
        assert_int_equal(get(target, ""), 200);
        snprintf(tag, sizeof(tag), "%s", field("ETag"));
        snprintf(date, sizeof(date), "%s", field("Last-Modified"));
        snprintf(line, sizeof(line), "If-None-Match: \"x\", %s\r\n", tag);
        assert_int_equal(get(target, line), 304);
        assert_string_equal(field("ETag"), tag);
        assert_null(field("Content-Disposition"));
        snprintf(line, sizeof(line), "If-Modified-Since: %s\r\n", date);
        assert_int_equal(get(target, line), 304);
        snprintf(line, sizeof(line), "If-Match: %s\r\n", tag);
        assert_int_equal(get(target, line), 200);
        assert_int_equal(get(target, "If-Match: \"x\"\r\n"), 412);
        assert_int_equal(get(target, "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
                         412);
    }
}

static void ranges_get_206(void **state)
{
    char target[64], line[600];
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(sources); i++) {
        snprintf(target, sizeof(target), "GET %s?name=a.txt&as=b.txt", sources[i]);
        assert_int_equal(get(target, "Range: bytes=2-4\r\n"), 206);
        assert_body("234");
        assert_string_equal(field("Content-Range"), "bytes 2-4/10");
        assert_string_equal(field("Content-Disposition"), "attachment; filename=\"b.txt\"");
        snprintf(line, sizeof(line), "Range: bytes=2-4\r\nIf-Range: %s\r\n", field("ETag"));
        assert_int_equal(get(target, line), 206);
        assert_int_equal(get(target, "Range: bytes=2-4\r\nIf-Range: \"x\"\r\n"), 200);
        assert_body("0123456789");
        assert_int_equal(get(target, "Range: bytes=20-\r\n"), 416);
        assert_string_equal(field("Content-Range"), "bytes */10");
        assert_null(field("Content-Disposition"));
    }
}

static void download_name_becomes_content_disposition(void **state)
{
    (void)state;
    assert_int_equal(get("GET /any?name=a.txt&as=B%C3%A4r.txt", ""), 200);
    assert_string_equal(field("Content-Disposition"),
                        "attachment; filename=\"B_r.txt\"; filename*=UTF-8''B%C3%A4r.txt");
    assert_int_equal(get("GET /any?name=a.txt&as=b&inline=1", ""), 200);
    assert_string_equal(field("Content-Disposition"), "inline; filename=\"b\"");
    assert_int_equal(get("GET /static?name=none&as=b", ""), 404);
    assert_null(field("Content-Disposition"));
}

static void content_type_can_be_given(void **state)
{
    (void)state;
    assert_int_equal(get("GET /any?name=a.txt&type=text/x-mine", ""), 200);
    assert_string_equal(field("Content-Type"), "text/x-mine");
    assert_int_equal(get("GET /any?name=a.txt&type=a%0d%0aX:1", ""), 500);
    assert_body("UVHTTP_EHEADER");
    assert_int_equal(get("GET /static?name=a.txt&type=text/x-mine", ""), 500);
    assert_body("UVHTTP_EINVAL");
}

static void other_statuses_and_methods_get_whole_file(void **state)
{
    (void)state;
    assert_int_equal(get("GET /any?name=a.txt&status=404", "Range: bytes=2-4\r\n"), 404);
    assert_body("0123456789");
    assert_null(field("ETag"));
    assert_int_equal(get("GET /any?name=a.txt&status=200", "Range: bytes=2-4\r\n"), 206);
    assert_int_equal(get("POST /any?name=a.txt", "If-None-Match: *\r\n"), 200);
    assert_body("0123456789");
    assert_int_equal(get("POST /static?name=a.txt", "If-None-Match: *\r\n"), 200);
    assert_body("0123456789");
}

static void errors_leave_response_open(void **state)
{
    (void)state;
    assert_int_equal(get("GET /any?name=none&as=b", ""), 500);
    assert_body("ENOENT");
    assert_int_equal(get("GET /any?name=sub", ""), 500);
    assert_body("UVHTTP_ENOTREG");
}

/* Of the context only the file is used: neither its clean URLs nor directories. */
static void static_send_finds_exactly_that_file(void **state)
{
    uvhttp_static_stats_t stats;
    (void)state;
    assert_int_equal(get("GET /static?name=page.html", ""), 200);
    assert_int_equal(get("GET /static?name=/page.html", ""), 200);
    assert_body("<p>page");
    assert_int_equal(uvhttp_static_read_stats(files, &stats), 0);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(get("GET /page.html", ""), 301);
    assert_int_equal(get("GET /page", ""), 200);
    assert_int_equal(get("GET /static?name=page", ""), 404);
    assert_int_equal(get("GET /page", ""), 200);
    assert_int_equal(get("GET /static?name=.hidden", ""), 404);
    assert_int_equal(get("GET /static?name=../a.txt", ""), 404);
    assert_int_equal(get("GET /static?name=sub", ""), 403);
}

static void static_send_is_refused_in_blocking_handler(void **state)
{
    (void)state;
    assert_int_equal(get("GET /blocking-static?name=a.txt", ""), 500);
    assert_body("UVHTTP_EINVAL");
    assert_non_null(strstr(stage.last_error, "uvhttp_response_send_file_with"));
    stage.errors_logged = 0;
}

static void own_conditions_follow_rfc_order(void **state)
{
    static const struct {
        const char *target, *fields;
        int status;
    } rows[] = {
        {"GET /own", "", 200},
        {"GET /own", "If-None-Match: \"v1\"\r\n", 304},
        {"HEAD /own", "If-None-Match: W/\"v1\"\r\n", 304},
        {"PUT /own", "If-None-Match: \"v1\"\r\n", 412},
        {"PUT /own", "If-None-Match: *\r\n", 412},
        {"PUT /own?absent=1", "If-None-Match: *\r\n", 200},
        {"PUT /own", "If-Match: \"v1\"\r\n", 200},
        {"PUT /own", "If-Match: \"v2\"\r\n", 412},
        {"PUT /own?absent=1", "If-Match: *\r\n", 412},
        {"PUT /own?tag=W/%22v1%22", "If-Match: W/\"v1\"\r\n", 412},
        {"GET /own", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 304},
        {"GET /own", "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", 200},
        {"PUT /own", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", 412},
        /* a tag has precedence over a date, and the first two conditions over the others */
        {"GET /own",
         "If-None-Match: \"v2\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 200},
        {"GET /own", "If-Match: \"v2\"\r\nIf-None-Match: \"v1\"\r\n", 412},
        {"GET /own?tag=v1", "", 500},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        if (get(rows[i].target, rows[i].fields) != rows[i].status)
            fail_msg("%s %s: %d", rows[i].target, rows[i].fields, reply.status);
    assert_body("UVHTTP_EINVAL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file_has_validators, set_up, tear_down),
        cmocka_unit_test_setup_teardown(conditions_are_evaluated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_get_206, set_up, tear_down),
        cmocka_unit_test_setup_teardown(download_name_becomes_content_disposition, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(content_type_can_be_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_statuses_and_methods_get_whole_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(errors_leave_response_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(static_send_finds_exactly_that_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(static_send_is_refused_in_blocking_handler, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(own_conditions_follow_rfc_order, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
