/* Users with hashed passwords, as created by `uvhttp hash-password`, `htpasswd -B` and mkpasswd(1),
 * for Basic authentication with uvhttp/auth.h.
 *
 *     uvhttp_passwords_t *staff;
 *     uvhttp_passwords_options_t users = {.file = "staff.htpasswd"};
 *     int err = uvhttp_passwords_new(&staff, &users, NULL);
 *
 *     uvhttp_auth_t *auth;
 *     uvhttp_auth_options_t options = {.check_basic = uvhttp_passwords_check, .arg = staff};
 *     if (err == 0) err = uvhttp_auth_new(&auth, &options, NULL);
 *     if (err == 0) err = uvhttp_router_use(group, uvhttp_auth_handle_request, auth);
 *
 * Hashes are slow by design, so they run in the heavy lane of the server's jobs, which never delays
 * the quick one. A correct password is cached for a while: as an authentication code with a random
 * key, never as text. At most four verifications of a table run or wait at a time; further ones get
 * 503 with Retry-After. So guessed passwords cannot fill the queue of the lane, but four can occupy
 * all its threads: if compression and archives must not wait for them, set `heavy_threads` of
 * uvhttp_config_t to more than four. Against guessing use uvhttp/rate_limit.h.
 *
 * An unknown name takes as long as one of the users, chosen by the name. The time reveals nothing
 * if all hashes of a table have the same method and cost.
 *
 * Needs crypt(3) of libxcrypt (CMake option BUILD_WITH_CRYPT), and OpenSSL's libcrypto
 * (BUILD_WITH_LIBCRYPTO) for the cache. */
#ifndef UVHTTP_PASSWORDS_H
#define UVHTTP_PASSWORDS_H

#include <uvhttp/auth.h>
#include <uvhttp/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of users. */
typedef struct uvhttp_passwords uvhttp_passwords_t;

/* A user. */
typedef struct uvhttp_hashed_user {
    const char *name; /* without colon and control characters, and not empty */
    /* Of crypt(5): bcrypt, yescrypt, SHA-crypt, scrypt; not DES, nor MD5 ("$1$", "$apr1$"). */
    const char *hash;
} uvhttp_hashed_user_t;

/* Users, a file, or both: 1 to 10,000 users in total, without duplicates. Strings are copied. */
typedef struct uvhttp_passwords_options {
    /* Set both with UVHTTP_HASHED_USERS; one without the other is rejected. */
    const uvhttp_hashed_user_t *users;
    size_t user_count;
    /* A regular file of lines NAME:HASH, at most 16 MiB; empty lines and lines that begin with '#'
     * are ignored; NULL: none. When it has changed, its users replace those read before. Cached
     * passwords of users who are absent or have another hash are forgotten. A request whose last
     * check was a second ago waits for another one, in a job of the quick lane. A changed file with
     * errors or without users, or a missing one, is not used: the users of before stay valid, and a
     * warning is logged. */
    const char *file;
    /* Milliseconds for which a correct password is cached, at most 86,400,000; 0: 300,000. */
    uint32_t remember_ms;
    /* NULL: the built-in one. Must outlive it and be thread-safe. */
    const uvhttp_allocator_t *allocator;
} uvhttp_passwords_options_t;

#ifndef __cplusplus
/* Sets `users` and `user_count` (C only): UVHTTP_HASHED_USERS({"ann", "$2b$10$..."}). */
#define UVHTTP_HASHED_USERS(...) \
    UVHTTP_ARRAY_MEMBERS(users, user_count, uvhttp_hashed_user_t, __VA_ARGS__)
#endif

/* Creates a table. Reads the file, so not on the loop of a running server.
 * Returns 0, or with `*passwords` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`, which never contains a hash
 *   UVHTTP_EINVAL   no options; or users without their count, or the reverse
 *   UVHTTP_ENOTSUP  a build without crypt
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_passwords_new(uvhttp_passwords_t **passwords,
                                       const uvhttp_passwords_options_t *options,
                                       uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_passwords_free(void *passwords);

/* A uvhttp_auth_check_cb for check_basic; `passwords` is the uvhttp_passwords_t. */
UVHTTP_EXPORT int uvhttp_passwords_check(uvhttp_request_t *request, uvhttp_response_t *response,
                                         const uvhttp_credentials_t *credentials, void *passwords);

#ifdef __cplusplus
}
#endif

#endif
