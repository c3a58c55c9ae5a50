/* Writes the message about an invalid string in an options struct, in the form of option_check.h.
 *
 * Called by the constructors of modules. */
#ifndef UVH_OPTIONS_OPTION_TEXT_H
#define UVH_OPTIONS_OPTION_TEXT_H

#include <uvhttp/types.h>

/* The buffer of the message: `text` may be NULL with `size` 0. */
struct uvh_option_message {
    char *text;
    size_t size;
};

/* Writes: NAME is "VALUE"; ALLOWED. Returns UVHTTP_ECONFIG. */
int uvh_option_text_refuse(struct uvh_option_message message, const char *name, const char *value,
                           const char *allowed);

#endif
