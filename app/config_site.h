/* The sites of a configuration file. */
#ifndef UVH_APP_CONFIG_SITE_H
#define UVH_APP_CONFIG_SITE_H

#include "config_value.h"

/* Reads the value of `sites` into the setup (a uvh_config_read_cb). */
void uvh_config_site_read_all(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into);

#endif
