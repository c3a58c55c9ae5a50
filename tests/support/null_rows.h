/* Rows of the tests that pass NULL for each pointer parameter of the public functions. Each row
 * checks the result, and that the call does not crash. tools/check_null.py compares the rows with
 * the headers.
 *
 * A crash is reported with function and parameter, and the following rows still run. Locks and
 * memory of a crashed call leak. Usage: null_rows_begin, rows, null_rows_end. */
#ifndef UVH_SUPPORT_NULL_ROWS_H
#define UVH_SUPPORT_NULL_ROWS_H

#include <setjmp.h>
#include <stdbool.h>

extern sigjmp_buf null_rows_jump;

void null_rows_begin(void);
void null_rows_enter(const char *function, const char *parameter);
void null_rows_leave(bool passed);

/* Restores the signal handlers, and fails the test when a row has failed. */
void null_rows_end(void);

/* `expected` is an expression that calls `function` with NULL for `parameter`. It is true when the
 * result is the one that the header documents. */
#define NULL_ROW(function, parameter, expected)     \
    do {                                            \
        if (sigsetjmp(null_rows_jump, 1) == 0) {    \
            null_rows_enter(#function, #parameter); \
            null_rows_leave(expected);              \
        } else {                                    \
            null_rows_leave(false);                 \
        }                                           \
    } while (0)

/* The same for a function that returns nothing: the call must return. */
#define NULL_CALL(function, parameter, call) NULL_ROW(function, parameter, ((call), true))

#endif
