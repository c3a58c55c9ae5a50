/* Signed cookies: vectors of another implementation, every way to damage a signed text, names,
 * expiry, key rotation, refused input, failed allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>
#include <uvhttp/signed_cookie.h>

#include "base/compiler.h"
#include "support/fault_heap.h"
#include "support/stage.h"

static char first_key[32];    /* the bytes 0 to 31 */
static char second_key[1024]; /* "kkk..." */
static uvhttp_cookie_signer_t *signer;
static uvhttp_error_t error;
static char text[8192];
static char out[8192];
static size_t length;

static uvhttp_slice_t slice_of(const char *bytes)
{
    return (uvhttp_slice_t){bytes, strlen(bytes)};
}

static uvhttp_cookie_signer_t *make(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const uvhttp_slice_t keys[] = {
        {a, a_length},
        {b, b_length},
    };
    uvhttp_cookie_signer_t *created;
    const uvhttp_cookie_signer_options_t config = {.keys = keys, .key_count = b == NULL ? 1 : 2};
    assert_int_equal(uvhttp_cookie_signer_new(&created, &config, &error), 0);
    return created;
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(first_key); i++)
        first_key[i] = (char)i;
    memset(second_key, 'k', sizeof(second_key));
    signer = make(first_key, sizeof(first_key), NULL, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvhttp_cookie_signer_free(signer);
    return 0;
}

static const char *sign(const char *name, const char *value, int64_t expires)
{
    assert_int_equal(
        uvhttp_cookie_sign(signer, name, slice_of(value), expires, text, sizeof(text), &length), 0);
    assert_int_equal(strlen(text), length);
    assert_true(length < UVHTTP_SIGNED_SIZE(strlen(value)));
    return text;
}

static int verify(const char *name, const char *signed_text, int64_t now)
{
    return uvhttp_cookie_verify(signer, name, slice_of(signed_text), now, out, sizeof(out),
                                &length);
}

/* Computed with hmac, hashlib and base64 of Python:
 *
 *     data = struct.pack(">q", expires) + value
 *     code = hmac.new(key, b"uvhttp-cookie-1\0" + name + b"\0" + data, hashlib.sha256).digest()
 *     base64.urlsafe_b64encode(data + code).rstrip(b"=") */
static void signatures_match_python_hmac(void **state)
{
    (void)state;
    assert_string_equal(sign("session", "user=17", 2000000000),
                        "AAAAAHc1lAB1c2VyPTE3yTYE0d76-K_wvWuWdb5aMZp8bTT9s6B7RCflaiV-1lA");
    assert_string_equal(sign("a", "", 0), "AAAAAAAAAAB4kkWyN_Gc2GjixVo1D8R_vUHaYo6akqFr1ojvem4D4A");
    uvhttp_cookie_signer_t *other = make(second_key, sizeof(second_key), NULL, 0);
    const uvhttp_slice_t bytes = {"\0\xff\xfb\n", 4};
    assert_int_equal(uvhttp_cookie_sign(other, "__Host-x", bytes, 1, text, sizeof(text), &length),
                     0);
    assert_string_equal(text, "AAAAAAAAAAEA__sKeiITWImpNhLvgLq2hd-xzm41jVCkFmWo73dpEgGBF9Y");
    assert_int_equal(
        uvhttp_cookie_verify(other, "__Host-x", slice_of(text), 0, out, sizeof(out), &length), 0);
    assert_int_equal(length, 4);
    assert_memory_equal(out, "\0\xff\xfb\n", 5);
    uvhttp_cookie_signer_free(other);
}

static void signed_value_is_verified(void **state)
{
    (void)state;
    static char value[4097];
    for (size_t size = 0; size <= 4096; size = size < 70 ? size + 1 : size * 2 - 10) {
        memset(value, 'v', size);
        value[size] = '\0';
        sign("name", value, 0);
        assert_int_equal(verify("name", text, INT64_MAX), 0);
        assert_int_equal(length, size);
        assert_string_equal(out, value);
    }
}

static void damaged_signed_text_is_refused(void **state)
{
    (void)state;
    static char damaged[sizeof(text) + 3];
    sign("name", "value", 100);
    size_t whole = length;
    for (size_t i = 0; i < whole; i++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(damaged, text, whole);
            damaged[i] = (char)byte;
            int expected = damaged[i] == text[i] ? 0 : UVHTTP_ESIGNATURE;
            assert_int_equal(uvhttp_cookie_verify(signer, "name", (uvhttp_slice_t){damaged, whole},
                                                  0, out, sizeof(out), &length),
                             expected);
            assert_int_equal(length, expected == 0 ? 5 : 0);
        }
    }
    for (size_t cut = 0; cut < whole; cut++) {
        assert_int_equal(uvhttp_cookie_verify(signer, "name", (uvhttp_slice_t){text, cut}, 0, out,
                                              sizeof(out), &length),
                         UVHTTP_ESIGNATURE);
    }
    snprintf(damaged, sizeof(damaged), "%sA", text);
    assert_int_equal(verify("name", damaged, 0), UVHTTP_ESIGNATURE);
    snprintf(damaged, sizeof(damaged), "%s=", text);
    assert_int_equal(verify("name", damaged, 0), UVHTTP_ESIGNATURE);
    snprintf(damaged, sizeof(damaged), "\"%s\"", text);
    assert_int_equal(verify("name", damaged, 0), UVHTTP_ESIGNATURE);
    memset(text, 'A', 7000); /* longer than any signed text */
    text[7000] = '\0';
    assert_int_equal(verify("name", text, 0), UVHTTP_ESIGNATURE);
}

static void signature_covers_cookie_name(void **state)
{
    (void)state;
    sign("user", "17", 0);
    assert_int_equal(verify("user", text, 0), 0);
    assert_int_equal(verify("use", text, 0), UVHTTP_ESIGNATURE);
    assert_int_equal(verify("user2", text, 0), UVHTTP_ESIGNATURE);
    assert_int_equal(verify("User", text, 0), UVHTTP_ESIGNATURE);
    assert_int_equal(verify("", text, 0), UVHTTP_EINVAL);
    assert_int_equal(verify(NULL, text, 0), UVHTTP_EINVAL);
}

static void signed_cookie_expires_at_its_second(void **state)
{
    (void)state;
    sign("name", "v", 1000);
    assert_int_equal(verify("name", text, 999), 0);
    assert_int_equal(verify("name", text, 1000), UVHTTP_EEXPIRED);
    assert_int_equal(length, 0);
    assert_int_equal(verify("name", text, INT64_MAX), UVHTTP_EEXPIRED);
    assert_int_equal(verify("other", text, INT64_MAX),
                     UVHTTP_ESIGNATURE); /* an invalid signature hides the expiry */
}

static void all_keys_verify_and_first_signs(void **state)
{
    (void)state;
    static char old_text[sizeof(text)];
    snprintf(old_text, sizeof(old_text), "%s", sign("name", "v", 0));
    uvhttp_cookie_signer_t *rotated = make(second_key, 40, first_key, sizeof(first_key));
    uvhttp_cookie_signer_t *renewed = make(second_key, 40, NULL, 0);
    assert_int_equal(
        uvhttp_cookie_verify(rotated, "name", slice_of(old_text), 0, out, sizeof(out), &length), 0);
    assert_int_equal(
        uvhttp_cookie_verify(renewed, "name", slice_of(old_text), 0, out, sizeof(out), &length),
        UVHTTP_ESIGNATURE);
    assert_int_equal(
        uvhttp_cookie_sign(rotated, "name", slice_of("v"), 0, text, sizeof(text), &length), 0);
    assert_int_equal(
        uvhttp_cookie_verify(renewed, "name", slice_of(text), 0, out, sizeof(out), &length), 0);
    assert_int_equal(verify("name", text, 0), UVHTTP_ESIGNATURE);
    uvhttp_cookie_signer_free(rotated);
    uvhttp_cookie_signer_free(renewed);
}

static void too_large_input_is_refused(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'n', sizeof(name));
    name[257] = '\0';
    assert_int_equal(uvhttp_cookie_sign(signer, name, slice_of(""), 0, text, sizeof(text), &length),
                     UVHTTP_EINVAL);
    assert_int_equal(verify(name, text, 0), UVHTTP_EINVAL);
    name[256] = '\0';
    assert_int_equal(verify(name, sign(name, "v", 0), 0), 0);
    const uvhttp_slice_t large = {second_key, 4097};
    assert_int_equal(uvhttp_cookie_sign(signer, "n", large, 0, text, sizeof(text), &length),
                     UVHTTP_EINVAL);
    assert_int_equal(
        uvhttp_cookie_sign(signer, "n", slice_of("v"), -1, text, sizeof(text), &length),
        UVHTTP_EINVAL);
    assert_int_equal(
        uvhttp_cookie_sign(signer, "n", slice_of("v"), 0, text, UVHTTP_SIGNED_SIZE(1) - 1, &length),
        UVHTTP_EINVAL);
    assert_int_equal(
        uvhttp_cookie_sign(signer, "n", slice_of("v"), 0, text, UVHTTP_SIGNED_SIZE(1), &length), 0);
    size_t whole = strlen(text);
    assert_int_equal(uvhttp_cookie_verify(signer, "n", slice_of(text), 0, out, whole, &length),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_cookie_verify(signer, "n", slice_of(text), 0, out, whole + 1, &length),
                     0);
}

static void invalid_options_are_named_in_error(void **state)
{
    (void)state;
    const uvhttp_slice_t keys[] = {
        {first_key, 32},
        {second_key, 31},
        {second_key, 1025},
    };
    static const struct {
        size_t first, count;
        const char *message;
    } cases[] = {
        {0, 0, "key_count is 0; allowed are 1 to 16 keys"},
        {0, 17, "key_count is 17; allowed are 1 to 16 keys"},
        {0, 2, "keys[1].length is 31; allowed are 32 to 1024 bytes"},
        {2, 1, "keys[0].length is 1025; allowed are 32 to 1024 bytes"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        uvhttp_cookie_signer_t *created = signer;
        const uvhttp_cookie_signer_options_t config = {.keys = keys + cases[i].first,
                                                       .key_count = cases[i].count};
        assert_int_equal(uvhttp_cookie_signer_new(&created, &config, &error), UVHTTP_ECONFIG);
        assert_null(created);
        assert_string_equal(error.text, cases[i].message);
        assert_int_equal(uvhttp_cookie_signer_new(&created, &config, NULL), UVHTTP_ECONFIG);
    }
}

static void keys_without_count_are_refused(void **state)
{
    (void)state;
    uvhttp_cookie_signer_t *created;
    const uvhttp_cookie_signer_options_t none = {.key_count = 1};
    assert_int_equal(uvhttp_cookie_signer_new(&created, &none, &error), UVHTTP_EINVAL);
    assert_string_equal(error.text, "keys is NULL and its count is 1");
    const uvhttp_cookie_signer_options_t both = {
        UVHTTP_SIGNING_KEYS({first_key, 32}, {second_key, 32})};
    assert_int_equal(both.key_count, 2);
    assert_ptr_equal(both.keys[1].base, second_key);
    assert_int_equal(uvhttp_cookie_signer_new(&created, &both, &error), 0);
    uvhttp_cookie_signer_free(created);
}

static void new_fails_without_memory(void **state)
{
    (void)state;
    struct fault_heap heap;
    const uvhttp_slice_t key = {first_key, 32};
    uvhttp_cookie_signer_t *created;
    fault_heap_init(&heap);
    const uvhttp_cookie_signer_options_t config = {
        .keys = &key, .key_count = 1, .allocator = &heap.allocator};
    fault_heap_arm(&heap, 1, false);
    assert_int_equal(uvhttp_cookie_signer_new(&created, &config, &error), UVHTTP_ENOMEM);
    assert_null(created);
    assert_int_equal(uvhttp_cookie_signer_new(&created, &config, &error), 0);
    uvhttp_cookie_signer_free(created);
    assert_int_equal(atomic_load(&heap.live), 0);
    uvhttp_cookie_signer_free(NULL);
}

/* ---- on a server ---- */

static int64_t now_ms;

static int64_t read_clock(void *arg)
{
    (void)arg;
    return now_ms;
}

static int set_cookie(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const uvhttp_cookie_t cookie = {.name = "user", .value = "ada", .max_age = 60};
    (void)request;
    (void)arg;
    assert_int_equal(uvhttp_response_set_signed_cookie(response, signer, &cookie), 0);
    return uvhttp_response_send_status(response, 204);
}

static int check_cookie(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_slice_t user;
    (void)arg;
    int err = uvhttp_request_signed_cookie(request, signer, "user", &user);
    return uvhttp_response_send_status(response, err == 0                 ? 200
                                                 : err == UVHTTP_EEXPIRED ? 401
                                                                          : 500);
}

static void server_clock_decides_cookie_expiry(void **state)
{
    (void)state;
    static const struct {
        int64_t later_ms;
        int status;
    } cases[] = {
        {0, 200},
        {59999, 200},
        {60000, 401},
    };
    struct stage stage;
    struct raw_client client;
    struct raw_response reply;
    size_t offset = 0;
    char field[256], request_text[320];
    stage_begin(&stage);
    stage.config->clock = read_clock;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/give", set_cookie, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/know", check_cookie, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    int64_t set_ms = now_ms = 784111777000; /* in 1994 */
    raw_client_send_text(&client, "GET /give HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &reply));
    assert_true(raw_response_field(&reply, "Set-Cookie", field, sizeof(field)));
    snprintf(request_text, sizeof(request_text),
             "GET /know HTTP/1.1\r\nHost: h\r\nCookie: %.*s\r\n\r\n", (int)strcspn(field, ";"),
             field);
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        now_ms = set_ms + cases[i].later_ms;
        raw_client_send_text(&client, request_text);
        assert_int_equal(stage_drive_responses(&stage, &client, 1000, i + 2), i + 2);
        assert_true(raw_client_response(&client, &offset, false, &reply));
        assert_int_equal(reply.status, cases[i].status);
    }
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void signer_without_openssl_is_unsupported(void **state)
{
    (void)state;
    const uvhttp_slice_t key = {first_key, 32};
    uvhttp_cookie_signer_t *created;
    const uvhttp_cookie_signer_options_t config = {.keys = &key, .key_count = 1};
    assert_int_equal(uvhttp_cookie_signer_new(&created, &config, &error), UVHTTP_ENOTSUP);
    assert_null(created);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_match_python_hmac),
        cmocka_unit_test(signed_value_is_verified),
        cmocka_unit_test(damaged_signed_text_is_refused),
        cmocka_unit_test(signature_covers_cookie_name),
        cmocka_unit_test(signed_cookie_expires_at_its_second),
        cmocka_unit_test(all_keys_verify_and_first_signs),
        cmocka_unit_test(too_large_input_is_refused),
        cmocka_unit_test(invalid_options_are_named_in_error),
        cmocka_unit_test(keys_without_count_are_refused),
        cmocka_unit_test(new_fails_without_memory),
        cmocka_unit_test(server_clock_decides_cookie_expiry),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(signer_without_openssl_is_unsupported)};
    if (!UVHTTP_TESTS_LIBCRYPTO)
        return cmocka_run_group_tests(without, NULL, NULL);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
