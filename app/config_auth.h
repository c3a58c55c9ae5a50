/* The keys "basic_auth" of a site or a route, and "upload_auth" of a route, in a configuration
 * file. */
#ifndef UVH_APP_CONFIG_AUTH_H
#define UVH_APP_CONFIG_AUTH_H

#include "config_value.h"

/* A map of 'realm', 'users' and 'file'; for "basic_auth" also `off`. */
void uvh_config_auth_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          struct uvh_setup_auth *auth);

#endif
