/* The directory or file, and the aliases of `uvhttp serve`, as the equivalent site of a
 * configuration file: the directory at "/", and a route for each alias. */
#ifndef UVH_APP_SERVE_SITE_H
#define UVH_APP_SERVE_SITE_H

#include "file_rules.h"
#include "setup.h"
#include "tls_options.h"

struct uvh_serve_site {
    struct uvh_setup_site site; /* the owner of these routes */
    struct uvh_setup_route routes[1 + 2 * UVH_OPTIONS_LIST_MAX];
    size_t alias_count; /* of the routes after the first; redirects follow */
    struct uvh_setup_rewrite rewrites[UVH_OPTIONS_LIST_MAX];
    struct uvh_text allow[UVH_OPTIONS_LIST_MAX], deny[UVH_OPTIONS_LIST_MAX];
    struct uvh_text proxies[UVH_OPTIONS_LIST_MAX];
    struct uvh_text proxy_sources[UVH_OPTIONS_LIST_MAX];
    struct uvh_file_rules rules;
    struct uvh_setup_auth upload_auth;
    struct uvh_setup_tls tls;
    struct uvh_tls_files tls_files;
    struct uvh_text more_roots[UVH_OPTIONS_LIST_MAX];
    const char *more_root_paths[UVH_OPTIONS_LIST_MAX + 1]; /* the same in the library's form */
    /* referenced by the other members, freed with them */
    char *texts[9 + 6 * UVH_OPTIONS_LIST_MAX];
    size_t text_count;
    const char *metrics, *status, *access_log; /* as struct uvh_setup has them */
    const char *root; /* the absolute path of the directory or file, for the start output */
};

/* Builds it from the options, to which it refers: paths are absolute and exist. Returns
 * UVH_EXIT_OK, or an exit code after a message was printed. Release it in either case. */
int uvh_serve_site_make(struct uvh_serve_site *made, const struct uvh_options *options);
void uvh_serve_site_release(struct uvh_serve_site *made);

/* Prints why a directory cannot be served and returns UVH_EXIT_FAILED. `option` is the flag that
 * named it, or NULL for the root directory. */
int uvh_serve_site_refuse_directory(const char *option, const char *directory, int err);

#endif
