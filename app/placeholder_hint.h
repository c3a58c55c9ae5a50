/* Hints for variables of nginx and placeholders of Caddy in values. */
#ifndef UVH_APP_PLACEHOLDER_HINT_H
#define UVH_APP_PLACEHOLDER_HINT_H

#include <stddef.h>

/* Our placeholder for the foreign one at the start of `text`, such as "$uri" or "{uri}"; NULL if
 * there is none. `*length` receives the length of the foreign one. */
const char *uvh_placeholder_hint(const char *text, size_t *length);

#endif
