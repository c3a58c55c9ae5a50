/* Types shared by all public headers: slices, methods, the allocator and the log callback. */
#ifndef UVHTTP_TYPES_H
#define UVHTTP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks symbols exported by the shared library; all others are hidden. */
#if defined(__GNUC__)
#define UVHTTP_EXPORT __attribute__((visibility("default")))
#else
#define UVHTTP_EXPORT
#endif

/* Bytes owned by another object. `base` may be NULL only when `length` is 0. Not NUL-terminated
 * unless the function that returns it says so. */
typedef struct uvhttp_slice {
    const char *base;
    size_t length; /* bytes */
} uvhttp_slice_t;

/* The slice of a NUL-terminated string, without its NUL; NULL has base NULL. Any thread. */
UVHTTP_EXPORT uvhttp_slice_t uvhttp_slice_of(const char *text);

/* For printf: printf("%.*s", UVHTTP_SLICE_ARGS(slice)). */
#ifdef __cplusplus
#define UVHTTP_SLICE_ARGS(slice) static_cast<int>((slice).length), (slice).base
#else
#define UVHTTP_SLICE_ARGS(slice) (int)(slice).length, (slice).base
#endif

#ifndef __cplusplus
/* For a designated initializer: sets an array and its count consistently. Base of
 * UVHTTP_MIDDLEWARE, UVHTTP_ADDRESS_RULES, UVHTTP_AUTH_USERS and others. The array is a compound
 * literal: it lives as long as the enclosing block, or forever outside of functions, so it
 * cannot initialize a static variable of a function. C only: the C++ wrapper takes lists. */
#define UVHTTP_ARRAY_MEMBERS(array, count, type, ...) \
    .array = (type const[]){__VA_ARGS__},             \
    .count = sizeof((type const[]){__VA_ARGS__}) / sizeof(type)
#endif

/* Value of a duration in milliseconds: never. Where an option does not allow it, it is out of
 * range. */
#define UVHTTP_NEVER UINT32_MAX

/* Request methods (RFC 9110 section 9, RFC 5789, RFC 4918). A valid method token that is not in
 * this table is UVHTTP_METHOD_OTHER; the request still has its name. */
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

/* The method of a request; see UVHTTP_METHOD_MAP for the names. */
typedef enum uvhttp_method {
    UVHTTP_METHOD_OTHER = 0,
#define UVHTTP_METHOD_ENUM(id, name) UVHTTP_METHOD_##id,
    UVHTTP_METHOD_MAP(UVHTTP_METHOD_ENUM)
#undef UVHTTP_METHOD_ENUM
        UVHTTP_METHOD_COUNT
} uvhttp_method_t;

/* Source of the memory that uvhttp allocates for a server; libuv and OpenSSL have their own
 * allocators. The three functions follow malloc, realloc and free of C11 with `context` added. NULL
 * is handled as an ordinary error, never as an abort. Must be thread-safe: called on loop threads,
 * and on thread-pool threads that work for an exchange. */
typedef struct uvhttp_allocator {
    void *(*allocate)(size_t size, void *context);
    void *(*reallocate)(void *memory, size_t size, void *context);
    void (*release)(void *memory, void *context);
    void *context;
} uvhttp_allocator_t;

/* Severity of a log line. */
typedef enum uvhttp_log_level {
    UVHTTP_LOG_ERROR = 0,
    UVHTTP_LOG_WARNING = 1,
    UVHTTP_LOG_INFO = 2,
    UVHTTP_LOG_DEBUG = 3
} uvhttp_log_level_t;

/* Receives one NUL-terminated line without line end; control characters of logged values are
 * escaped. Runs on the thread that logs. */
typedef void (*uvhttp_log_cb)(uvhttp_log_level_t level, const char *message, void *arg);

#ifdef __cplusplus
}
#endif

#endif
