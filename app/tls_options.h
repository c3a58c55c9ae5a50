/* The TLS options of `uvhttp serve`, in the form of a configuration file. */
#ifndef UVH_APP_TLS_OPTIONS_H
#define UVH_APP_TLS_OPTIONS_H

#include "setup.h"

/* Memory that the setup refers to. */
struct uvh_tls_files {
    uvhttp_tls_certificate_t certificates[UVH_OPTIONS_LIST_MAX];
    char *paths[2 * UVH_OPTIONS_LIST_MAX + 4];
    size_t path_count;
};

/* An absolute path without links resolved, to be freed; NULL with errno set. */
char *uvh_tls_options_absolute(const char *file);

/* Fills `tls`, which refers to `made` and the options. Paths are absolute, and the files are
 * readable. Returns UVH_EXIT_OK, or an exit code after a message was printed. Release `made` in
 * either case. */
int uvh_tls_options_make(struct uvh_tls_files *made, const struct uvh_tls_options *given,
                         struct uvh_setup_tls *tls);
void uvh_tls_options_release(struct uvh_tls_files *made);

#endif
