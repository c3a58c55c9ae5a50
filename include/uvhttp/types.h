/* Plain values shared by every public header: slices, methods, the allocator and the log callback.
 *
 * Nothing here does anything; the functions are declared in the other headers of this folder. */
#ifndef UVHTTP_TYPES_H
#define UVHTTP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared library exports; everything else is hidden. */
#if defined(__GNUC__)
#define UVHTTP_EXPORT __attribute__((visibility("default")))
#else
#define UVHTTP_EXPORT
#endif

/* Bytes somebody else owns. `base` may be NULL only when `length` is 0. Not NUL-terminated unless
 * the function that returned it says so. */
typedef struct uvhttp_slice {
    const char *base;
    size_t length; /* bytes */
} uvhttp_slice_t;

/* For printf: printf("%.*s", UVHTTP_SLICE_ARGS(slice)). */
#define UVHTTP_SLICE_ARGS(slice) (int)(slice).length, (slice).base

#ifndef __cplusplus
/* For a designated initializer: an array and its count, which then cannot differ. The macros for
 * users are made of it: UVHTTP_MIDDLEWARE, UVHTTP_ADDRESS_RULES, UVHTTP_AUTH_USERS, ... The array
 * is a compound literal: it lives as long as the block around it, or, outside of functions, for
 * ever; so it cannot initialize a static variable of a function. C only: the wrapper for C++ takes
 * lists. */
#define UVHTTP_ARRAY_MEMBERS(array, count, type, ...) \
    .array = (type const[]){__VA_ARGS__},             \
    .count = sizeof((type const[]){__VA_ARGS__}) / sizeof(type)
#endif

/* Request methods (RFC 9110 section 9, RFC 5789, RFC 4918). A method that is a valid token but
 * stands not in this table is UVHTTP_METHOD_OTHER; its name is still available from the request. */
#define UVHTTP_METHOD_MAP(X)  \
    X(GET, "GET")             \
    X(HEAD, "HEAD")           \
    X(POST, "POST")           \
    X(PUT, "PUT")             \
    X(DELETE, "DELETE")       \
    X(CONNECT, "CONNECT")     \
    X(OPTIONS, "OPTIONS")     \
    X(TRACE, "TRACE")         \
    X(PATCH, "PATCH")         \
    X(PROPFIND, "PROPFIND")   \
    X(PROPPATCH, "PROPPATCH") \
    X(MKCOL, "MKCOL")         \
    X(COPY, "COPY")           \
    X(MOVE, "MOVE")           \
    X(LOCK, "LOCK")           \
    X(UNLOCK, "UNLOCK")

/* The method of a request; its names stand in UVHTTP_METHOD_MAP. */
typedef enum uvhttp_method {
    UVHTTP_METHOD_OTHER = 0,
#define UVHTTP_METHOD_ENUM(id, name) UVHTTP_METHOD_##id,
    UVHTTP_METHOD_MAP(UVHTTP_METHOD_ENUM)
#undef UVHTTP_METHOD_ENUM
        UVHTTP_METHOD_COUNT
} uvhttp_method_t;

/* Where all memory of a server comes from. The three functions follow malloc, realloc and free of
 * C11 with `context` added; returning NULL is an ordinary error to uvhttp, never an abort. They are
 * called on the thread of the server's loop, and on a thread-pool thread while that thread works
 * for an exchange, so they must be thread-safe. */
typedef struct uvhttp_allocator {
    void *(*allocate)(size_t size, void *context);
    void *(*reallocate)(void *memory, size_t size, void *context);
    void (*release)(void *memory, void *context);
    void *context;
} uvhttp_allocator_t;

/* How much a line of the log matters. */
typedef enum uvhttp_log_level {
    UVHTTP_LOG_ERROR = 0,
    UVHTTP_LOG_WARNING = 1,
    UVHTTP_LOG_INFO = 2,
    UVHTTP_LOG_DEBUG = 3
} uvhttp_log_level_t;

/* Receives one line, NUL-terminated, without a line end; control characters of logged values are
 * already escaped. Runs on the thread that has something to say. */
typedef void (*uvhttp_log_cb)(uvhttp_log_level_t level, const char *message, void *arg);

#ifdef __cplusplus
}
#endif

#endif
