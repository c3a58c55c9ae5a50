/* The files of a folder, and of those below it, that are worth compressing: by type and size.
 * Hidden ones are not among them but ".well-known", and symbolic links are not followed. Called by
 * the command precompress. */
#ifndef UVH_APP_SOURCES_H
#define UVH_APP_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct uvh_source {
    char *path; /* below the folder */
    uint64_t size;
};

struct uvh_sources {
    /* the largest first, so that the last one to be done is a small one */
    struct uvh_source *items;
    size_t count;
    size_t capacity;
    size_t failed; /* folders that could not be read */
};

/* Lists those of at least `min_size` bytes below an open folder; what cannot be read is told on
 * `errors`. False when memory ran out. */
bool uvh_sources_find(struct uvh_sources *sources, int root, uint64_t min_size, FILE *errors);

void uvh_sources_release(struct uvh_sources *sources);

#endif
