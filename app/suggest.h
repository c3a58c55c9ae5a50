/* "Did you mean": the nearest of some names. */
#ifndef UVH_APP_SUGGEST_H
#define UVH_APP_SUGGEST_H

#include <stddef.h>

/* Returns the name at `index`, or NULL after the last. */
typedef const char *(*uvh_name_cb)(size_t index, const void *arg);

/* The name most similar to `word`, or NULL if none is near. */
const char *uvh_suggest(const char *word, uvh_name_cb name, const void *arg);

#endif
