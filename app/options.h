/* What the user asked `uvhttp serve` for, from flags and environment. A flag wins over its environment variable. */
#ifndef UVH_APP_OPTIONS_H
#define UVH_APP_OPTIONS_H

#include <uvhttp.h>

#include "address.h"
#include "option_table.h"

#define UVH_OPTIONS_LISTEN_MAX 16

/* Exit codes of the program. */
enum { UVH_EXIT_OK = 0, UVH_EXIT_FAILED = 1, UVH_EXIT_USAGE = 2 };

struct uvh_options {
    const char *root; /* as given */
    size_t port;      /* of addresses given without one */
    struct uvh_address listen[UVH_OPTIONS_LISTEN_MAX];
    size_t listen_count;          /* 0: every IPv4 address */
    uvhttp_static_config_t files; /* `root` unset */
    uvhttp_config_t config;       /* `log` unset */
    uvhttp_log_level_t log_level;
    bool help; /* --help was given; the rest is not complete */
};

/* Every default. False when memory ran out. */
bool uvh_options_init(struct uvh_options *options);

/* Reads the environment, then `arguments` (without program and command name), which the options go on pointing into.
 * UVH_EXIT_OK, or an exit code after a message was printed. */
int uvh_options_parse(struct uvh_options *options, int count, char **arguments);

#define UVH_OPTIONS_VARIABLE_SIZE 64

/* The environment variable of an option: "max-connections" gives "UVHTTP_MAX_CONNECTIONS". */
void uvh_options_variable(const struct uvh_option *option, char name[UVH_OPTIONS_VARIABLE_SIZE]);

#endif
