/* Uploads, forms with files and event streams with failures of each allocation: the client receives
 * the expected response, a 503 or 500, or the end of the connection. The directory contains
 * published files only. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { MAX_ALLOCATIONS = 1000, LARGE = 700000, HALF = 350000 };

static struct stage stage;
static struct raw_client client;
static char directory[] = "/tmp/uvhttp-uploads-XXXXXX";
static uvhttp_event_hub_t *hub;
static size_t parts_seen;

static int put(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    return uvhttp_upload_to_file(request, directory, uvhttp_request_param(request, "name"), NULL,
                                 NULL, NULL);
}

static int on_form(uvhttp_request_t *request, uvhttp_response_t *response,
                   const uvhttp_form_data_t *form, void *arg)
{
    (void)request, (void)arg;
    const uvhttp_form_part_t *large = uvhttp_form_data_part(form, "large");
    assert_non_null(large);
    assert_string_equal(large->filename, "b");
    assert_int_equal(large->size, LARGE);
    assert_non_null(large->path);
    assert_int_equal(access(large->path, R_OK), 0);
    assert_string_equal(uvhttp_form_data_part(form, "small")->data, "1");
    parts_seen += form->count;
    return uvhttp_response_send_text(response, 200, "taken");
}

static int post(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    return uvhttp_form_data_read(request, &(uvhttp_form_options_t){.directory = directory}, on_form,
                                 NULL);
}

static int subscribe(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_event_hub_subscribe(hub, response);
}

/* Large enough to need memory. Then the client gets a response. */
static int publish(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static char data[3000];
    (void)request, (void)arg;
    memset(data, 'x', sizeof(data));
    int err = uvhttp_event_hub_publish(hub, &(uvhttp_sse_event_t){.data = {data, sizeof(data)}});
    return err != 0 ? err : uvhttp_response_send_text(response, 200, "told");
}

/* Removes the files in the directory. Returns their number. */
static size_t empty_directory(void)
{
    char path[320];
    size_t count = 0;
    DIR *stream = opendir(directory);
    assert_non_null(stream);
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        assert_true(strcmp(entry->d_name, "x") == 0); /* no hidden file is left */
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        assert_int_equal(unlink(path), 0);
        count++;
    }
    closedir(stream);
    return count;
}

static void begin(size_t n, bool keep_failing)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    uvhttp_router_t *router = uvhttp_server_router(stage.server);
    const uvhttp_route_t routes[] = {
        {.method = "PUT", .pattern = "/:name", .handler = put, .flags = UVHTTP_ROUTE_STREAM},
        {.method = "POST", .pattern = "/form", .handler = post, .flags = UVHTTP_ROUTE_STREAM},
        {.method = "GET", .pattern = "/hub", .handler = subscribe},
        {.method = "GET", .pattern = "/publish", .handler = publish},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(uvhttp_router_add(router, &routes[i]), 0);
    const uvhttp_static_options_t files = {.root = directory,
                                           .uploads = true,
                                           .upload_overwrite = true,
                                           .allocator = &stage.heap.allocator};
    assert_int_equal(uvhttp_static_mount(stage.server, "/files/", &files, NULL), 0);
    const uvhttp_event_hub_options_t options = {.keep = 4, .allocator = &stage.heap.allocator};
    assert_int_equal(uvhttp_event_hub_new(&hub, &options, NULL), 0);
    stage_listen(&stage);
    parts_seen = 0;
    fault_heap_arm(&stage.heap, n, keep_failing);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

/* Closes the client and frees the server. Returns true if an allocation has failed. */
static bool end(bool reset)
{
    bool failed = atomic_load(&stage.heap.failures) > 0;
    raw_client_close(&client, reset);
    uvhttp_event_hub_free(hub);
    stage_end(&stage);
    return failed;
}

static void send_large(const char *head, const char *front, const char *back)
{
    static char body[LARGE];
    char text[512];
    memset(body, 'b', sizeof(body));
    snprintf(text, sizeof(text), "%s%zu\r\n\r\n%s", head,
             strlen(front) + sizeof(body) + strlen(back), front);
    raw_client_send_text(&client, text);
    raw_client_send(&client, body, sizeof(body));
    raw_client_send_text(&client, back);
}

/* Returns the status of the response, or 0 when the connection was closed before. */
static int response_status(size_t count)
{
    struct raw_response response = {.status = 0};
    size_t offset = 0;
    stage_drive_responses(&stage, &client, 100000, count);
    if (!raw_client_response(&client, &offset, false, &response))
        assert_true(client.ended);
    return response.status;
}

static void assert_status(int status, int expected, bool failed)
{
    bool failure_reported = failed && (status == 500 || status == 503 || status == 0);
    assert_true(failure_reported || status == expected);
}

typedef bool (*scenario_fn)(size_t n, bool keep_failing);

static void scenario_survives_allocation_failures(void **state)
{
    scenario_fn run;
    memcpy(&run, *state, sizeof(run));
    for (int keep_failing = 0; keep_failing < 2; keep_failing++) {
        size_t n = 1;
        while (run(n, keep_failing))
            assert_true(++n < MAX_ALLOCATIONS);
        assert_true(n > 3);
    }
}

static bool upload_to_file(size_t n, bool keep_failing)
{
    begin(n, keep_failing);
    send_large("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: ", "", "");
    int status = response_status(1);
    bool failed = end(false);
    assert_status(status, 201, failed);
    size_t files = empty_directory();
    /* The upload may succeed while the response fails. */
    assert_true(files == 1 || (files == 0 && status != 201));
    return failed;
}

static bool form_to_directory(size_t n, bool keep_failing)
{
    begin(n, keep_failing);
    send_large("POST /form HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; "
               "boundary=b\r\nContent-Length: ",
               "--b\r\nContent-Disposition: form-data; name=small\r\n\r\n1\r\n"
               "--b\r\nContent-Disposition: form-data; name=large; "
               "filename=\"a/b\"\r\nContent-Type: a/b\r\n\r\n",
               "\r\n--b--\r\n");
    int status = response_status(1);
    bool failed = end(false);
    assert_status(status, 200, failed);
    assert_true(parts_seen == 2 || (parts_seen == 0 && status != 200));
    assert_int_equal(empty_directory(), 0);
    return failed;
}

/* The same with a directory that is served. */
static bool upload_to_static_directory(size_t n, bool keep_failing)
{
    begin(n, keep_failing);
    send_large("PUT /files/x HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\nContent-Digest: "
               "md5=:AAAA:\r\nContent-Length: ",
               "", "");
    int status = response_status(1);
    bool failed = end(false);
    assert_status(status, 201, failed);
    size_t files = empty_directory();
    assert_true(files == 1 || (files == 0 && status != 201));
    return failed;
}

static bool form_to_static_directory(size_t n, bool keep_failing)
{
    begin(n, keep_failing);
    send_large("POST /files/ HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; "
               "boundary=b\r\nContent-Length: ",
               "--b\r\nContent-Disposition: form-data; name=small\r\n\r\n1\r\n"
               "--b\r\nContent-Disposition: form-data; name=large; filename=\"a/x\"\r\n\r\n",
               "\r\n--b--\r\n");
    int status = response_status(1);
    bool failed = end(false);
    assert_status(status, 201, failed);
    size_t files = empty_directory();
    assert_true(files == 1 || (files == 0 && status != 201));
    return failed;
}

static bool hidden_file_or_ended(void *arg)
{
    (void)arg;
    DIR *stream = opendir(directory);
    size_t count = 0;
    while (stream != NULL && readdir(stream) != NULL)
        count++;
    if (stream != NULL)
        closedir(stream);
    return count > 2 || client.ended || client.received > 0;
}

/* A job of the upload may be running or not. */
static bool reset_during_upload(size_t n, bool keep_failing)
{
    static char half[HALF];
    begin(n, keep_failing);
    memset(half, 'b', sizeof(half));
    raw_client_send_text(&client, "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 700000\r\n\r\n");
    raw_client_send(&client, half, sizeof(half));
    stage_drive(&stage, &client, 1000, hidden_file_or_ended, NULL);
    raw_client_close(&client, true);
    stage_iterations(&stage, 4);
    bool failed = end(true);
    assert_int_equal(empty_directory(), 0);
    return failed;
}

static bool event_hub_publish(size_t n, bool keep_failing)
{
    static const char first[] = "HTTP/1.1 200 OK\r\n";
    struct raw_client listener;
    begin(n, keep_failing);
    raw_client_connect(&listener, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&listener, "GET /hub HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < 6; i++) {
        raw_client_step(&listener, 1000);
        stage_iterate(&stage);
    }
    bool subscribed = uvhttp_event_hub_count(hub) == 1;
    raw_client_send_text(&client, "GET /publish HTTP/1.1\r\nHost: h\r\n\r\n");
    int status = response_status(1);
    for (int i = 0; i < 6; i++) {
        raw_client_step(&listener, 100000);
        stage_iterate(&stage);
    }
    bool has_event = listener.received > 3000;
    assert_true(!has_event || memcmp(listener.data, first, sizeof(first) - 1) == 0);
    raw_client_close(&listener, false);
    bool failed = end(false);
    assert_status(status, 200, failed);
    assert_true(failed || (subscribed && has_event));
    return failed;
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    static scenario_fn scenarios[] = {
        upload_to_file,    form_to_directory,          reset_during_upload,
        event_hub_publish, upload_to_static_directory, form_to_static_directory};
    const struct CMUnitTest tests[] = {
        {.name = "upload_to_file",
         .test_func = scenario_survives_allocation_failures,
         .initial_state = &scenarios[0]},
        {.name = "form_to_directory",
         .test_func = scenario_survives_allocation_failures,
         .initial_state = &scenarios[1]},
        {.name = "reset_during_upload",
         .test_func = scenario_survives_allocation_failures,
         .initial_state = &scenarios[2]},
        {.name = "event_hub_publish",
         .test_func = scenario_survives_allocation_failures,
         .initial_state = &scenarios[3]},
        {.name = "upload_to_static_directory",
         .test_func = scenario_survives_allocation_failures,
         .initial_state = &scenarios[4]},
        {.name = "form_to_static_directory",
         .test_func = scenario_survives_allocation_failures,
         .initial_state = &scenarios[5]},
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
