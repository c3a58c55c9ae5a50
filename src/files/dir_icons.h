/* Icons of a listing's rows, by the type of the file.
 *
 * Invariant: the shapes are in the page once, and each row refers to one: no image is loaded. */
#ifndef UVH_FILES_DIR_ICONS_H
#define UVH_FILES_DIR_ICONS_H

#include <stdbool.h>

#include "base/bytes.h"

/* The shapes, which are not visible themselves. */
void uvh_dir_icons_append_shapes(struct uvh_bytes *page);

/* The icon of an entry with this name. */
void uvh_dir_icons_append(const char *name, bool directory, struct uvh_bytes *page);

#endif
