/* Compressed siblings of files: "style.css.br" beside "style.css". A sibling is up to date if it is
 * not older than its source. It gets its source's modification time, so that any later change of
 * the source makes it outdated.
 *
 * All names are paths below an open directory, and symbolic links are not followed. A sibling is
 * created atomically, with its source's permissions. Called by the command precompress, on several
 * threads. */
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

/* Slowest coding first. */
extern const struct uvh_sibling_coding uvh_sibling_codings[UVH_SIBLING_CODINGS];

enum uvh_sibling_outcome {
    UVH_SIBLING_MADE,
    UVH_SIBLING_FRESH,   /* it existed and is up to date */
    UVH_SIBLING_USELESS, /* it would not be smaller; an existing one was removed */
    UVH_SIBLING_REMOVED,
    UVH_SIBLING_ABSENT, /* there was none to remove */
    UVH_SIBLING_FAILED, /* see `error` */
};

struct uvh_sibling {
    int root;         /* the directory */
    const char *path; /* of the source */
    const struct uvh_sibling_coding *coding;
    int level;     /* the coding's own, or UVHTTP_COMPRESS_BEST or _DEFAULT */
    bool force;    /* also if there is one that is up to date */
    bool only_say; /* dry run: changes nothing */
    /* The result. */
    uint64_t size, coded_size; /* if a sibling was made */
    char error[128];
};

/* Creates a sibling, unless it is not needed. */
enum uvh_sibling_outcome uvh_sibling_make(struct uvh_sibling *sibling);

/* Removes a sibling. */
enum uvh_sibling_outcome uvh_sibling_remove(struct uvh_sibling *sibling);

/* Opens a directory below another, "" for itself, without following symbolic links. Returns a
 * descriptor, or -1 with errno. */
int uvh_sibling_open_directory(int root, const char *path);

#endif
