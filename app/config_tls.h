/* The key "tls" of a configuration file. */
#ifndef UVH_APP_CONFIG_TLS_H
#define UVH_APP_CONFIG_TLS_H

#include "config_value.h"

/* A uvh_config_read_cb; `into` is the struct uvh_setup. */
void uvh_config_tls_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into);

#endif
