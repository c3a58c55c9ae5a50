/* A number of the configuration by its name. Called by config_text.c. */
#ifndef UVH_SERVER_CONFIG_FIELD_H
#define UVH_SERVER_CONFIG_FIELD_H

#include <uvhttp/config.h>

/* Where the number of that name stands in `config`, and its row of the limits table; NULL when
 * there is none of that name. */
size_t *uvh_config_field(uvhttp_config_t *config, const char *name, const uvhttp_limit_t **row);

#endif
