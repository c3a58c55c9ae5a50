/* Reads a whole file: a certificate, a key, a list.
 *
 * Never called on the loop of a running server. */
#ifndef UVH_TLS_READ_FILE_H
#define UVH_TLS_READ_FILE_H

#include <stdbool.h>

#include <uvhttp/types.h>

#include "tls/failure.h"

/* Reads `path` into NUL-terminated memory of the allocator. `field` is for the error message.
 * Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG with a filled `error`: the file is not readable, or larger than 16 MiB. */
int uvh_tls_read_file(const char *field, const char *path, const uvhttp_allocator_t *allocator,
                      char **data, size_t *size, uvhttp_error_t *error);

/* Overwrites and frees the content. */
void uvh_tls_forget_file(const uvhttp_allocator_t *allocator, char *data, size_t size);

/* A pass phrase callback for content that is never encrypted: without it OpenSSL prompts on the
 * terminal. */
int uvh_tls_no_passphrase(char *buffer, int size, int writing, void *arg);

/* Call after such a reader returned nothing: true if the text was at its end, false if it is
 * malformed. Clears the error queue if true. */
bool uvh_tls_is_end_of_text(void);

/* Why a text has no certificate or no private key: a reason for the error message. `own_file`: the
 * file must contain the key only. NULL: unknown. */
const char *uvh_tls_no_certificate(const char *text, size_t size);
const char *uvh_tls_no_key(const char *text, size_t size, bool own_file);

#endif
