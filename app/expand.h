/* ${VAR} in the values of a configuration. */
#ifndef UVH_APP_EXPAND_H
#define UVH_APP_EXPAND_H

#include "yaml_reader.h"

/* The value of a variable, or NULL; valid until the next call. */
typedef const char *(*uvh_variable_cb)(const char *name);

/* Expands variables in every value of the tree (not in keys): ${NAME} and ${NAME:-default}, whose
 * default applies if the variable is missing or empty and contains no '}'; $$ is a dollar.
 * Expansion happens after parsing, so values cannot change the structure of the tree. False, with
 * problems noted, for a variable without value and default, any other '$', or a value that is no
 * UTF-8. */
bool uvh_expand(struct uvh_yaml *yaml, uvh_variable_cb variable, struct uvh_problems *problems);

#endif
