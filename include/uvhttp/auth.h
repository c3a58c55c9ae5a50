/* Authentication: a middleware that lets requests pass whose client has said who it is, by password
 * (Basic, RFC 7617) or by token (Bearer, RFC 6750), and answers the others with what RFC 9110
 * section 11 asks for.
 *
 *     static int check(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_credentials_t
 *     *given, void *arg)
 *     {
 *         return known(given->user, given->password) ? UVHTTP_AUTH_ACCEPT : UVHTTP_AUTH_REFUSE;
 *     }
 *     ...
 *     uvhttp_auth_t *auth;
 *     uvhttp_auth_config_t config = {.realm = "staff", .check_basic = check};
 *     int err = uvhttp_auth_new(&auth, &config, NULL, 0);
 *     if (err == 0) err = uvhttp_router_use(group, uvhttp_auth_handle_request, auth);
 *
 * Both schemes send secrets as they are, so they need TLS in front, or a network that nobody else
 * can read. Browsers send no credentials with a CORS preflight: put uvhttp/cors.h before this. */
#ifndef UVHTTP_AUTH_H
#define UVHTTP_AUTH_H

#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who is asked for what, ready for use. */
typedef struct uvhttp_auth uvhttp_auth_t;

/* What a client has sent. Strings end with NUL and live as long as the request. */
typedef struct uvhttp_credentials {
    const char *user;     /* of Basic, without control characters; may be empty. NULL: Bearer */
    const char *password; /* of Basic; colons are part of it. In UTF-8, if the client follows RFC
                             7617 section 2.1 */
    /* of Bearer: letters, digits and "-._~+/=" (RFC 6750 section 2.1). NULL: Basic */
    const char *token;
} uvhttp_credentials_t;

/* What becomes of a request. */
typedef enum uvhttp_auth_verdict {
    UVHTTP_AUTH_REFUSE = 0, /* 401: not known */
    UVHTTP_AUTH_ACCEPT = 1, /* the request passes */
    /* 403: known, and may not; for Bearer with error="insufficient_scope" */
    UVHTTP_AUTH_FORBID = 2,
    UVHTTP_AUTH_LATER = 3 /* uvhttp_auth_decide will be called */
} uvhttp_auth_verdict_t;

/* Judges credentials: one of uvhttp_auth_verdict_t, or a negative code, which is answered as a
 * handler's (500, or 503 for UVHTTP_ENOMEM). It may set fields of the response, and the user
 * (uvhttp_auth_set_user). Compare secrets with uvhttp_equal_constant_time. A password hash that
 * takes time belongs on another thread: uvhttp_response_defer, UVHTTP_AUTH_LATER, and
 * uvhttp_auth_decide when it is done. */
typedef int (*uvhttp_auth_check_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                                    const uvhttp_credentials_t *credentials, void *arg);

/* Somebody who is known. (The struct is called otherwise than the function below, which would hide
 * it in C++.) */
typedef struct uvhttp_auth_user_row {
    const char *name;     /* without colon and control characters */
    const char *password; /* as it is */
} uvhttp_auth_user_t;

/* At least one of users, check_basic and check_bearer. Strings are copied. */
typedef struct uvhttp_auth_config {
    const char *
        /* what a browser shows when it asks; NULL: "restricted". UTF-8 without control characters,
         * at most 256 bytes */
        realm;
    /* For Basic: a table, compared in constant time, all of it at each request: for a handful. */
    /* Set both by UVHTTP_AUTH_USERS; one without the other is refused. */
    const uvhttp_auth_user_t *users;
    size_t user_count;
    /* asked about those who are not in the table; NULL: nobody else */
    uvhttp_auth_check_cb check_basic;
    uvhttp_auth_check_cb check_bearer; /* NULL: Bearer is not taken */
    void *arg;                         /* handed to both; must outlive the server */
    const char *scope; /* of Bearer: what is asked for (RFC 6750 section 3), shown in refusals;
                          NULL: not said */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive it. */
} uvhttp_auth_config_t;

#ifndef __cplusplus
/* Sets `users` and `user_count` (C only): UVHTTP_AUTH_USERS({"ann", "secret"}, {"bob", "other"}).
 * */
#define UVHTTP_AUTH_USERS(...) \
    UVHTTP_ARRAY_MEMBERS(users, user_count, uvhttp_auth_user_t, __VA_ARGS__)
#endif

/* 0, or with `*auth` NULL: UVHTTP_ECONFIG, with a NUL-terminated message of at most `size` bytes
 * that names field and value (`message` may be NULL), UVHTTP_EINVAL (no config; with a message:
 * users without their count, or the reverse), UVHTTP_ENOMEM. Any thread. */
UVHTTP_EXPORT int uvhttp_auth_new(uvhttp_auth_t **auth, const uvhttp_auth_config_t *config,
                                  char *message, size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_auth_free(uvhttp_auth_t *auth);

/* A middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware): `auth` is the
 * uvhttp_auth_t. Answers 401 with WWW-Authenticate without credentials of a scheme that is taken,
 * or when they are refused; 400 when a Bearer token is malformed, and for several Authorization
 * fields. */
UVHTTP_EXPORT int uvhttp_auth_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                             void *auth);

/* The decision behind UVHTTP_AUTH_LATER: UVHTTP_AUTH_ACCEPT goes on with the request, possibly
 * before this returns, the other two refuse as above. Not from within the check itself. Errors:
 * UVHTTP_EINVAL (nothing is to be decided, or not so), UVHTTP_EANSWERED, UVHTTP_EGONE,
 * UVHTTP_ENOMEM (nothing was sent: answer with 503). Loop thread. */
UVHTTP_EXPORT int uvhttp_auth_decide(uvhttp_response_t *response, uvhttp_auth_verdict_t verdict);

/* The user of a request that was accepted: of Basic, or as set by uvhttp_auth_set_user, which also
 * names somebody who was forbidden; NULL for others. The access log has it as {user}. As long as
 * the request lives. Loop thread. */
UVHTTP_EXPORT const char *uvhttp_auth_user(const uvhttp_request_t *request);

/* Says who it is: for the checks of Bearer tokens, before they accept, and for authentication of
 * your own. The name is copied. Errors: UVHTTP_EINVAL (NULL), UVHTTP_ENOMEM. Loop thread. */
UVHTTP_EXPORT int uvhttp_auth_set_user(uvhttp_request_t *request, const char *name);

#ifdef __cplusplus
}
#endif

#endif
