/* OpenSSL's errors as readable messages.
 *
 * Always true: no message contains a key or a pass phrase. Called by all files of tls/. */
#ifndef UVH_TLS_FAILURE_H
#define UVH_TLS_FAILURE_H

#include <stdarg.h>
#include <stddef.h>

/* The buffer for a message: `text` may be NULL with `size` 0. */
struct uvh_tls_message {
    char *text;
    size_t size;
};

/* Writes a message. Returns UVHTTP_ECONFIG. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int uvh_tls_refuse(struct uvh_tls_message message, const char *format, ...);

/* The same, followed by ": " and the reason from this thread's OpenSSL error queue, which is
 * cleared. Returns UVHTTP_ECONFIG, or
 *   UVHTTP_ENOMEM if that was the error. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int uvh_tls_refuse_by_openssl(struct uvh_tls_message message, const char *format, ...);

/* The same with our own reason; NULL: OpenSSL's. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int
uvh_tls_refuse_because(struct uvh_tls_message message, const char *reason, const char *format, ...);

/* The reason of the first error in this thread's queue, which is cleared. Static text. */
const char *uvh_tls_failure_reason(void);

/* True if the queue contains an out-of-memory error; the queue is cleared then. */
int uvh_tls_failure_is_memory(void);

#endif
