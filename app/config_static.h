/* The options of a directory in a configuration file, except its paths, types and rules. */
#ifndef UVH_APP_CONFIG_STATIC_H
#define UVH_APP_CONFIG_STATIC_H

#include "config_value.h"

/* Reads the value of a key into its member of `files`. The key must be that of an option of
 * `serve` for static files. */
void uvh_config_static_read_option(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value,
                                   uvhttp_static_options_t *files);

/* Notes the library's errors about the options of a route, each at its position. `node` is the map
 * of the route. */
void uvh_config_static_check(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                             const struct uvh_setup_route *route);

#endif
