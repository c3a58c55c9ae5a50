/* The flags of `uvhttp serve` that say something of files by their names, as types and rules of
 * uvhttp_static_config_t. */
#ifndef UVH_APP_FILE_RULES_H
#define UVH_APP_FILE_RULES_H

#include "options.h"

#define UVH_FILE_RULES_MAX (3 * UVH_OPTIONS_LIST_MAX) /* of three flags */

struct uvh_file_rules {
    uvhttp_static_rule_t items[UVH_FILE_RULES_MAX];
    char *texts[UVH_FILE_RULES_MAX]; /* that the items point into */
};

/* Puts --type, --cache-control, --download and --header into `files`, which refers to the rules and
 * the options from then on. UVH_EXIT_OK, or an exit code after a message was printed. To be
 * released, whatever the result. */
int uvh_file_rules_make(struct uvh_file_rules *rules, const struct uvh_options *options,
                        uvhttp_static_config_t *files);
void uvh_file_rules_release(struct uvh_file_rules *rules);

#endif
