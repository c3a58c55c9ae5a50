/* middleware/passwords.c: refused options, password files, the hash computed for unknown names, and
 * every allocation failing in turn, in the constructor and in a request. This program replaces
 * crypt_r. */
#include <uvhttp.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "codec/text/base64.h"
#include "platform/password.h"
#include "support/fault_heap.h"
#include "support/raw_client.h"
#include "support/stage.h"

/* The hash of "secret" with the lowest cost. */
static const char hash[] = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
static const uvhttp_hashed_user_t ann = {"ann", hash};

/* The same by another method. */
static const char other_hash[] =
    "$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2";

static const char *computed_hash; /* the last one given to crypt_r */

struct crypt_data;
char *crypt_r(const char *phrase, const char *setting, struct crypt_data *data);

char *crypt_r(const char *phrase, const char *setting, struct crypt_data *data)
{
    char *(*real)(const char *phrase, const char *setting, struct crypt_data *data);
    *(void **)&real = dlsym(RTLD_NEXT, "crypt_r");
    computed_hash = setting;
    return real(phrase, setting, data);
}

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
        "users is \"(not shown)\"; the name must not be empty or contain a colon or control "
        "characters";
    static const char unsupported[] = "users is \"ann\"; unsupported hash; create one with `uvhttp "
                                      "hash-password`, htpasswd -B or "
                                      "mkpasswd";
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
    refuse((uvhttp_passwords_options_t){.users = NULL}, "no request can pass: set users or a file");
    refuse((uvhttp_passwords_options_t){.file = "/dev/null"},
           "file is \"/dev/null\"; it is not a regular file");
    refuse((uvhttp_passwords_options_t){.file = "/nowhere/at all"},
           "file is \"/nowhere/at all\"; the file cannot be opened: no such file or directory");
    refuse((uvhttp_passwords_options_t){.file = "/"}, "file is \"/\"; it is not a regular file");
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

static void write_file(char path[64], const char *text, size_t length)
{
    snprintf(path, 64, "/tmp/uvhttp-passwords-XXXXXX");
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, length), length);
    close(descriptor);
}

static void longest_line_is_1022_bytes(void **state)
{
    (void)state;
    char path[64], text[3000];
    uvhttp_passwords_t *passwords;
    const uvhttp_passwords_options_t options = {.file = path};
    static const char *const line_ends[] = {"\n", "\r\n"};
    int user;
    for (size_t i = 0; i < 2; i++) {
        memset(text, '#', sizeof(text));
        user = snprintf(text + 1022, sizeof(text) - 1022, "%sann:%s%s", line_ends[i], hash,
                        line_ends[i]);
        write_file(path, text, 1022 + (size_t)user);
        assert_int_equal(uvhttp_passwords_new(&passwords, &options, NULL), 0);
        uvhttp_passwords_free(passwords);
        unlink(path);
    }

    /* The end of the comment would be a valid line. It ends with the file, or with a line end. */
    memset(text, '#', sizeof(text));
    int first = snprintf(text, sizeof(text), "bob:%s\n", hash);
    size_t comment = (size_t)first + 1023;
    text[first] = '#';
    user = snprintf(text + comment, sizeof(text) - comment, "ann:%s\n", hash);
    for (size_t line_end = 0; line_end < 2; line_end++) {
        write_file(path, text, comment + (size_t)user - line_end);
        refuse(options, "file, line 2, is \"(not shown)\"; the line is longer than 1022 bytes");
        unlink(path);
    }
}

/* What follows a NUL would otherwise count as a line of its own. */
static void nul_in_the_file_is_refused(void **state)
{
    (void)state;
    char path[64], text[3000];
    const uvhttp_passwords_options_t options = {.file = path};
    memset(text, '#', sizeof(text));
    text[0] = '\0';
    int user = snprintf(text + 1023, sizeof(text) - 1023, "eve:%s\n", hash);
    write_file(path, text, 1023 + (size_t)user);
    refuse(options, "file, line 1, is \"(not shown)\"; the line contains a NUL byte");
    unlink(path);
}

static void user_of_options_and_file_is_refused_with_its_line(void **state)
{
    (void)state;
    char path[64], text[300];
    int length = snprintf(text, sizeof(text), "bob:%s\nann:%s\n", hash, hash);
    write_file(path, text, (size_t)length);
    refuse((uvhttp_passwords_options_t){.users = &ann, .user_count = 1, .file = path},
           "file, line 2, is \"ann\"; the user is listed twice");
    unlink(path);
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
    assert_int_equal(failed, 8);
    uvhttp_passwords_free(passwords);
    assert_int_equal(heap.live, 0);
}

static int hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(response, 200, uvhttp_auth_user(request));
}

struct site {
    struct stage stage;
    struct raw_client client;
    size_t offset; /* of the next response */
    uvhttp_passwords_t *passwords;
    uvhttp_auth_t *auth;
};

static void begin_site(struct site *site, const uvhttp_passwords_options_t *options)
{
    *site = (struct site){0};
    stage_begin(&site->stage);
    assert_int_equal(uvhttp_passwords_new(&site->passwords, options, NULL), 0);
    const uvhttp_auth_options_t auth = {.check_basic = uvhttp_passwords_check,
                                        .arg = site->passwords};
    assert_int_equal(uvhttp_auth_new(&site->auth, &auth, NULL), 0);
    assert_non_null(stage_new_server(&site->stage));
    assert_int_equal(uvhttp_server_use(site->stage.server, uvhttp_auth_handle_request, site->auth),
                     0);
    assert_int_equal(uvhttp_server_route(site->stage.server, "GET", "/", hello, NULL), 0);
    stage_listen(&site->stage);
    raw_client_connect(&site->client, uvhttp_server_port(site->stage.server), 0);
}

static void end_site(struct site *site)
{
    raw_client_close(&site->client, false);
    uvhttp_server_free(site->stage.server);
    site->stage.server = NULL;
    stage_iterations(&site->stage, 20);
    uvhttp_auth_free(site->auth);
    uvhttp_passwords_free(site->passwords);
}

/* The status of a request with these credentials. */
static int request_as(struct site *site, const char *name, const char *password)
{
    char text[64], basic[100] = "", request[256];
    struct raw_response response;
    int length = snprintf(text, sizeof(text), "%s:%s", name, password);
    uvh_base64_encode(basic, text, (size_t)length, UVH_BASE64_STANDARD);
    snprintf(request, sizeof(request),
             "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic %s\r\n\r\n", basic);
    raw_client_send_text(&site->client, request);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        raw_client_step(&site->client, 10000);
        if (raw_client_response(&site->client, &site->offset, false, &response))
            return response.status;
        stage_wait(&site->stage);
    }
    fail_msg("no response");
    return 0;
}

/* If all unknown names took the time of one hash, a name that takes another time would be known. */
static void unknown_names_use_hashes_of_all_users(void **state)
{
    (void)state;
    const uvhttp_hashed_user_t users[] = {{"ann", hash}, {"bob", other_hash}};
    struct site site;
    size_t counts[2] = {0};
    begin_site(&site, &(uvhttp_passwords_options_t){.users = users, .user_count = 2});
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof(name), "user%d", i);
        assert_int_equal(request_as(&site, name, "secret"), 401);
        bool other = strcmp(computed_hash, other_hash) == 0;
        counts[other]++;
        assert_int_equal(request_as(&site, name, "wrong"), 401);
        assert_int_equal(strcmp(computed_hash, other_hash) == 0, other);
    }
    assert_true(counts[0] > 0 && counts[1] > 0);
    assert_int_equal(request_as(&site, "ann", "secret"), 200);
    assert_string_equal(computed_hash, hash);
    assert_int_equal(request_as(&site, "bob", "secret"), 200);
    assert_string_equal(computed_hash, other_hash);
    end_site(&site);
    stage_end(&site.stage);
}

/* An allocation of the passwords fails during a request: 503, and the next one is served. */
static void hash_without_memory_gets_503(void **state)
{
    (void)state;
    struct site site;
    struct fault_heap heap;
    fault_heap_init(&heap);
    begin_site(&site, &(uvhttp_passwords_options_t){
                          .users = &ann, .user_count = 1, .allocator = &heap.allocator});
    fault_heap_arm(&heap, 1, false);
    assert_int_equal(request_as(&site, "ann", "secret"), 503);
    fault_heap_arm(&heap, 0, false);
    for (int i = 0; i < 6; i++) /* the failed check must be counted as ended */
        assert_int_equal(request_as(&site, "ann", "other"), 401);
    size_t calls = heap.calls;
    assert_int_equal(request_as(&site, "ann", "secret"), 200);
    assert_int_equal(heap.calls, calls + 1);
#if UVHTTP_TESTS_LIBCRYPTO
    assert_int_equal(request_as(&site, "ann", "secret"), 200);
    assert_int_equal(heap.calls, calls + 1); /* cached: no second hash */
#endif
    end_site(&site);
    assert_int_equal(heap.live, 0);
    stage_end(&site.stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_options_are_refused),
        cmocka_unit_test(users_without_count_are_refused),
        cmocka_unit_test(longest_line_is_1022_bytes),
        cmocka_unit_test(nul_in_the_file_is_refused),
        cmocka_unit_test(user_of_options_and_file_is_refused_with_its_line),
        cmocka_unit_test(hashes_are_verified),
        cmocka_unit_test(new_fails_without_memory),
        cmocka_unit_test(unknown_names_use_hashes_of_all_users),
        cmocka_unit_test(hash_without_memory_gets_503),
    };
    if (uvh_password_available() != 0) {
        puts("this build has no crypt(3)");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
