/* Slices of NUL-terminated strings. */
#ifndef UVH_BASE_SLICE_H
#define UVH_BASE_SLICE_H

#include <string.h>

#include <uvhttp/types.h>

/* The slice of a string literal. */
#define UVH_SLICE(literal) ((uvhttp_slice_t){literal, sizeof(literal) - 1})

/* The slice of a string; `base` is NULL for NULL. */
static inline uvhttp_slice_t uvh_slice(const char *text)
{
    return (uvhttp_slice_t){text, text == NULL ? 0 : strlen(text)};
}

#endif
