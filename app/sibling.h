/* Coded siblings of files: "style.css.br" beside "style.css". One that is at least as new as its
 * source counts, so each gets its source's time of modification: a change of the source, however
 * soon, makes it old.
 *
 * All names are paths below an open folder, and none is reached through a symbolic link. A sibling
 * appears in one step under its name, with its source's permissions. Called by the command
 * precompress, on several threads at a time. */
#ifndef UVH_APP_SIBLING_H
#define UVH_APP_SIBLING_H

#include <uvhttp.h>

enum { UVH_SIBLING_CODINGS = 3 };

struct uvh_sibling_coding {
    uvhttp_coding_t coding;
    const char *name;   /* "br" */
    const char *suffix; /* ".br" */
    int level_most;
};

/* The one that takes longest first. */
extern const struct uvh_sibling_coding uvh_sibling_codings[UVH_SIBLING_CODINGS];

enum uvh_sibling_outcome {
    UVH_SIBLING_MADE,
    UVH_SIBLING_FRESH,   /* it was there and counts */
    UVH_SIBLING_USELESS, /* it would not be smaller, and is not there (any more) */
    UVH_SIBLING_REMOVED,
    UVH_SIBLING_ABSENT, /* there was none to remove */
    UVH_SIBLING_FAILED, /* `error` says why */
};

struct uvh_sibling {
    int root;         /* the folder */
    const char *path; /* of the source */
    const struct uvh_sibling_coding *coding;
    int level;     /* the coding's own, or UVHTTP_COMPRESS_BEST or _DEFAULT */
    bool force;    /* also when there is one that counts */
    bool only_say; /* what would be done; changes nothing */
    /* What came of it. */
    uint64_t size, coded_size; /* of one that was made */
    char error[128];
};

/* Makes one, or sees that it is not needed. */
enum uvh_sibling_outcome uvh_sibling_make(struct uvh_sibling *sibling);

/* Removes one. */
enum uvh_sibling_outcome uvh_sibling_remove(struct uvh_sibling *sibling);

/* Opens a folder below another, "" for itself, following no symbolic link: a descriptor, or -1 with
 * errno. */
int uvh_sibling_open_folder(int root, const char *path);

#endif
