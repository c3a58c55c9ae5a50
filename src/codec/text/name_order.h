/* The order of file names in a listing: numbers by value ("file2" before "file10"), letters without
 * regard to case and accents, independent of any locale.
 *
 * Always true: a total order; two names are equal only if all bytes are. Composed and decomposed
 * forms of a letter are sorted next to each other. Bytes that are not UTF-8 come last. */
#ifndef UVH_CODEC_TEXT_NAME_ORDER_H
#define UVH_CODEC_TEXT_NAME_ORDER_H

#include <stdbool.h>

/* Negative if `a` comes before `b`, positive if after, 0 if they are equal. */
int uvh_name_order_compare(const char *a, const char *b);

/* True if a part of the name is equal to `part` without regard to case and accents. Digits are
 * compared as characters. */
bool uvh_name_order_contains(const char *name, const char *part);

#endif
