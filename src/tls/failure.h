/* What OpenSSL says of a failure, as text for a person.
 *
 * Always true: no text holds a key or a pass phrase. Called by everything in tls/. */
#ifndef UVH_TLS_FAILURE_H
#define UVH_TLS_FAILURE_H

#include <stdarg.h>
#include <stddef.h>

/* Where a message goes: `text` may be NULL with `size` 0. */
struct uvh_tls_message {
    char *text;
    size_t size;
};

/* Writes a message. Returns UVHTTP_ECONFIG. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int uvh_tls_refuse(struct uvh_tls_message message, const char *format, ...);

/* The same, followed by ": " and what OpenSSL's queue of errors of this thread says, which is
 * emptied.
 * Returns UVHTTP_ECONFIG, or
 *   UVHTTP_ENOMEM when that was the failure. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int uvh_tls_refuse_by_openssl(struct uvh_tls_message message, const char *format, ...);

/* The same with a reason of our own; NULL: that of OpenSSL. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int
uvh_tls_refuse_because(struct uvh_tls_message message, const char *reason, const char *format, ...);

/* The reason at the head of this thread's queue, which is emptied. Static. */
const char *uvh_tls_failure_reason(void);

/* True when the queue says that memory ran out; it is emptied then. */
int uvh_tls_failure_is_memory(void);

#endif
