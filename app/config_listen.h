/* Listen addresses of a configuration file. */
#ifndef UVH_APP_CONFIG_LISTEN_H
#define UVH_APP_CONFIG_LISTEN_H

#include "config_value.h"

/* Reads one address: a text, or the map of a unix socket, whose path is relative to the directory
 * of the file, like every path. False with a problem noted. */
bool uvh_config_listen_read_address(struct uvh_config_reader *reader,
                                    const struct uvh_yaml_node *value, struct uvh_address *address);

/* The key "listen": one address, or a list. `into` is the struct uvh_setup. */
void uvh_config_listen_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into);

#endif
