/* What shortens the set-up and the handlers of programs: middleware in one call, numbers of the
 * configuration, the first error, uvhttp_server_main; numbers and bodies of requests as text; files
 * of the application. */
#include <errno.h>
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
#include <uv.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

static uvhttp_server_t *server;
static uvhttp_test_response_t *response;
static int released;

static int set_up(void **state)
{
    (void)state;
    server = uvhttp_server_new(NULL);
    released = 0;
    return server == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvhttp_test_response_free(response);
    response = NULL;
    uvhttp_server_free(server);
    return 0;
}

static void request(const uvhttp_test_request_t *sent)
{
    uvhttp_test_response_free(response);
    assert_int_equal(uvhttp_test_request(server, sent, &response), 0);
}

static int show_user(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *user = uvhttp_auth_user(req);
    (void)arg;
    return uvhttp_response_send_text(res, 200, user == NULL ? "nobody" : user);
}

/* ---- middleware ---- */

static void middleware_of_one_call_is_used_and_owned(void **state)
{
    (void)state;
    uvhttp_router_t *all = uvhttp_server_router(server), *group = NULL;
    const uvhttp_size_limit_options_t small = {.max_request_body = 2};
    const uvhttp_cors_options_t cors = {.origins = "https://app.example"};
    assert_int_equal(uvhttp_request_ids_use(all, NULL), 0);
    assert_int_equal(uvhttp_security_headers_use(all, NULL), 0);
    assert_int_equal(uvhttp_cors_use(all, &cors), 0);
    assert_int_equal(uvhttp_router_group(all, "/small", &group), 0);
    assert_int_equal(uvhttp_size_limit_use(group, &small), 0);
    assert_int_equal(uvhttp_router_route(group, "POST", "", show_user, NULL), 0);
    request(&(uvhttp_test_request_t){.target = "/small",
                                     .body = "abc",
                                     .body_size = 3,
                                     UVHTTP_TEST_HEADERS("Origin: https://app.example")});
    assert_int_equal(response->status, 413);
    assert_non_null(strstr(response->head, "X-Request-Id: "));
    assert_non_null(strstr(response->head, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(response->head, "Access-Control-Allow-Origin: https://app.example"));
}

static void one_token_needs_no_callback(void **state)
{
    (void)state;
    uvhttp_router_t *all = uvhttp_server_router(server);
    assert_int_equal(uvhttp_auth_use(all, &(uvhttp_auth_options_t){.token = "secret"}), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/", show_user, NULL), 0);
    request(&(uvhttp_test_request_t){UVHTTP_TEST_HEADERS("Authorization: Bearer secret")});
    assert_int_equal(response->status, 200);
    static const char *const wrong[] = {
        "Authorization: Bearer secre", "Authorization: Bearer secrets",
        "Authorization: Bearer Secret", "Authorization: Basic YTpi", "X: y"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        request(&(uvhttp_test_request_t){.headers = &wrong[i], .header_count = 1});
        assert_int_equal(response->status, 401);
        assert_non_null(strstr(response->head, "WWW-Authenticate: Bearer"));
    }
}

static void invalid_token_is_refused_and_not_shown(void **state)
{
    (void)state;
    uvhttp_router_t *all = uvhttp_server_router(server);
    assert_int_equal(uvhttp_auth_use(all, &(uvhttp_auth_options_t){.token = "my secret"}),
                     UVHTTP_ECONFIG);
    const uvhttp_error_t *error = uvhttp_server_error(server);
    assert_string_equal(error->field, "token");
    assert_null(strstr(error->text, "secret"));
    assert_int_equal(uvhttp_auth_use(all, &(uvhttp_auth_options_t){.token = ""}), UVHTTP_ECONFIG);
}

static void count_release(void *arg)
{
    *(int *)arg += 1;
}

static int pass(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)res, (void)arg;
    return UVHTTP_DECLINED;
}

static void owned_middleware_is_released_once(void **state)
{
    (void)state;
    uvhttp_router_t *all = uvhttp_server_router(server);
    assert_int_equal(uvhttp_router_use_owned(all, pass, &released, count_release), 0);
    assert_int_equal(released, 0);
    assert_int_equal(uvhttp_router_use_owned(all, NULL, &released, count_release), UVHTTP_EINVAL);
    assert_int_equal(released, 1); /* of the call that has failed */
    uvhttp_server_free(server);
    server = NULL;
    assert_int_equal(released, 2);
}

/* ---- the configuration, and the first error ---- */

static void numbers_are_set_before_the_server_listens(void **state)
{
    (void)state;
    assert_int_equal(uvhttp_server_set(server, "max_body_size", "2"), 0);
    assert_int_equal(uvhttp_server_set(server, "no_such_name", "2"), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_set(server, "max_connections", "x"), UVHTTP_ECONFIG);
    assert_string_equal(uvhttp_server_error(server)->field, "max_connections");
    assert_int_equal(uvhttp_server_route(server, "POST", "/", show_user, NULL), 0);
    request(&(uvhttp_test_request_t){.body = "abc", .body_size = 3});
    assert_int_equal(response->status, 413);
    assert_int_equal(uvhttp_server_set(server, "max_body_size", "3"), UVHTTP_EFROZEN);
    assert_string_equal(uvhttp_server_error(server)->text,
                        "settings must be set before the server listens");
}

static void main_reports_the_first_error(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int port;
    } rows[] = {{"wrong name", 0}, {"max_body_size", 65536}};
    for (size_t i = 0; i < 2; i++) {
        char line[256] = "";
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        int errors = dup(STDERR_FILENO);
        dup2(ends[1], STDERR_FILENO);
        uvhttp_server_t *failing = uvhttp_server_new(NULL);
        uvhttp_server_set(failing, rows[i].name, "1");
        uvhttp_server_route(failing, "GET", "/", show_user, NULL); /* succeeds */
        int status = uvhttp_server_main(failing, "127.0.0.1", rows[i].port);
        dup2(errors, STDERR_FILENO);
        close(errors);
        close(ends[1]);
        assert_true(read(ends[0], line, sizeof(line) - 1) > 0);
        close(ends[0]);
        assert_int_equal(status, 1);
        assert_non_null(strstr(line, i == 0 ? "wrong name" : "65536"));
        assert_string_equal(strchr(line, '\n'), "\n");
    }
}

static void first_error_is_kept_for_programs_without_main(void **state)
{
    (void)state;
    const uvhttp_error_t *first = uvhttp_server_first_error(server);
    assert_int_equal(first->code, 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "bad", show_user, NULL), UVHTTP_EROUTE);
    assert_int_equal(uvhttp_server_use(server, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(uvhttp_server_error(server)->code, 0);
    assert_int_equal(first->code, UVHTTP_EROUTE);
    assert_string_equal(first->value, "bad");
}

static void ignore_signal(uvhttp_server_t *running, int number, void *arg)
{
    (void)running, (void)number, (void)arg;
}

static void stop_now(uvhttp_server_t *running, void *arg)
{
    (void)arg;
    uvhttp_server_stop(running);
}

static void main_runs_until_the_server_has_stopped(void **state)
{
    (void)state;
    static const char *const addresses[] = {"127.0.0.1", "*"};
    for (size_t i = 0; i < 2; i++) {
        uvhttp_server_t *running = uvhttp_server_new(NULL);
        uvhttp_server_own(running, count_release, &released);
        uvhttp_server_after(running, 0, stop_now, NULL, NULL);
        assert_int_equal(uvhttp_server_main(running, addresses[i], 0), 0);
    }
    assert_int_equal(released, 2);
}

static char directory[64];

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void failed_timers_and_signals_are_errors_of_set_up(void **state)
{
    (void)state;
    const uvhttp_error_t *error = uvhttp_server_error(server);
    assert_int_equal(uvhttp_server_every(server, 0, stop_now, NULL, NULL), UVHTTP_EINVAL);
    assert_string_equal(error->text, "interval is 0; allowed are 1 to 4294967295 milliseconds");
    assert_string_equal(error->field, "interval");
    assert_int_equal(uvhttp_server_after(server, 0, stop_now, NULL, NULL), 0);
    assert_int_equal(error->code, 0);
    assert_int_equal(uvhttp_server_after(server, 0, NULL, NULL, NULL), UVHTTP_EINVAL);
    assert_string_equal(error->text, "a timer or signal requires a function");
    assert_int_equal(uvhttp_server_on_signal(server, 9, ignore_signal, NULL), UV_EINVAL);
    assert_string_equal(error->text, "signal 9 cannot be caught");
    assert_string_equal(error->value, "9");
    assert_int_equal(uvhttp_server_on_signal(server, 999, ignore_signal, NULL), UV_EINVAL);
    assert_string_equal(error->text, "there is no signal 999");
    assert_int_equal(uvhttp_server_main(server, "127.0.0.1", 0), 1); /* by the first of them */
    server = NULL;
}

static void fail_timers(uvhttp_server_t *stopped, void *arg)
{
    int *results = arg;
    results[0] = uvhttp_server_after(stopped, 1, stop_now, NULL, NULL);
    results[1] = uvhttp_server_on_signal(stopped, 10, ignore_signal, NULL);
}

static void fail_running_timer(uvhttp_server_t *running, void *arg)
{
    int *results = arg;
    results[2] = uvhttp_server_every(running, 0, stop_now, NULL, NULL);
    uvhttp_server_stop(running);
}

static void timers_that_fail_later_are_no_errors_of_set_up(void **state)
{
    int results[3] = {0};
    (void)state;
    uvhttp_server_on_stopped(server, fail_timers, results);
    uvhttp_server_after(server, 0, fail_running_timer, results, NULL);
    assert_int_equal(uvhttp_server_main(server, "127.0.0.1", 0), 0);
    server = NULL;
    assert_int_equal(results[0], UVHTTP_ESTOPPED);
    assert_int_equal(results[1], UVHTTP_ESTOPPED);
    assert_int_equal(results[2], UVHTTP_EINVAL);
}

/* What uvhttp_server_main prints until the server stops; static. */
static const char *output_of_main(uvhttp_server_t *running, const char *address)
{
    static char text[1024];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    uvhttp_server_after(running, 0, stop_now, NULL, NULL);
    int status = uvhttp_server_main(running, address, 0);
    dup2(before, STDOUT_FILENO);
    close(before);
    ssize_t length = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    text[length < 0 ? 0 : length] = '\0';
    assert_int_equal(status, 0);
    return text;
}

static void main_prints_a_line_for_each_listener(void **state)
{
    (void)state;
    char expected[512];
    uvhttp_server_t *running = uvhttp_server_new(NULL);
    char socket[128];
    snprintf(socket, sizeof(socket), "%s", path_of("a\nb"));
    assert_int_equal(uvhttp_server_listen(running, "127.0.0.1", 0), 0);
    assert_int_equal(uvhttp_server_listen_unix(running, socket, 0600), 0);
    int port = uvhttp_server_port(running);
    assert_int_equal(uvhttp_server_listen(running, "0.0.0.0", 0), 0);
    snprintf(expected, sizeof(expected),
             "listening on http://127.0.0.1:%d/\nlistening on unix:%s/a?b\n"
             "listening on http://localhost:%d/\n",
             port, directory, uvhttp_server_last_port(running));
    assert_string_equal(output_of_main(running, NULL), expected);
}

static void main_prints_address_that_was_given(void **state)
{
    (void)state;
    static const struct {
        const char *address, *start;
    } rows[] = {{"127.0.0.2", "listening on http://127.0.0.2:"},
                {"*", "listening on http://localhost:"}};
    for (size_t i = 0; i < 2; i++) {
        const char *text = output_of_main(uvhttp_server_new(NULL), rows[i].address);
        assert_memory_equal(text, rows[i].start, strlen(rows[i].start));
        assert_string_equal(strchr(text, '\n'), "\n");
    }
}

/* ---- requests ---- */

static int read_numbers(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int64_t number = 5, id = 0, field = 7;
    (void)arg;
    int of_query = uvhttp_request_query_number(req, "n", 1, 100, &number);
    int of_param = uvhttp_request_param_number(req, "id", 1, INT64_MAX, &id);
    int of_form = uvhttp_request_form_number(req, "f", -9, 9, &field);
    char text[128];
    snprintf(text, sizeof(text), "%d %d %d %d %d %d", of_query == 0, (int)number, of_param == 0,
             (int)id, of_form == 0, (int)field);
    return uvhttp_response_send_text(res, 200, text);
}

static void numbers_of_requests_have_ranges_and_defaults(void **state)
{
    (void)state;
    uvhttp_server_route(server, NULL, "/:id", read_numbers, NULL);
    static const struct {
        const char *target, *form, *text;
    } rows[] = {
        {"/1", NULL, "1 5 1 1 1 7"},          {"/12?n=100", "f=-9", "1 100 1 12 1 -9"},
        {"/x?n=101", "f=", "0 5 0 0 0 7"},    {"/0?n=&n=3", "f=10", "0 5 0 0 0 7"},
        {"/%31?n=%31", "g=1", "1 1 1 1 1 7"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *form = rows[i].form;
        request(&(uvhttp_test_request_t){
            .target = rows[i].target,
            .body = form,
            .body_size = form == NULL ? 0 : strlen(form),
            UVHTTP_TEST_HEADERS("Content-Type: application/x-www-form-urlencoded")});
        assert_string_equal(response->body, rows[i].text);
    }
}

static int echo_text(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *text = uvhttp_request_body_text(req);
    (void)arg;
    assert_ptr_equal(uvhttp_request_body_text(req), text); /* copied once */
    return uvhttp_response_send_text(res, text == NULL ? 400 : 200, text == NULL ? "" : text);
}

static void body_is_text_unless_it_has_nul_or_other_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t size;
        int status;
    } rows[] = {{"", 0, 200},     {"abc", 3, 200},   {"gr\xc3\xbc", 4, 200},
                {"a\0b", 3, 400}, {"a\xff", 2, 400}, {"\xc3", 1, 400}};
    uvhttp_server_route(server, "POST", "/", echo_text, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        request(&(uvhttp_test_request_t){
            .method = "POST", .body = rows[i].body, .body_size = rows[i].size});
        assert_int_equal(response->status, rows[i].status);
        if (response->status == 200)
            assert_string_equal(response->body, rows[i].body);
    }
}

/* ---- the test client ---- */

static int never_respond(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)res, (void)arg;
    return 0;
}

static void test_client_has_a_time_limit(void **state)
{
    (void)state;
    uvhttp_server_route(server, "GET", "/never", never_respond, NULL);
    uvhttp_server_route(server, "GET", "/", show_user, NULL);
    uvhttp_test_request_t sent = {.target = "/never", .timeout_ms = 1};
    assert_int_equal(uvhttp_test_request(server, &sent, &response), UV_ETIMEDOUT);
    assert_null(response);
    request(&(uvhttp_test_request_t){.timeout_ms = UVHTTP_NEVER}); /* the server works as before */
    assert_int_equal(response->status, 200);
    assert_int_equal(uvhttp_server_stats(server)->aborted_exchanges, 1);
}

/* ---- events and uploads ---- */

static void hub_is_a_handler(void **state)
{
    (void)state;
    uvhttp_event_hub_t *hub;
    assert_int_equal(uvhttp_event_hub_new(&hub, &(uvhttp_event_hub_options_t){.keep = 1}, NULL), 0);
    uvhttp_server_own(server, uvhttp_event_hub_free, hub);
    uvhttp_server_route(server, "GET", "/", uvhttp_event_hub_handle_request, hub);
    const uvhttp_sse_event_t event = {.data = uvhttp_slice_of("hello")};
    assert_int_equal(uvhttp_event_hub_publish(hub, &event), 0);
    request(&(uvhttp_test_request_t){.stop_after = 10, UVHTTP_TEST_HEADERS("Last-Event-ID: 0")});
    assert_non_null(strstr(response->body, "id: "));
}

static int make_directory(void **state)
{
    snprintf(directory, sizeof(directory), "/tmp/uvhttp-set-up-XXXXXX");
    return mkdtemp(directory) == NULL ? -1 : set_up(state);
}

static int remove_directory(void **state)
{
    (void)unlink(path_of("new/file"));
    (void)rmdir(path_of("new"));
    (void)unlink(path_of("file"));
    int err = rmdir(directory); /* fails if a part is left */
    tear_down(state);
    return err;
}

static int store(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)res;
    const uvhttp_upload_options_t options = {.create_directory = true, .sync = true};
    return uvhttp_upload_to_file(req, arg, "file", &options, NULL, NULL);
}

static void upload_creates_its_directory(void **state)
{
    (void)state;
    char first[128], deeper[128];
    snprintf(first, sizeof(first), "%s", path_of("new"));
    snprintf(deeper, sizeof(deeper), "%s", path_of("absent/new"));
    uvhttp_router_t *all = uvhttp_server_router(server);
    uvhttp_router_add(all, &(uvhttp_route_t){.pattern = "/first",
                                             .handler = store,
                                             .arg = first,
                                             .flags = UVHTTP_ROUTE_STREAM});
    uvhttp_router_add(all, &(uvhttp_route_t){.pattern = "/deeper",
                                             .handler = store,
                                             .arg = deeper,
                                             .flags = UVHTTP_ROUTE_STREAM});
    static const int statuses[] = {201, 204};
    for (size_t i = 0; i < 2; i++) {
        request(&(uvhttp_test_request_t){.target = "/first", .body = "abc", .body_size = 3});
        assert_int_equal(response->status, statuses[i]);
    }
    assert_int_equal(access(path_of("new/file"), R_OK), 0);
    request(&(uvhttp_test_request_t){.target = "/deeper", .body = "abc", .body_size = 3});
    assert_int_equal(response->status, 500); /* parents are not created */
}

/* ---- files of the application ---- */

static void saved_file_is_loaded_again(void **state)
{
    (void)state;
    char *data;
    size_t size;
    struct stat facts;
    char file[128];
    snprintf(file, sizeof(file), "%s", path_of("file"));
    assert_int_equal(uvhttp_file_load(file, &data, &size), UV_ENOENT);
    assert_null(data);
    assert_int_equal(uvhttp_file_save(file, "a\0bc", 4, 0600), 0);
    assert_int_equal(stat(file, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(uvhttp_file_load(file, &data, &size), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(data, "a\0bc", 5); /* and a NUL */
    uvhttp_file_release(data);
    assert_int_equal(uvhttp_file_save(file, NULL, 0, 0), 0); /* replaces it */
    assert_int_equal(uvhttp_file_load(file, &data, &size), 0);
    assert_int_equal(size, 0);
    assert_string_equal(data, "");
    uvhttp_file_release(data);
}

static void file_that_cannot_be_saved_is_unchanged(void **state)
{
    (void)state;
    char *data;
    assert_int_equal(uvhttp_file_save(path_of("absent/file"), "a", 1, 0), UV_ENOENT);
    assert_int_equal(uvhttp_file_save(path_of(""), "a", 1, 0), UVHTTP_EINVAL);
    assert_int_equal(mkdir(path_of("new"), 0700), 0);
    assert_int_equal(uvhttp_file_save(path_of("new"), "a", 1, 0), UV_EISDIR);
    assert_int_equal(uvhttp_file_load(path_of("new"), &data, NULL), UVHTTP_ENOTREG);
}

static void relative_path_is_saved(void **state)
{
    (void)state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(directory), 0);
    assert_int_equal(uvhttp_file_save("file", "a", 1, 0), 0);
    assert_int_equal(access("file", R_OK), 0);
    assert_int_equal(chdir(before), 0);
}

#define WITH_SERVER(test)    cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(middleware_of_one_call_is_used_and_owned),
        WITH_SERVER(one_token_needs_no_callback),
        WITH_SERVER(invalid_token_is_refused_and_not_shown),
        WITH_SERVER(owned_middleware_is_released_once),
        WITH_SERVER(numbers_are_set_before_the_server_listens),
        WITH_SERVER(main_reports_the_first_error),
        WITH_SERVER(main_runs_until_the_server_has_stopped),
        WITH_SERVER(first_error_is_kept_for_programs_without_main),
        WITH_SERVER(failed_timers_and_signals_are_errors_of_set_up),
        WITH_SERVER(timers_that_fail_later_are_no_errors_of_set_up),
        WITH_DIRECTORY(main_prints_a_line_for_each_listener),
        WITH_SERVER(main_prints_address_that_was_given),
        WITH_SERVER(numbers_of_requests_have_ranges_and_defaults),
        WITH_SERVER(body_is_text_unless_it_has_nul_or_other_bytes),
        WITH_SERVER(test_client_has_a_time_limit),
        WITH_SERVER(hub_is_a_handler),
        WITH_DIRECTORY(upload_creates_its_directory),
        WITH_DIRECTORY(saved_file_is_loaded_again),
        WITH_DIRECTORY(file_that_cannot_be_saved_is_unchanged),
        WITH_DIRECTORY(relative_path_is_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
