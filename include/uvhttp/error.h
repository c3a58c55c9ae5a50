/* Result codes, and the error object of set-up calls. 0 is success, all errors are negative,
 * positive codes are no errors.
 *
 * Besides the codes listed here, functions return libuv's codes (UV_EADDRINUSE, UV_ENOENT, ...)
 * unchanged. So `err < 0` is the only check a caller needs; uvhttp_strerror handles both. A program
 * that compares with libuv's codes includes <uv.h>, which the headers of uvhttp do not. */
#ifndef UVHTTP_ERROR_H
#define UVHTTP_ERROR_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UVHTTP_ERROR_MAP(X)                                                     \
    X(ENOMEM, -10001, "out of memory")                                          \
    X(EINVAL, -10002, "invalid argument")                                       \
    X(ECONFIG, -10003, "invalid configuration value")                           \
    X(EFROZEN, -10004, "this must be set up before the server listens")         \
    X(EROUTE, -10005, "invalid route pattern")                                  \
    X(ECONFLICT, -10006, "a route with this method and pattern already exists") \
    X(ERESPONDED, -10007, "the response has already been sent")                 \
    X(EHEADER, -10008, "invalid character in a header name or value")           \
    X(EDISCONNECTED, -10009, "the client has disconnected")                     \
    X(ESTOPPED, -10010, "the server is stopping or has stopped")                \
    X(ENOTREG, -10012, "not a regular file")                                    \
    X(ETRUNCATED, -10013, "the file was truncated while it was sent")           \
    X(EFULL, -10014, "the queue is full; try again later")                      \
    X(ELENGTH, -10015, "the body length differs from the declared length")      \
    X(ENOTSUP, -10016, "not supported by this build of uvhttp")                 \
    X(ETOOLARGE, -10017, "the body is too large")                               \
    X(ESIGNATURE, -10018, "missing or invalid signature")                       \
    X(EEXPIRED, -10019, "the signed value has expired")                         \
    X(ETLS, -10020, "the TLS handshake failed")

enum {
    UVHTTP_OK = 0,
    /* Result of a handler: continue with the next handler. Not an error. */
    UVHTTP_DECLINED = 1,
    /* Accepted, but more than high_watermark bytes are queued: pause until `drain`. No error. */
    UVHTTP_QUEUED = 2,
    /* Results of a uvhttp_pull_cb: the body is complete; no data for now. Not errors. */
    UVHTTP_END = 3,
    UVHTTP_AGAIN = 4,
#define UVHTTP_ERROR_ENUM(name, code, text) UVHTTP_##name = (code),
    UVHTTP_ERROR_MAP(UVHTTP_ERROR_ENUM)
#undef UVHTTP_ERROR_ENUM
};

/* The text of a code ("out of memory"); "unknown error" for an unknown code. Static, never NULL.
 * Any thread. */
UVHTTP_EXPORT const char *uvhttp_strerror(int code);

/* The name of a code ("UVHTTP_ENOMEM", "EADDRINUSE"). Static, never NULL. Any thread. */
UVHTTP_EXPORT const char *uvhttp_error_name(int code);

/* Describes why a set-up call failed. The caller owns it; a pointer to one is the last parameter of
 * such a call, and may be NULL. The call sets all members, also on success.
 *
 *     uvhttp_error_t error;
 *     if (uvhttp_cors_new(&cors, &options, &error) != 0)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * Strings are NUL-terminated, and truncated to their size between two characters of UTF-8. They
 * never contain a password or key. */
typedef struct uvhttp_error {
    int code;          /* the return value of the call; 0: success, and all strings are empty */
    char field[64];    /* the option: "max_age", "rules[2]", "certificates[1].key_file"; "": none */
    char value[256];   /* its value as text; "": none, or not shown */
    char other[256];   /* UVHTTP_ECONFLICT: the pattern of the existing route; else "" */
    char reason[1024]; /* what is wrong and what is allowed; never "" after an error */
    char text[1280];   /* one line for users: field, value, reason; '?' for control characters */
} uvhttp_error_t;

#ifdef __cplusplus
}
#endif

#endif
