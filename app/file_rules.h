/* The flags of `uvhttp serve` for files by name pattern, as types and rules of
 * uvhttp_static_options_t. */
#ifndef UVH_APP_FILE_RULES_H
#define UVH_APP_FILE_RULES_H

#include "options.h"

#define UVH_FILE_RULES_MAX (3 * UVH_OPTIONS_LIST_MAX) /* of three flags */

struct uvh_file_rules {
    uvhttp_static_rule_t items[UVH_FILE_RULES_MAX];
    char *texts[UVH_FILE_RULES_MAX]; /* referenced by the items */
    const char *hide[UVH_OPTIONS_LIST_MAX + 1];
};

/* Adds --type, --cache-control, --download, --header and --hide to `files`, which then refers to
 * the rules and the options. Returns UVH_EXIT_OK, or an exit code after a message was printed.
 * Release it in either case. */
int uvh_file_rules_make(struct uvh_file_rules *rules, const struct uvh_options *options,
                        uvhttp_static_options_t *files);
void uvh_file_rules_release(struct uvh_file_rules *rules);

#endif
