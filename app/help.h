/* The help pages of the commands that serve. */
#ifndef UVH_APP_HELP_H
#define UVH_APP_HELP_H

#include <stdio.h>

#include "options.h"

/* The ten most common options of `serve`. */
void uvh_help_common(FILE *out);

/* The page of `serve`, with the common options only or with `all` options by group. */
void uvh_help_serve(FILE *out, bool all);

/* Whether `name` contains `word`, or a word of `text` begins with it, in any case. */
bool uvh_help_mentions(const char *name, const char *text, const char *word);

/* The options of `serve` about a word: in their name, their text, or as "-p". Returns their number.
 * `after_others`: a blank line precedes them. */
size_t uvh_help_about(FILE *out, const char *word, bool after_others);

/* The page of `run` or `check`. */
void uvh_help_run(FILE *out, enum uvh_command command);

#endif
