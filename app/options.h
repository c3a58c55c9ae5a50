/* What the user asked `uvhttp serve` or `uvhttp run` for, from flags and environment. A flag wins
 * over its environment variable, and both over what stood in the options before, which for `run` is
 * what its file says. */
#ifndef UVH_APP_OPTIONS_H
#define UVH_APP_OPTIONS_H

#include <uvhttp.h>

#include "address.h"
#include "option_table.h"

#define UVH_OPTIONS_LISTEN_MAX 16
#define UVH_OPTIONS_LIST_MAX   64
#define UVH_OPTIONS_TLS_PORT   8443

/* What an option that may be given several times was given. */
struct uvh_option_list {
    const char *items[UVH_OPTIONS_LIST_MAX];
    size_t count;
};

/* The TLS options. */
struct uvh_tls_options {
    struct uvh_option_list certificates, keys;
    bool self_signed;
    const char *passphrase_file;        /* NULL: none */
    unsigned profile, client_auth;      /* uvhttp_tls_profile_t, uvhttp_tls_client_auth_t */
    const char *client_ca, *client_crl; /* NULL: none */
    const char *key_log;                /* NULL: none */
    bool one_time_tickets;
    size_t early_data; /* bytes; 0: none */
    bool ktls;
    bool watch;
    size_t redirect_http; /* a port; UVH_OPTION_OFF: none */
    size_t hsts;          /* seconds; UVH_OPTION_OFF: none */
};

/* Exit codes of the program. USAGE is for what was typed, or stands in a variable, and cannot be
 * whatever the machine is like; a mistake in a configuration file is FAILED, and so is what is
 * missing or in use. */
enum { UVH_EXIT_OK = 0, UVH_EXIT_FAILED = 1, UVH_EXIT_USAGE = 2 };

struct uvh_options {
    const char *root; /* the folder, or the configuration file of `run` and `check`, as given; NULL:
                         none was */
    size_t port;      /* of addresses given without one */
    bool port_given;  /* else those with TLS have UVH_OPTIONS_TLS_PORT */
    struct uvh_address listen[UVH_OPTIONS_LISTEN_MAX];
    size_t listen_count;                         /* 0: every IPv4 address */
    uvhttp_static_config_t files;                /* roots, `types` and `rules` unset */
    struct uvh_option_list types, cache_control; /* see file_rules.h */
    struct uvh_option_list downloads, headers;   /* the same */
    struct uvh_option_list more_roots, aliases;  /* see serve_site.h */
    /* a file of users and hashes; NULL: nobody is asked */
    const char *auth;
    /* paths and patterns, separated by spaces; NULL: none */
    const char *prewarm;
    struct uvh_tls_options tls;
    uvhttp_config_t config; /* `log` unset */
    uvhttp_log_level_t log_level;
    bool from_file; /* `root` is a configuration file */
    bool help;      /* --help was given; the rest is not complete */
    bool print_config;
    bool test; /* only look whether the file is right */
};

/* What a command of the program takes. */
enum uvh_command {
    UVH_COMMAND_SERVE, /* every option, and a folder */
    UVH_COMMAND_RUN,   /* those that are not about files, -t, and a file */
    UVH_COMMAND_CHECK  /* the same */
};

/* Every default. False when memory ran out. */
bool uvh_options_init(struct uvh_options *options);

/* Reads the environment, then `arguments` (without program and command name), which the options go
 * on pointing into. UVH_EXIT_OK, or an exit code after a message was printed. */
int uvh_options_parse(struct uvh_options *options, enum uvh_command command, int count,
                      char **arguments);

/* The arguments alone, for what has to be known before a file is read. */
int uvh_options_scan(struct uvh_options *options, enum uvh_command command, int count,
                     char **arguments);

/* True, or false when `text` is neither "on", "yes", "true", "1" nor the opposite of one. */
bool uvh_options_switch(const char *text, bool *on);

#define UVH_OPTIONS_VARIABLE_SIZE 64

/* The key of an option in a configuration file, and the field of a limit: "max-connections" gives
 * "max_connections". */
void uvh_options_key(const struct uvh_option *option, char key[UVH_OPTIONS_VARIABLE_SIZE]);

/* The environment variable of an option: "max-connections" gives "UVHTTP_MAX_CONNECTIONS". */
void uvh_options_variable(const struct uvh_option *option, char name[UVH_OPTIONS_VARIABLE_SIZE]);

#endif
