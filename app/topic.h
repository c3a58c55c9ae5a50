/* Help about words that are no option: signals, reloading, variables, other servers. */
#ifndef UVH_APP_TOPIC_H
#define UVH_APP_TOPIC_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the text about `word`; false if there is none. */
bool uvh_topic_print(FILE *out, const char *word);

#endif
