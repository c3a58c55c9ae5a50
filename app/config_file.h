/* The configuration file of `uvhttp run`, in YAML; docs/configuration.md describes it. */
#ifndef UVH_APP_CONFIG_FILE_H
#define UVH_APP_CONFIG_FILE_H

#include "expand.h"
#include "setup.h"

struct uvh_config_file {
    struct uvh_setup setup;
    struct uvh_yaml yaml; /* owns what the setup points to */
};

/* Reads a configuration from memory; relative paths are relative to `directory` ("": the current
 * directory). Does not access the file system. False, with the problems noted, if it is invalid.
 * Release it in either case. */
bool uvh_config_file_read(struct uvh_config_file *file, const char *bytes, size_t size,
                          const char *directory, uvh_variable_cb variable,
                          struct uvh_problems *problems);

/* The same from a file, with paths relative to its directory and environment variables expanded.
 * "-" is standard input. */
bool uvh_config_file_load(struct uvh_config_file *file, const char *path,
                          struct uvh_problems *problems);

void uvh_config_file_release(struct uvh_config_file *file);

#endif
