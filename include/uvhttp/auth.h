/* Authentication: a middleware that accepts requests with valid credentials, a password (Basic, RFC
 * 7617) or a token (Bearer, RFC 6750), and rejects others as RFC 9110 section 11 requires.
 *
 *     static int check(uvhttp_request_t *req, uvhttp_response_t *res,
 *                      const uvhttp_credentials_t *given, void *arg)
 *     {
 *         return known(given->user, given->password) ? UVHTTP_AUTH_ACCEPT : UVHTTP_AUTH_REFUSE;
 *     }
 *
 *     uvhttp_auth_t *auth;
 *     uvhttp_auth_options_t options = {.realm = "staff", .check_basic = check};
 *     int err = uvhttp_auth_new(&auth, &options, NULL);
 *     if (err == 0) err = uvhttp_router_use(group, uvhttp_auth_handle_request, auth);
 *
 * Both schemes send secrets in plain text, so they need TLS or a trusted network. Browsers send
 * no credentials with a CORS preflight: add uvhttp/cors.h before this. */
#ifndef UVHTTP_AUTH_H
#define UVHTTP_AUTH_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An authentication policy. */
typedef struct uvhttp_auth uvhttp_auth_t;

/* The credentials of a request. Strings are NUL-terminated and live as long as the request. */
typedef struct uvhttp_credentials {
    const char *user; /* of Basic, without control characters; may be empty. NULL: Bearer */
    /* Of Basic, may contain colons. UTF-8 if the client follows RFC 7617 section 2.1. */
    const char *password;
    /* Of Bearer: letters, digits and "-._~+/=" (RFC 6750 section 2.1). NULL: Basic. */
    const char *token;
} uvhttp_credentials_t;

/* Result of a check. */
typedef enum uvhttp_auth_verdict {
    UVHTTP_AUTH_REFUSE = 0, /* 401: invalid credentials */
    UVHTTP_AUTH_ACCEPT = 1, /* the request passes */
    /* 403: valid credentials without permission; for Bearer with error="insufficient_scope" */
    UVHTTP_AUTH_FORBID = 2,
    UVHTTP_AUTH_LATER = 3 /* uvhttp_auth_decide will be called */
} uvhttp_auth_verdict_t;

/* Checks credentials. Returns a uvhttp_auth_verdict_t, or a negative error, handled like that of
 * a handler (500, or 503 for UVHTTP_ENOMEM). It may set response fields, and the user
 * (uvhttp_auth_set_user). Compare secrets with uvhttp_equal_constant_time. Run a slow password
 * hash on another thread: uvhttp_response_defer, UVHTTP_AUTH_LATER, then uvhttp_auth_decide. */
typedef int (*uvhttp_auth_check_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                                    const uvhttp_credentials_t *credentials, void *arg);

/* A user. (The struct tag differs from the function below, because it would hide that in C++.) */
typedef struct uvhttp_auth_user_row {
    const char *name;     /* without colon and control characters */
    const char *password; /* in plain text */
} uvhttp_auth_user_t;

/* At least one of users, check_basic, token and check_bearer is required. Strings are copied. */
typedef struct uvhttp_auth_options {
    /* Shown by browsers in the login dialog; NULL: "restricted". UTF-8 without control
     * characters, at most 256 bytes. */
    const char *realm;
    /* For Basic: a table, compared completely and in constant time for each request; for few
     * users. Set both with UVHTTP_AUTH_USERS; one without the other is rejected. */
    const uvhttp_auth_user_t *users;
    size_t user_count;
    /* called for users not in the table; NULL: rejected */
    uvhttp_auth_check_cb check_basic;
    /* For Bearer: the one accepted token, compared in constant time. NULL: none. */
    const char *token;
    /* called for other tokens; NULL: rejected. With neither, Bearer is not accepted */
    uvhttp_auth_check_cb check_bearer;
    void *arg; /* passed to both; must outlive the server */
    /* Of Bearer: the required scope (RFC 6750 section 3), sent with rejections; NULL: none. */
    const char *scope;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive it. */
} uvhttp_auth_options_t;

#ifndef __cplusplus
/* Sets `users` and `user_count` (C only).
 *
 *     uvhttp_auth_options_t options = {
 *         UVHTTP_AUTH_USERS({"ann", "secret"}, {"bob", "other"}),
 *     }; */
#define UVHTTP_AUTH_USERS(...) \
    UVHTTP_ARRAY_MEMBERS(users, user_count, uvhttp_auth_user_t, __VA_ARGS__)
#endif

/* Creates a policy. Any thread.
 * Returns 0, or with `*auth` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_EINVAL   no options; or users without their count, or the reverse
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_auth_new(uvhttp_auth_t **auth, const uvhttp_auth_options_t *options,
                                  uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_auth_free(void *auth);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_auth_new or uvhttp_router_use. */
UVHTTP_EXPORT int uvhttp_auth_use(uvhttp_router_t *router, const uvhttp_auth_options_t *options);

/* The middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware); `auth` is
 * the uvhttp_auth_t. Responds 401 with WWW-Authenticate without credentials of an accepted
 * scheme or when the check refuses them; 400 for a malformed Bearer token and for several
 * Authorization fields. */
UVHTTP_EXPORT int uvhttp_auth_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                             void *auth);

/* Completes a check that returned UVHTTP_AUTH_LATER. UVHTTP_AUTH_ACCEPT continues with the request,
 * possibly before this returns; the other two reject it as above. Not from within the check. Loop
 * thread.
 * Returns 0, or
 *   UVHTTP_EINVAL         no check is pending, or an invalid verdict
 *   UVHTTP_ERESPONDED     the response was sent
 *   UVHTTP_EDISCONNECTED  the client has disconnected
 *   UVHTTP_ENOMEM         nothing was sent: respond with 503 */
UVHTTP_EXPORT int uvhttp_auth_decide(uvhttp_response_t *response, uvhttp_auth_verdict_t verdict);

/* The user of an accepted request: of Basic, or as set by uvhttp_auth_set_user, which may also
 * name a user that gets 403; otherwise NULL. The access log writes it as {user}. Valid as long
 * as the request. Loop thread. */
UVHTTP_EXPORT const char *uvhttp_auth_user(const uvhttp_request_t *request);

/* Sets the user, for checks of Bearer tokens before they accept, and for other authentication. The
 * name is copied. Loop thread.
 * Returns 0, or
 *   UVHTTP_EINVAL  `name` is NULL
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_auth_set_user(uvhttp_request_t *request, const char *name);

#ifdef __cplusplus
}
#endif

#endif
