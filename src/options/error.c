/* See the header. */
#include "options/error.h"

#include <stdio.h>
#include <string.h>

void uvh_error_clear(uvhttp_error_t *error)
{
    if (error == NULL)
        return;
    error->code = 0;
    error->field[0] = error->value[0] = error->other[0] = '\0';
    error->reason[0] = error->text[0] = '\0';
}

int uvh_error_end(uvhttp_error_t *error, int code)
{
    if (error == NULL)
        return code;
    if (code == 0)
        uvh_error_clear(error);
    error->code = code;
    if (code != 0 && error->text[0] == '\0') {
        snprintf(error->reason, sizeof(error->reason), "%s", uvhttp_strerror(code));
        snprintf(error->text, sizeof(error->text), "%s", error->reason);
    }
    return code;
}

static void set(uvhttp_error_t *error, const char *field, const char *value)
{
    uvh_error_clear(error);
    error->code = UVHTTP_ECONFIG;
    snprintf(error->field, sizeof(error->field), "%s", field);
    snprintf(error->value, sizeof(error->value), "%s", value != NULL ? value : "");
}

int uvh_error_string(uvhttp_error_t *error, const char *field, const char *value,
                     const char *reason)
{
    if (error == NULL)
        return UVHTTP_ECONFIG;
    set(error, field, value);
    snprintf(error->reason, sizeof(error->reason), "%s", reason);
    snprintf(error->text, sizeof(error->text), "%s is \"%s\"; %s", field, error->value, reason);
    return UVHTTP_ECONFIG;
}

#if defined(__GNUC__)
__attribute__((format(printf, 4, 0)))
#endif
static int
set_number(uvhttp_error_t *error, const char *field, const char *value, const char *format,
           va_list arguments)
{
    if (error == NULL)
        return UVHTTP_ECONFIG;
    set(error, field, value);
    vsnprintf(error->reason, sizeof(error->reason), format, arguments);
    snprintf(error->text, sizeof(error->text), "%s is %s; %s", field, value, error->reason);
    return UVHTTP_ECONFIG;
}

int uvh_error_size(uvhttp_error_t *error, const char *field, size_t value, const char *format, ...)
{
    char number[24];
    va_list arguments;
    snprintf(number, sizeof(number), "%zu", value);
    va_start(arguments, format);
    int err = set_number(error, field, number, format, arguments);
    va_end(arguments);
    return err;
}

int uvh_error_int(uvhttp_error_t *error, const char *field, int value, const char *format, ...)
{
    char number[24];
    va_list arguments;
    snprintf(number, sizeof(number), "%d", value);
    va_start(arguments, format);
    int err = set_number(error, field, number, format, arguments);
    va_end(arguments);
    return err;
}

int uvh_error_sentence_list(uvhttp_error_t *error, const char *field, const char *value,
                            const char *format, va_list arguments)
{
    if (error == NULL)
        return UVHTTP_ECONFIG;
    set(error, field, value);
    vsnprintf(error->reason, sizeof(error->reason), format, arguments);
    snprintf(error->text, sizeof(error->text), "%s", error->reason);
    return UVHTTP_ECONFIG;
}

int uvh_error_sentence(uvhttp_error_t *error, const char *field, const char *value,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int err = uvh_error_sentence_list(error, field, value, format, arguments);
    va_end(arguments);
    return err;
}

void uvh_error_copy(uvhttp_error_t *error, const uvhttp_error_t *from)
{
    if (error != NULL)
        *error = *from;
}

static void append(char *to, size_t size, const char *text)
{
    size_t length = strlen(to);
    snprintf(to + length, size - length, "%s", text);
}

void uvh_error_append(uvhttp_error_t *error, const char *text)
{
    if (error == NULL)
        return;
    append(error->reason, sizeof(error->reason), text);
    append(error->text, sizeof(error->text), text);
}

void uvh_error_set_field(uvhttp_error_t *error, const char *field)
{
    if (error != NULL && error->code != 0)
        snprintf(error->field, sizeof(error->field), "%s", field);
}

void uvh_error_within(uvhttp_error_t *error, const char *name, size_t index)
{
    char field[sizeof(error->field)];
    if (error == NULL || error->code == 0)
        return;
    memcpy(field, error->field, sizeof(field));
    snprintf(error->field, sizeof(error->field), "%s[%zu]%s%.*s", name, index,
             field[0] == '\0' ? "" : ".", (int)sizeof(field) / 2, field);
}
