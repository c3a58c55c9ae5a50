/* Finds the name nearest to a misspelt one, by the number of letters to insert, remove, replace or
 * swap with their neighbour. Called for unknown keys. */
#include "suggest.h"

#include <string.h>

#define LONGEST 48 /* longer than every key */

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

static size_t distance(const char *one, size_t one_length, const char *other, size_t other_length)
{
    size_t rows[3][LONGEST + 1]; /* of the last three letters of `one`, used as a ring */
    for (size_t k = 0; k <= other_length; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= one_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= other_length; k++) {
            size_t same = one[i - 1] == other[k - 1] ? 0 : 1;
            row[k] = least(least(above[k], row[k - 1]) + 1, above[k - 1] + same);
            if (i > 1 && k > 1 && one[i - 1] == other[k - 2] && one[i - 2] == other[k - 1])
                row[k] = least(row[k], above_that[k - 2] + 1);
        }
    }
    return rows[one_length % 3][other_length];
}

const char *uvh_suggest(const char *word, uvh_name_cb name, const void *arg)
{
    size_t length = strlen(word);
    if (length > LONGEST)
        return NULL;
    const char *best = NULL, *one;
    size_t best_distance = length / 3 + 1; /* short words are near to many others */
    for (size_t i = 0; (one = name(i, arg)) != NULL; i++) {
        size_t one_length = strlen(one);
        if (one_length > LONGEST)
            continue;
        size_t steps = distance(word, length, one, one_length);
        if (steps < best_distance) {
            best = one;
            best_distance = steps;
        }
    }
    return best;
}
