/* The keys "types" and "rules" of a directory in a configuration file.
 *
 * Always true: uvhttp_static_new accepts what was read without a problem. */
#ifndef UVH_APP_CONFIG_RULES_H
#define UVH_APP_CONFIG_RULES_H

#include "config_value.h"

/* Notes the library's errors about types and rules. */
void uvh_config_rules_check(struct uvh_config_reader *reader, struct uvh_mark mark,
                            const uvhttp_static_options_t *files);

/* A map from extensions to types. */
void uvh_config_rules_read_types(struct uvh_config_reader *reader,
                                 const struct uvh_yaml_node *value, uvhttp_static_options_t *files);

/* A list of maps: files that match 'match' get 'type', 'cache_control', 'download' and
 * 'headers'. */
void uvh_config_rules_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           uvhttp_static_options_t *files);

#endif
