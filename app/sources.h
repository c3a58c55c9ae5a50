/* Finds the compressible files of a directory tree, by type and size. Skips hidden files except
 * ".well-known", and does not follow symbolic links. Called by the command precompress. */
#ifndef UVH_APP_SOURCES_H
#define UVH_APP_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct uvh_source {
    char *path; /* relative to the directory */
    uint64_t size;
};

struct uvh_sources {
    /* largest first, so that the last job is short */
    struct uvh_source *items;
    size_t count;
    size_t capacity;
    size_t failed; /* directories that could not be read */
};

/* Lists the files of at least `min_size` bytes below an open directory; read errors are printed to
 * `errors`. False if out of memory. */
bool uvh_sources_find(struct uvh_sources *sources, int root, uint64_t min_size, FILE *errors);

void uvh_sources_release(struct uvh_sources *sources);

#endif
