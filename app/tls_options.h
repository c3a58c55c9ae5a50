/* What the options of `uvhttp serve` say of TLS, as a configuration file would say it. */
#ifndef UVH_APP_TLS_OPTIONS_H
#define UVH_APP_TLS_OPTIONS_H

#include "setup.h"

/* What the setup points into. */
struct uvh_tls_files {
    uvhttp_tls_certificate_t certificates[UVH_OPTIONS_LIST_MAX];
    char *paths[2 * UVH_OPTIONS_LIST_MAX + 4];
    size_t path_count;
};

/* Fills `tls`, which points into `made` and the options: paths are absolute, and lead to something that can be
 * read. UVH_EXIT_OK, or an exit code after a message was printed. To be released, whatever the result. */
int uvh_tls_options_make(struct uvh_tls_files *made, const struct uvh_tls_options *given,
                         struct uvh_setup_tls *tls);
void uvh_tls_options_release(struct uvh_tls_files *made);

#endif
