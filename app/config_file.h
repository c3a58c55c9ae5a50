/* The configuration file of `uvhttp run`, in YAML; docs/configuration.md describes it. */
#ifndef UVH_APP_CONFIG_FILE_H
#define UVH_APP_CONFIG_FILE_H

#include "expand.h"
#include "setup.h"

struct uvh_config_file {
    struct uvh_setup setup;
    struct uvh_yaml yaml; /* holds what the setup points to */
};

/* Reads a configuration from memory; relative paths begin in `folder` ("": the current one).
 * Looks at no file system. False, with the problems noted, when it is not right. Release it
 * either way. */
bool uvh_config_file_read(struct uvh_config_file *file, const char *bytes, size_t size,
                          const char *folder, uvh_variable_cb variable,
                          struct uvh_problems *problems);

/* The same from a file, whose folder is that of relative paths, and with the variables of the
 * environment. "-" is standard input. */
bool uvh_config_file_load(struct uvh_config_file *file, const char *path,
                          struct uvh_problems *problems);

void uvh_config_file_release(struct uvh_config_file *file);

#endif
