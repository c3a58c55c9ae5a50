/* A whole file in memory: a certificate, a key, a list.
 *
 * Called by certificate.c, tickets.c and generation.c, never on the loop of a running server. */
#ifndef UVH_TLS_READ_FILE_H
#define UVH_TLS_READ_FILE_H

#include <stdbool.h>

#include <uvhttp/types.h>

#include "tls/failure.h"

/* Reads `path` into NUL-terminated memory of the allocator. `field` is for the message.
 * Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG with a message: it cannot be read, or is larger than 16 MiB. */
int uvh_tls_read_file(const char *field, const char *path, const uvhttp_allocator_t *allocator,
                      char **data, size_t *size, struct uvh_tls_message message);

/* Overwrites and frees it. */
void uvh_tls_forget_file(const uvhttp_allocator_t *allocator, char *data, size_t size);

/* For OpenSSL's readers of what is never encrypted: without it they ask on the terminal. */
int uvh_tls_no_passphrase(char *buffer, int size, int writing, void *arg);

/* After such a reader gave nothing: the text was at its end, and not broken. Empties the error
 * queue when so. */
bool uvh_tls_is_end_of_text(void);

/* What else a text is in which no certificate, or no private key, was found: a reason for a
 * message. `own_file`: it is to be the key alone. NULL: nothing that is known. */
const char *uvh_tls_no_certificate(const char *text, size_t size);
const char *uvh_tls_no_key(const char *text, size_t size, bool own_file);

#endif
