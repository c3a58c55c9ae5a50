/* middleware/passwords.c: refused options, password files, and every allocation failing in turn, in
 * the constructor and in a request. */
#include <uvhttp.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/password.h"
#include "support/fault_heap.h"
#include "support/raw_client.h"
#include "support/stage.h"

/* The hash of "secret" with the lowest cost. */
static const char hash[] = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
static const uvhttp_hashed_user_t ann = {"ann", hash};

static void refuse(uvhttp_passwords_options_t config, const char *expected)
{
    uvhttp_error_t error;
    uvhttp_passwords_t *passwords;
    assert_int_equal(uvhttp_passwords_new(&passwords, &config, &error), UVHTTP_ECONFIG);
    assert_null(passwords);
    assert_string_equal(error.text, expected);
    assert_int_equal(uvhttp_passwords_new(&passwords, &config, NULL), UVHTTP_ECONFIG);
}

static void refuse_user(const char *name, const char *user_hash, const char *expected)
{
    const uvhttp_hashed_user_t user = {name, user_hash};
    refuse((uvhttp_passwords_options_t){.users = &user, .user_count = 1}, expected);
}

static void invalid_options_are_refused(void **state)
{
    (void)state;
    static const char name[] =
        "users is \"(not shown)\"; must be NAME:HASH, without control characters in NAME";
    static const char unsupported[] =
        "users is \"ann\"; unsupported hash; use one of htpasswd -B or mkpasswd";
    const uvhttp_hashed_user_t twice[] = {ann, ann};
    uvhttp_passwords_t *passwords;
    refuse_user(NULL, hash, name);
    refuse_user("", hash, name);
    refuse_user("a:b", hash, name);
    refuse_user("a\nb", hash, name);
    refuse_user("ann", NULL, unsupported);
    refuse_user("ann", "", unsupported);
    refuse_user("ann", "secret", unsupported);
    refuse_user("ann", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", unsupported);
    refuse((uvhttp_passwords_options_t){.users = twice, .user_count = 2},
           "users is \"ann\"; the user is listed twice");
    refuse((uvhttp_passwords_options_t){.users = NULL},
           "users is \"\"; no request can pass: set users, or a file that contains users");
    refuse((uvhttp_passwords_options_t){.file = "/nowhere/at all"},
           "file is \"/nowhere/at all\"; the file cannot be opened");
    refuse((uvhttp_passwords_options_t){.file = "/"}, "file is \"/\"; the file cannot be read");
    refuse((uvhttp_passwords_options_t){.users = &ann, .user_count = 1, .remember_ms = 86400001},
           "remember_ms is 86400001; allowed are 0 to 86400000 milliseconds");
    assert_int_equal(uvhttp_passwords_new(&passwords, NULL, NULL), UVHTTP_EINVAL);
    uvhttp_passwords_free(NULL);
}

static void users_without_count_are_refused(void **state)
{
    (void)state;
    uvhttp_passwords_t *created;
    uvhttp_error_t error;
    const uvhttp_passwords_options_t no_count = {.users = &ann, .file = "/dev/null"};
    assert_int_equal(uvhttp_passwords_new(&created, &no_count, &error), UVHTTP_EINVAL);
    assert_null(created);
    assert_string_equal(error.text, "users is set and its count is 0");
    const uvhttp_passwords_options_t no_users = {.user_count = 1};
    assert_int_equal(uvhttp_passwords_new(&created, &no_users, &error), UVHTTP_EINVAL);
    assert_string_equal(error.text, "users is NULL and its count is 1");
    assert_int_equal(uvhttp_passwords_new(&created, &no_users, NULL), UVHTTP_EINVAL);
    const uvhttp_passwords_options_t both = {UVHTTP_HASHED_USERS({"ann", "$2b$"}, {"bob", "$2b$"})};
    assert_int_equal(both.user_count, 2);
    assert_string_equal(both.users[1].name, "bob");
}

static void hashes_are_verified(void **state)
{
    (void)state;
    struct fault_heap heap;
    fault_heap_init(&heap);
    assert_int_equal(uvh_password_verify(&heap.allocator, hash, "secret"), 1);
    assert_int_equal(uvh_password_verify(&heap.allocator, hash, "secreu"), 0);
    assert_int_equal(uvh_password_verify(&heap.allocator, hash, ""), 0);
    assert_int_equal(uvh_password_verify(&heap.allocator, "$2b$04$", "secret"), 0);
    assert_int_equal(uvh_password_verify(&heap.allocator, "*0", "secret"), 0);
    assert_int_equal(uvh_password_verify(&heap.allocator, "*1", "secret"), 0);
    char longest[2000];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(uvh_password_verify(&heap.allocator, hash, longest), 0);
    fault_heap_arm(&heap, 1, false);
    assert_int_equal(uvh_password_verify(&heap.allocator, hash, "secret"), UVHTTP_ENOMEM);
    assert_int_equal(heap.live, 0);
}

static void new_fails_without_memory(void **state)
{
    (void)state;
    struct fault_heap heap;
    uvhttp_passwords_t *passwords;
    const uvhttp_passwords_options_t config = {
        .users = &ann, .user_count = 1, .allocator = &heap.allocator};
    size_t failed = 0;
    fault_heap_init(&heap);
    for (;; failed++) {
        fault_heap_arm(&heap, failed + 1, false);
        int err = uvhttp_passwords_new(&passwords, &config, NULL);
        if (err == 0)
            break;
        assert_int_equal(err, UVHTTP_ENOMEM);
        assert_null(passwords);
        assert_int_equal(heap.live, 0);
    }
    assert_int_equal(failed, 4);
    uvhttp_passwords_free(passwords);
    assert_int_equal(heap.live, 0);
}

static int hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(response, 200, uvhttp_auth_user(request));
}

static int send_request(struct stage *stage, struct raw_client *client, size_t *offset,
                        const char *basic)
{
    char request[256];
    struct raw_response reply;
    snprintf(request, sizeof(request),
             "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic %s\r\n\r\n", basic);
    raw_client_send_text(client, request);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        raw_client_step(client, 10000);
        if (raw_client_response(client, offset, false, &reply))
            return reply.status;
        stage_wait(stage);
    }
    fail_msg("no response");
    return 0;
}

/* An allocation of the passwords fails during a request: 503, and the next one is served. */
static void hash_without_memory_gets_503(void **state)
{
    (void)state;
    struct stage stage;
    struct raw_client client;
    struct fault_heap heap;
    uvhttp_passwords_t *passwords;
    uvhttp_auth_t *auth;
    size_t offset = 0;
    fault_heap_init(&heap);
    stage_begin(&stage);
    assert_int_equal(
        uvhttp_passwords_new(&passwords,
                             &(uvhttp_passwords_options_t){
                                 .users = &ann, .user_count = 1, .allocator = &heap.allocator},
                             NULL),
        0);
    assert_int_equal(uvhttp_auth_new(&auth,
                                     &(uvhttp_auth_options_t){.check_basic = uvhttp_passwords_check,
                                                              .arg = passwords},
                                     NULL),
                     0);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_use(stage.server, uvhttp_auth_handle_request, auth), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", hello, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    fault_heap_arm(&heap, 1, false);
    /* ann:secret */
    assert_int_equal(send_request(&stage, &client, &offset, "YW5uOnNlY3JldA=="), 503);
    fault_heap_arm(&heap, 0, false);
    for (int i = 0; i < 6; i++) /* the failed check must be counted as ended */
        /* ann:other */
        assert_int_equal(send_request(&stage, &client, &offset, "YW5uOm90aGVy"), 401);
    size_t calls = heap.calls;
    assert_int_equal(send_request(&stage, &client, &offset, "YW5uOnNlY3JldA=="), 200);
    assert_int_equal(heap.calls, calls + 1);
#if UVHTTP_TESTS_LIBCRYPTO
    assert_int_equal(send_request(&stage, &client, &offset, "YW5uOnNlY3JldA=="), 200);
    assert_int_equal(heap.calls, calls + 1); /* cached: no second hash */
#endif
    raw_client_close(&client, false);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 20);
    uvhttp_auth_free(auth);
    uvhttp_passwords_free(passwords);
    assert_int_equal(heap.live, 0);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_options_are_refused),
        cmocka_unit_test(users_without_count_are_refused),
        cmocka_unit_test(hashes_are_verified),
        cmocka_unit_test(new_fails_without_memory),
        cmocka_unit_test(hash_without_memory_gets_503),
    };
    if (uvh_password_available() != 0) {
        puts("this build has no crypt(3)");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
