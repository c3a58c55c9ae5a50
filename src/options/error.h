/* Fills the error object of a set-up call (uvhttp_error_t): which option, its value, the reason.
 * Strings that are too long end with a whole UTF-8 character.
 *
 * Each function accepts NULL for the object. A public function calls uvh_error_clear first and
 * returns the result of uvh_error_end. Called by all constructors, the router and the server. */
#ifndef UVH_OPTIONS_ERROR_H
#define UVH_OPTIONS_ERROR_H

#include <stdarg.h>

#include <uvhttp/error.h>

#if defined(__GNUC__)
#define UVH_ERROR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define UVH_ERROR_PRINTF(text, first)
#endif

void uvh_error_clear(uvhttp_error_t *error);

/* Sets the code, and its text unless there is one already. The text becomes one line. Returns
 * `code`. */
int uvh_error_end(uvhttp_error_t *error, int code);

/* The text is: FIELD is "VALUE"; REASON. `value` NULL: a secret, "(not shown)" in the text. Returns
 * UVHTTP_ECONFIG. */
int uvh_error_string(uvhttp_error_t *error, const char *field, const char *value,
                     const char *reason);

/* The text is: FIELD is VALUE; REASON. Returns UVHTTP_ECONFIG. */
UVH_ERROR_PRINTF(4, 5)
int uvh_error_size(uvhttp_error_t *error, const char *field, size_t value, const char *format, ...);
UVH_ERROR_PRINTF(4, 5)
int uvh_error_int(uvhttp_error_t *error, const char *field, int value, const char *format, ...);

/* The text is the reason. `value` NULL: none. Returns UVHTTP_ECONFIG. */
UVH_ERROR_PRINTF(4, 5)
int uvh_error_sentence(uvhttp_error_t *error, const char *field, const char *value,
                       const char *format, ...);
UVH_ERROR_PRINTF(4, 0)
int uvh_error_sentence_list(uvhttp_error_t *error, const char *field, const char *value,
                            const char *format, va_list arguments);

/* What the server must have before it listens: "routes must be added". Returns UVHTTP_EFROZEN. */
int uvh_error_frozen(uvhttp_error_t *error, const char *what);

/* Adds to the reason and the text. */
void uvh_error_append(uvhttp_error_t *error, const char *text);

/* Replaces the text. */
UVH_ERROR_PRINTF(2, 3)
void uvh_error_set_text(uvhttp_error_t *error, const char *format, ...);

/* Copies the error of another call: that of the server, for example. */
void uvh_error_copy(uvhttp_error_t *error, const uvhttp_error_t *from);

/* The bytes of a text that a reason quotes, for "%.*s": at most `most`, and whole characters. */
int uvh_error_quoted(const char *text, size_t most);

/* Change a member. No effect without an error. */
void uvh_error_set_value(uvhttp_error_t *error, const char *value);
void uvh_error_set_other(uvhttp_error_t *error, const char *other);

/* Changes the field; with uvh_error_within FIELD becomes NAME[index].FIELD. No effect without an
 * error. */
void uvh_error_set_field(uvhttp_error_t *error, const char *field);
void uvh_error_within(uvhttp_error_t *error, const char *name, size_t index);

#endif
