/* A deep copy of a configuration in one block of memory.
 *
 * Always true: the copy is immutable. */
#ifndef UVH_TLS_CONFIG_COPY_H
#define UVH_TLS_CONFIG_COPY_H

#include <uvhttp/tls.h>

/* NULL if out of memory. The copy has `allocator` as its allocator, too. */
uvhttp_tls_options_t *uvh_tls_config_copy(const uvhttp_tls_options_t *options,
                                          const uvhttp_allocator_t *allocator);

/* Overwrites the block before freeing it, because it may hold keys. NULL is allowed. */
void uvh_tls_config_free(uvhttp_tls_options_t *copy);

/* Calls `each` for every file that a load reads. */
typedef void (*uvh_tls_config_file_cb)(const char *path, void *arg);
void uvh_tls_config_each_file(const uvhttp_tls_options_t *options, uvh_tls_config_file_cb each,
                              void *arg);

#endif
