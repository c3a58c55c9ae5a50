/* Files of a configuration, and the files that they include. */
#ifndef UVH_APP_CONFIG_SOURCE_H
#define UVH_APP_CONFIG_SOURCE_H

#include "expand.h"
#include "yaml_reader.h"

struct uvh_config_bytes {
    struct uvh_source *source; /* lives as long as the tree */
    char *bytes;               /* to be freed */
    size_t size;
};

/* Reads a file; "-" is standard input. Returns NULL, or the reason of the failure, with nothing to
 * free. `name` must live as long as the tree. */
const char *uvh_config_source_read(struct uvh_yaml *yaml, const char *name,
                                   struct uvh_config_bytes *read);

/* Adds the content of all files named by the key `include` of the tree to it: the elements of
 * `sites`, and other keys that the tree does not have. Removes that key. `variable` returns the
 * values of variables in these files. False if a problem was noted. */
bool uvh_config_source_include(struct uvh_yaml *yaml, uvh_variable_cb variable,
                               struct uvh_problems *problems);

#endif
