/* The keys "types" and "rules" of a folder in a configuration file.
 *
 * Always true: what was read without a problem is accepted by uvhttp_static_open. */
#ifndef UVH_APP_CONFIG_RULES_H
#define UVH_APP_CONFIG_RULES_H

#include "config_value.h"

/* Notes what the library says against types and rules. */
void uvh_config_rules_check(struct uvh_config_reader *reader, struct uvh_mark mark,
                            const uvhttp_static_config_t *files);

/* A map of extensions and types. */
void uvh_config_rules_read_types(struct uvh_config_reader *reader,
                                 const struct uvh_yaml_node *value, uvhttp_static_config_t *files);

/* A list of maps: what fits 'match' has 'type', 'cache_control', 'download' and 'headers'. */
void uvh_config_rules_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           uvhttp_static_config_t *files);

#endif
