/* ${VAR} in the values of a configuration. */
#ifndef UVH_APP_EXPAND_H
#define UVH_APP_EXPAND_H

#include "yaml_reader.h"

/* The value of a variable, NULL when there is none of that name; lives until the next call. */
typedef const char *(*uvh_variable_cb)(const char *name);

/* Puts variables into every value of the tree (keys stay as they are): ${NAME} and
 * ${NAME:-default}, whose default counts when the variable is absent or empty and holds no '}'; $$
 * is a dollar. Since the tree is there already, no value of a variable can change it. False, with
 * problems noted, for a variable without value and default, a '$' that is none of these, or one
 * that is no UTF-8. */
bool uvh_expand(struct uvh_yaml *yaml, uvh_variable_cb variable, struct uvh_problems *problems);

#endif
