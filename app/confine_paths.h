/* The files and directories that a server with a setup opens, as rules for `confine`. */
#ifndef UVH_APP_CONFINE_PATHS_H
#define UVH_APP_CONFINE_PATHS_H

#include "setup.h"

struct uvh_confine_path {
    const char *path; /* valid during the callback */
    struct uvh_mark mark;
    bool write;    /* also create, replace and remove what is in it */
    bool root;     /* the directory of a static route */
    bool required; /* of the option itself */
};

typedef void (*uvh_confine_path_cb)(const struct uvh_confine_path *path, void *arg);

/* Calls `visit` for each one. Of a file that may be replaced it is the directory, also that of a
 * link's target. `make`: creates the directory of a self-signed certificate. */
void uvh_confine_paths(const struct uvh_setup *setup, const struct uvh_options *options, bool make,
                       uvh_confine_path_cb visit, void *arg);

#endif
