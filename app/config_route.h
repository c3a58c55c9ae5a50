/* A route of a configuration file. */
#ifndef UVH_APP_CONFIG_ROUTE_H
#define UVH_APP_CONFIG_ROUTE_H

#include "config_value.h"

void uvh_config_route_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                           struct uvh_setup_route *route);

#endif
