/* The flags of `uvhttp serve` that say something of files by their names, as types and rules of uvhttp_static_config_t. */
#ifndef UVH_APP_FILE_RULES_H
#define UVH_APP_FILE_RULES_H

#include "options.h"

struct uvh_file_rules {
    uvhttp_static_rule_t items[UVH_OPTIONS_LIST_MAX];
    char *patterns[UVH_OPTIONS_LIST_MAX]; /* of the items */
};

/* Puts --type and --cache-control into `files`, which refers to the rules and the options from then on. UVH_EXIT_OK, or an exit code after a message was
 * printed. To be released, whatever the result. */
int uvh_file_rules_make(struct uvh_file_rules *rules, const struct uvh_options *options,
                        uvhttp_static_config_t *files);
void uvh_file_rules_release(struct uvh_file_rules *rules);

#endif
