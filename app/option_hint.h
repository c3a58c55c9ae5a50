/* Hints for options and commands of other servers: nginx, Caddy, miniserve, Python's http.server
 * and Node's http-server and serve. config_hint.h has those for keys. */
#ifndef UVH_APP_OPTION_HINT_H
#define UVH_APP_OPTION_HINT_H

#include <stddef.h>

/* What to use instead, for "did you mean %s?"; NULL: unknown. `word` is an option as given, such as
 * "-c" or "--root", or a command. */
const char *uvh_option_hint(const char *word, size_t length);

#endif
