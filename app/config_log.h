/* The key "access_log" of a configuration file and of a site: a path, a map, or off. */
#ifndef UVH_APP_CONFIG_LOG_H
#define UVH_APP_CONFIG_LOG_H

#include "config_value.h"

void uvh_config_log_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         struct uvh_setup_log *log);

#endif
