/* Values PATH=TARGET of --rewrite and --redirect. */
#ifndef UVH_APP_MAPPING_H
#define UVH_APP_MAPPING_H

/* Returns NULL for a valid value, else what is allowed. */
const char *uvh_mapping_check(const char *text);

/* Splits a valid value in place. Returns the target. */
char *uvh_mapping_split(char *text);

#endif
