/* What `uvhttp serve` serves, as the one site that a configuration file would have for it: the
 * folder at "/", and a route for each alias. */
#ifndef UVH_APP_SERVE_SITE_H
#define UVH_APP_SERVE_SITE_H

#include "file_rules.h"
#include "setup.h"
#include "tls_options.h"

struct uvh_serve_site {
    struct uvh_setup_site site; /* whose routes are these */
    struct uvh_setup_route routes[1 + UVH_OPTIONS_LIST_MAX];
    struct uvh_file_rules rules;
    struct uvh_setup_tls tls;
    struct uvh_tls_files tls_files;
    struct uvh_text more_roots[UVH_OPTIONS_LIST_MAX];
    const char *more_root_paths[UVH_OPTIONS_LIST_MAX + 1]; /* the same as the library takes them */
    char *texts[4 + 3 * UVH_OPTIONS_LIST_MAX]; /* that all this points into, and are to be freed */
    size_t text_count;
};

/* Makes it from the options, which it points into: paths are absolute, and lead to something.
 * UVH_EXIT_OK, or an exit code after a message was printed. To be released, whatever the result. */
int uvh_serve_site_make(struct uvh_serve_site *made, const struct uvh_options *options);
void uvh_serve_site_release(struct uvh_serve_site *made);

/* Says why a folder cannot be served; UVH_EXIT_FAILED. `option` is the flag that named it, or NULL
 * for the folder itself. */
int uvh_serve_site_refuse_folder(const char *option, const char *folder, int err);

#endif
