/* Access to a number of the configuration by name. */
#ifndef UVH_SERVER_CONFIG_FIELD_H
#define UVH_SERVER_CONFIG_FIELD_H

#include <uvhttp/config.h>

/* Returns the address of the number of that name in `config`, and its row of the limits table; NULL
 * when the name is unknown. */
size_t *uvh_config_field(uvhttp_config_t *config, const char *name, const uvhttp_limit_t **row);

#endif
