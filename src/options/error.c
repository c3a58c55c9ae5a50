/* See the header. */
#include "options/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the UTF-8 character that begins with this one. */
static size_t announced(unsigned char lead)
{
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Removes the beginning of a character at the end of a text that fills its array. */
static void end_with_character(char *text, size_t size)
{
    size_t length = strlen(text), lead = length;
    if (length == 0 || length + 1 < size)
        return;
    do
        lead--;
    while (lead > 0 && length - lead < 4 && continues(text[lead]));
    if (length - lead < announced((unsigned char)text[lead]))
        text[lead] = '\0';
}

UVH_ERROR_PRINTF(3, 0)
static void put_list(char *to, size_t size, const char *format, va_list arguments)
{
    vsnprintf(to, size, format, arguments);
    end_with_character(to, size);
}

UVH_ERROR_PRINTF(3, 4)
static void put(char *to, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_list(to, size, format, arguments);
    va_end(arguments);
}

int uvh_error_quoted(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length <= most)
        return (int)length;
    for (length = most; length > 0 && most - length < 3 && continues(text[length]);)
        length--;
    return (int)length;
}

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
        put(error->reason, sizeof(error->reason), "%s", uvhttp_strerror(code));
        put(error->text, sizeof(error->text), "%s", error->reason);
    }
    for (char *at = error->text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    }
    return code;
}

static void set(uvhttp_error_t *error, const char *field, const char *value)
{
    uvh_error_clear(error);
    error->code = UVHTTP_ECONFIG;
    put(error->field, sizeof(error->field), "%s", field);
    put(error->value, sizeof(error->value), "%s", value != NULL ? value : "");
}

int uvh_error_string(uvhttp_error_t *error, const char *field, const char *value,
                     const char *reason)
{
    if (error == NULL)
        return UVHTTP_ECONFIG;
    set(error, field, value);
    put(error->reason, sizeof(error->reason), "%s", reason);
    put(error->text, sizeof(error->text), "%s is \"%s\"; %s", field,
        value == NULL ? "(not shown)" : error->value, reason);
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
    put_list(error->reason, sizeof(error->reason), format, arguments);
    put(error->text, sizeof(error->text), "%s is %s; %s", field, value, error->reason);
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
    put_list(error->reason, sizeof(error->reason), format, arguments);
    put(error->text, sizeof(error->text), "%s", error->reason);
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

int uvh_error_frozen(uvhttp_error_t *error, const char *what)
{
    (void)uvh_error_sentence(error, "", NULL, "%s before the server listens", what);
    return UVHTTP_EFROZEN;
}

void uvh_error_copy(uvhttp_error_t *error, const uvhttp_error_t *from)
{
    if (error != NULL)
        *error = *from;
}

static void append(char *to, size_t size, const char *text)
{
    size_t length = strlen(to);
    put(to + length, size - length, "%s", text);
}

void uvh_error_append(uvhttp_error_t *error, const char *text)
{
    if (error == NULL)
        return;
    append(error->reason, sizeof(error->reason), text);
    append(error->text, sizeof(error->text), text);
}

void uvh_error_set_text(uvhttp_error_t *error, const char *format, ...)
{
    va_list arguments;
    if (error == NULL)
        return;
    va_start(arguments, format);
    put_list(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
}

void uvh_error_set_value(uvhttp_error_t *error, const char *value)
{
    if (error != NULL && error->code != 0)
        put(error->value, sizeof(error->value), "%s", value);
}

void uvh_error_set_other(uvhttp_error_t *error, const char *other)
{
    if (error != NULL && error->code != 0)
        put(error->other, sizeof(error->other), "%s", other);
}

void uvh_error_set_field(uvhttp_error_t *error, const char *field)
{
    if (error != NULL && error->code != 0)
        put(error->field, sizeof(error->field), "%s", field);
}

void uvh_error_within(uvhttp_error_t *error, const char *name, size_t index)
{
    char field[sizeof(error->field)];
    if (error == NULL || error->code == 0)
        return;
    memcpy(field, error->field, sizeof(field));
    put(error->field, sizeof(error->field), "%s[%zu]%s%s", name, index, field[0] == '\0' ? "" : ".",
        field);
}
