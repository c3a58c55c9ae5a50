/* OpenSSL's errors as readable messages.
 *
 * Always true: no message contains a key or a pass phrase. Called by all files of tls/. */
#ifndef UVH_TLS_FAILURE_H
#define UVH_TLS_FAILURE_H

#include "options/error.h"

/* Fills `error` as uvh_error_sentence does, followed by ": " and the reason from this thread's
 * OpenSSL error queue, which is cleared. Returns UVHTTP_ECONFIG, or UVHTTP_ENOMEM if that was the
 * error. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
int uvh_tls_refuse_by_openssl(uvhttp_error_t *error, const char *field, const char *value,
                              const char *format, ...);

/* The same with our own reason; NULL: OpenSSL's. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
int uvh_tls_refuse_because(uvhttp_error_t *error, const char *reason, const char *field,
                           const char *value, const char *format, ...);

/* The reason of the first error in this thread's queue, which is cleared. Static text. */
const char *uvh_tls_failure_reason(void);

/* True if the queue contains an out-of-memory error; the queue is cleared then. */
int uvh_tls_failure_is_memory(void);

#endif
