/* See switched_on.h. Iterates over the table of options, so that new options are included. */
#include "switched_on.h"

#include <stdio.h>
#include <string.h>

#define MAX_SHOWN 40 /* longer values are omitted, in bytes */

struct writer {
    char *text;
    size_t size, length;
};

static void put(struct writer *to, const char *text)
{
    for (const char *c = text; *c != '\0' && to->length + 1 < to->size; c++)
        to->text[to->length++] = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    to->text[to->length] = '\0';
}

static const void *field_of(const struct uvh_options *options, const struct uvh_option *option)
{
    return (const char *)options + option->offset;
}

static bool is_on(const struct uvh_options *options, const struct uvh_option *option)
{
    const void *field = field_of(options, option);
    switch (option->kind) {
    case UVH_OPTION_SWITCH: /* listings and tls-watch are on by default */
        return *(const bool *)field && field != &options->files.listing &&
               field != &options->tls.watch;
    case UVH_OPTION_NUMBER:
    case UVH_OPTION_SIZE:
        return *(const size_t *)field != 0;
    case UVH_OPTION_MS:
        return *(const uint32_t *)field != 0;
    case UVH_OPTION_PORT:
    case UVH_OPTION_TIME:
        return *(const size_t *)field != UVH_OPTION_OFF;
    case UVH_OPTION_TEXT:
        return *(const char *const *)field != NULL;
    case UVH_OPTION_LIST:
        return ((const struct uvh_option_list *)field)->count > 0;
    case UVH_OPTION_WORD:
        return *(const unsigned *)field != 0;
    case UVH_OPTION_LISTEN:
    case UVH_OPTION_LEVEL:
        break;
    }
    return false;
}

static void put_number(struct writer *to, size_t number, bool size)
{
    static const char *const suffixes[] = {"", "K", "M", "G"};
    size_t suffix = 0;
    char text[32];
    for (; size && number % 1024 == 0 && suffix < 3; suffix++)
        number /= 1024;
    snprintf(text, sizeof(text), " %zu%s", number, suffixes[suffix]);
    put(to, text);
}

static void put_text(struct writer *to, const char *text)
{
    if (strlen(text) > MAX_SHOWN)
        return;
    put(to, " ");
    put(to, *text == '\0' ? "\"\"" : text);
}

static void put_list(struct writer *to, const struct uvh_option_list *list)
{
    char text[32];
    snprintf(text, sizeof(text), " (%zu)", list->count);
    if (list->count == 1)
        put_text(to, list->items[0]);
    else
        put(to, text);
}

/* True if only programs of this machine can connect. */
static bool is_local(const struct uvh_address *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (uvh_address_path(&addresses[i]) == NULL && !uvh_address_is_loopback(addresses[i].host))
            return false;
    }
    return true;
}

static void put_value(struct writer *to, const struct uvh_options *options,
                      const struct uvh_option *option, bool local)
{
    const void *field = field_of(options, option);
    if (field == &options->files.uploads)
        put(to, options->auth != NULL || options->upload_auth != NULL ? " with a password"
                : local                                               ? " from this machine only"
                                                                      : " from any client");
    else if (option->kind == UVH_OPTION_NUMBER || option->kind == UVH_OPTION_SIZE ||
             option->kind == UVH_OPTION_PORT || option->kind == UVH_OPTION_TIME)
        put_number(to, *(const size_t *)field, option->kind == UVH_OPTION_SIZE);
    else if (option->kind == UVH_OPTION_MS)
        put_number(to, *(const uint32_t *)field, false);
    else if (option->kind == UVH_OPTION_TEXT)
        put_text(to, *(const char *const *)field);
    else if (option->kind == UVH_OPTION_LIST)
        put_list(to, field);
    else if (option->kind == UVH_OPTION_WORD)
        put_text(to, option->words[*(const unsigned *)field]);
}

void uvh_switched_on_write(const struct uvh_options *options, const struct uvh_address *addresses,
                           size_t count, bool complete, char *text, size_t size)
{
    struct writer to = {.text = text, .size = size};
    bool local = is_local(addresses, count);
    text[0] = '\0';
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        if (option->name == NULL || !option->serve_only || !is_on(options, option))
            continue;
        const void *field = field_of(options, option);
        if (!complete && (field == &options->files.hidden || field == &options->files.index))
            continue;
        put(&to, to.length > 0 ? ", " : "");
        put(&to, option->name);
        put_value(&to, options, option, local);
    }
}
