/* Messages of the library name fields of its structs, which are keys in a configuration file; here
 * they are changed to the names of options. */
#include <stdio.h>
#include <string.h>

#include "options.h"

/* The option with this key. */
static const struct uvh_option *find(const char *key, size_t length)
{
    for (size_t i = 0; i < uvh_option_count; i++) {
        char own[UVH_OPTIONS_VARIABLE_SIZE];
        if (uvh_option_table[i].name == NULL)
            continue;
        uvh_options_key(&uvh_option_table[i], own);
        if (strlen(own) == length && memcmp(own, key, length) == 0)
            return &uvh_option_table[i];
    }
    return NULL;
}

static bool follows(const char *message, const char *at, const char *words)
{
    size_t length = strlen(words);
    return (size_t)(at - message) >= length && memcmp(at - length, words, length) == 0;
}

/* True if a word is a key and not a word of the sentence, such as "index". */
static bool is_key(const char *message, const char *word, size_t length)
{
    return memchr(word, '_', length) != NULL || word == message || follows(message, word, "but ") ||
           follows(message, word, "without ") || follows(message, word, "combined with ");
}

/* The length of a word, of a quoted value, or of what is between them. */
static size_t part_length(const char *at, size_t word)
{
    const char *end = *at == '\'' || *at == '"' ? strchr(at + 1, *at) : NULL;
    if (end != NULL)
        return (size_t)(end - at) + 1;
    return word > 0 ? word : 1 + strcspn(at + 1, "'\"abcdefghijklmnopqrstuvwxyz_");
}

const char *uvh_option_rename_keys(const char *message, char text[UVH_OPTION_TEXT_SIZE])
{
    size_t used = 0, length;
    text[0] = '\0';
    for (const char *at = message; *at != '\0' && used < UVH_OPTION_TEXT_SIZE; at += length) {
        const struct uvh_option *option = NULL;
        size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyz_"), size = UVH_OPTION_TEXT_SIZE - used;
        length = part_length(at, word);
        if (word > 0 && is_key(message, at, word))
            option = find(at, word);
        used += (size_t)(option != NULL ? snprintf(text + used, size, "--%s", option->name)
                                        : snprintf(text + used, size, "%.*s", (int)length, at));
    }
    return text;
}
