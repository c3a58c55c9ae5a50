/* Users with hashed passwords, as `htpasswd -B` and mkpasswd(1) make them: what uvhttp/auth.h asks
 * about Basic credentials.
 *
 *     uvhttp_passwords_t *staff;
 *     uvhttp_auth_t *auth;
 *     int err = uvhttp_passwords_new(&staff, &(uvhttp_passwords_config_t){.file =
 *     "staff.htpasswd"}, NULL, 0);
 *     if (err == 0) err = uvhttp_auth_new(&auth, &(uvhttp_auth_config_t){.check_basic =
 *         uvhttp_passwords_check, .arg = staff}, NULL, 0);
 *     if (err == 0)
 *         err = uvhttp_router_use(group, uvhttp_auth_handle_request, auth);
 *
 * Hashes take long on purpose, so they are made in the heavy lane of the server's jobs, and a
 * password that was right is not asked about again for a while: of it a code under a random key is
 * kept, never itself. At most four hashes are under way at once, so that guessing does not keep
 * files waiting; who comes then is answered 503 with Retry-After. A user who is unknown takes as
 * long as a wrong password. Against guessing itself: uvhttp/rate_limit.h.
 *
 * Needs crypt(3) of libxcrypt (CMake option BUILD_WITH_CRYPT), and for remembering OpenSSL
 * (BUILD_WITH_HTTPS). */
#ifndef UVHTTP_PASSWORDS_H
#define UVHTTP_PASSWORDS_H

#include <uvhttp/auth.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of users, ready for use. */
typedef struct uvhttp_passwords uvhttp_passwords_t;

/* Somebody who is known. */
typedef struct uvhttp_hashed_user {
    const char *name; /* without colon and control characters, and not empty */
    const char *hash; /* of crypt(5): bcrypt, yescrypt, SHA-crypt, scrypt; not DES, nor MD5 ("$1$",
                         "$apr1$") */
} uvhttp_hashed_user_t;

/* Users, a file, or both: at least one user in all, at most 10,000, each once. Strings are
 * copied. */
typedef struct uvhttp_passwords_config {
    /* Set both by UVHTTP_HASHED_USERS; one without the other is refused. */
    const uvhttp_hashed_user_t *users;
    size_t user_count;
    const char *
        /* of lines NAME:HASH, read once; empty lines and those that begin with '#' do not count;
         * NULL: none */
        file;
    size_t
        /* a password that was right is not asked about for so long; 0: 300, at most 86,400 */
        remember_seconds;
    /* NULL: the system's. Must outlive it, and be thread-safe. */
    const uvhttp_allocator_t *allocator;
} uvhttp_passwords_config_t;

#ifndef __cplusplus
/* Sets `users` and `user_count` (C only): UVHTTP_HASHED_USERS({"ann", "$2b$10$..."}). */
#define UVHTTP_HASHED_USERS(...) \
    UVHTTP_ARRAY_MEMBERS(users, user_count, uvhttp_hashed_user_t, __VA_ARGS__)
#endif

/* 0, or with `*passwords` NULL: UVHTTP_ECONFIG, with a NUL-terminated message of at most `size`
 * bytes that names what is wrong, but no hash (`message` may be NULL), UVHTTP_EINVAL (no config;
 * with a message: users without their count, or the reverse), UVHTTP_ENOTSUP (left out of this
 * build), UVHTTP_ENOMEM. Reads the file, so not on the loop of a running server. */
UVHTTP_EXPORT int uvhttp_passwords_new(uvhttp_passwords_t **passwords,
                                       const uvhttp_passwords_config_t *config, char *message,
                                       size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_passwords_free(uvhttp_passwords_t *passwords);

/* A uvhttp_auth_check_cb for check_basic; `passwords` is the uvhttp_passwords_t. */
UVHTTP_EXPORT int uvhttp_passwords_check(uvhttp_request_t *request, uvhttp_response_t *response,
                                         const uvhttp_credentials_t *credentials, void *passwords);

#ifdef __cplusplus
}
#endif

#endif
