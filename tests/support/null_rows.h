/* Rows of the tests that pass NULL for each pointer parameter of the public functions: what a call
 * gives, and that it does not crash. tools/check_null.py compares the rows with the headers.
 *
 * A call that crashes is reported with its function and parameter, and the rows after it still run,
 * so one run shows all of them. Locks and memory of such a call are lost. Use: null_rows_begin,
 * rows, null_rows_end. */
#ifndef UVH_SUPPORT_NULL_ROWS_H
#define UVH_SUPPORT_NULL_ROWS_H

#include <setjmp.h>
#include <stdbool.h>

extern sigjmp_buf null_rows_jump;

void null_rows_begin(void);
void null_rows_enter(const char *function, const char *parameter);
void null_rows_leave(bool held);

/* Restores what was there, and fails the test when a row has failed. */
void null_rows_end(void);

/* `expected` is an expression with a call of `function` whose `parameter` is NULL; true when it
 * gave what the header says. */
#define NULL_ROW(function, parameter, expected)     \
    do {                                            \
        if (sigsetjmp(null_rows_jump, 1) == 0) {    \
            null_rows_enter(#function, #parameter); \
            null_rows_leave(expected);              \
        } else {                                    \
            null_rows_leave(false);                 \
        }                                           \
    } while (0)

/* The same for a function without a result: it has to come back. */
#define NULL_CALL(function, parameter, call) NULL_ROW(function, parameter, ((call), true))

#endif
