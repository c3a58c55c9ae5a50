/* A copy of a configuration with everything it points to, in one block of memory.
 *
 * Always true: the copy is never changed. Called by tls.c and generation.c. */
#ifndef UVH_TLS_CONFIG_COPY_H
#define UVH_TLS_CONFIG_COPY_H

#include <uvhttp/tls.h>

/* NULL when memory ran out. `allocator` is the one of the copy, too. */
uvhttp_tls_config_t *uvh_tls_config_copy(const uvhttp_tls_config_t *config,
                                         const uvhttp_allocator_t *allocator);

/* Overwrites the block first, since keys may be in it. NULL is fine. */
void uvh_tls_config_free(uvhttp_tls_config_t *copy);

/* Calls `each` for every file that a load reads. */
typedef void (*uvh_tls_config_file_cb)(const char *path, void *arg);
void uvh_tls_config_each_file(const uvhttp_tls_config_t *config, uvh_tls_config_file_cb each,
                              void *arg);

#endif
