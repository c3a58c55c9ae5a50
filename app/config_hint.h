/* Hints for keys that users of nginx, Caddy or Apache expect, and for our keys at another level. */
#ifndef UVH_APP_CONFIG_HINT_H
#define UVH_APP_CONFIG_HINT_H

enum { UVH_CONFIG_HINT_SIZE = 128 };

/* A sentence that names our key for `key`; NULL if there is none. */
const char *uvh_config_hint(const char *key, char text[UVH_CONFIG_HINT_SIZE]);

#endif
