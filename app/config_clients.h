/* The keys "allow", "deny" and "limit_requests" of sites and routes. */
#ifndef UVH_APP_CONFIG_CLIENTS_H
#define UVH_APP_CONFIG_CLIENTS_H

#include "config_value.h"

/* Reads one address or a list of them. `check`: a function of client_rules.h for each. */
void uvh_config_clients_read_addresses(struct uvh_config_reader *reader,
                                       const struct uvh_yaml_node *value,
                                       const char *(*check)(const char *text),
                                       struct uvh_text_list *list);

/* Reads the value of one of the three keys. */
void uvh_config_clients_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             struct uvh_setup_clients *clients);

#endif
