/* Expands ${VAR} and ${VAR:-default} in the scalars of a tree. Guarantees that the result is UTF-8
 * and of bounded size. */
#include "expand.h"

#include <stdlib.h>
#include <string.h>

#include "mapping.h"
#include "placeholder_hint.h"
#include "utf8.h"

#define NAME_SIZE 128
#define SIZE_MOST   \
    ((size_t)1024 * \
     1024) /* of all values with variables together: limits the growth by repeated variables */

struct expansion {
    struct uvh_yaml *yaml;
    uvh_variable_cb variable;
    struct uvh_problems *problems;
    char *text; /* SIZE_MOST bytes */
    size_t used;
};

static bool append(struct expansion *expansion, const char *text, size_t length)
{
    if (length >= SIZE_MOST - expansion->used)
        return false;
    memcpy(expansion->text + expansion->used, text, length);
    expansion->used += length;
    return true;
}

static size_t name_length(const char *text)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return *text >= '0' && *text <= '9' ? 0 : length;
}

/* "${NAME}" or "${NAME:-default}" at `*text`, which is set to the text after it. Returns the error
 * message, or NULL. */
static const char *expand_one(struct expansion *expansion, const struct uvh_yaml_node *node,
                              const char **text)
{
    const char *start = *text + 2;
    size_t length = name_length(start);
    const char *preset = start + length;
    size_t preset_length = 0;
    bool has_preset = strncmp(preset, ":-", 2) == 0;
    if (has_preset) {
        preset += 2;
        preset_length = strcspn(preset, "}");
    }
    const char *end = preset + preset_length;
    if (length == 0 || length >= NAME_SIZE || *end != '}')
        return "'$' must be followed by {NAME} or {NAME:-default}; write a dollar sign as $$";
    *text = end + 1;

    char foreign[NAME_SIZE + 1] = "$", *name = foreign + 1;
    memcpy(name, start, length);
    name[length] = '\0';
    const char *value = expansion->variable(name);
    if (value == NULL && !has_preset) {
        const char *ours = uvh_placeholder_hint(foreign, &length);
        uvh_problems_add(
            expansion->problems, node->mark,
            "the environment variable '%s' does not exist; ${%s:-default} sets a default%s%s", name,
            name, ours == NULL ? "" : ", and the value of a request is ", ours == NULL ? "" : ours);
        return NULL;
    }
    if (value != NULL && !uvh_utf8_valid(value)) {
        uvh_problems_add(expansion->problems, node->mark, "the variable '%s' is not valid UTF-8",
                         name);
        return NULL;
    }
    bool use_preset = has_preset && (value == NULL || *value == '\0');
    if (!append(expansion, use_preset ? preset : value, use_preset ? preset_length : strlen(value)))
        return "the values with variables are larger than 1 MiB";
    return NULL;
}

/* A '$' at `*text` that begins no variable. Returns as expand_one. */
static const char *refuse_dollar(struct expansion *expansion, const struct uvh_yaml_node *node,
                                 const char **text)
{
    size_t length;
    const char *ours = uvh_placeholder_hint(*text, &length);
    const char *allowed = node->key != NULL && strcmp(node->key->text, "path") == 0
                              ? uvh_mapping_check_path(node->text, strlen(node->text))
                              : NULL;
    if (allowed != NULL) {
        uvh_problems_add(expansion->problems, node->mark, "'%.80s' is invalid; allowed are %s",
                         node->text, allowed);
        *text += strlen(*text);
        return NULL;
    }
    if (ours == NULL)
        return "'$' must be followed by {NAME} or {NAME:-default}; write a dollar sign as $$";
    uvh_problems_add(expansion->problems, node->mark,
                     "'%.*s' is a variable of nginx; the placeholder is %s", (int)length, *text,
                     ours);
    *text += length;
    return NULL;
}

static const char *expand_text(struct expansion *expansion, struct uvh_yaml_node *node)
{
    size_t before = expansion->used;
    for (const char *text = node->text; *text != '\0';) {
        size_t plain = strcspn(text, "$");
        if (!append(expansion, text, plain))
            return "the values with variables are larger than 1 MiB";
        text += plain;
        const char *wrong = NULL;
        if (text[0] == '$' && text[1] == '$') {
            text += 2;
            wrong = append(expansion, "$", 1) ? NULL
                                              : "the values with variables are larger than 1 MiB";
        } else if (text[0] == '$' && text[1] == '{') {
            wrong = expand_one(expansion, node, &text);
        } else if (text[0] == '$') {
            wrong = refuse_dollar(expansion, node, &text);
        }
        if (wrong != NULL)
            return wrong;
    }
    size_t length = expansion->used - before;
    char *copy = uvh_yaml_allocate(expansion->yaml, length + 1);
    if (copy == NULL)
        return "out of memory";
    memcpy(copy, expansion->text + before, length);
    node->text = copy;
    return NULL;
}

/* At most UVH_YAML_DEPTH_MAX deep. */
static void expand_node(struct expansion *expansion, struct uvh_yaml_node *node)
{
    if (node->kind == UVH_YAML_SCALAR && strchr(node->text, '$') != NULL) {
        const char *wrong = expand_text(expansion, node);
        if (wrong != NULL)
            uvh_problems_add(expansion->problems, node->mark, "%s", wrong);
    }
    for (struct uvh_yaml_node *child = node->first; child != NULL; child = child->next)
        expand_node(expansion, child);
}

bool uvh_expand(struct uvh_yaml *yaml, uvh_variable_cb variable, struct uvh_problems *problems)
{
    size_t before = problems->count;
    struct expansion expansion = {
        .yaml = yaml, .variable = variable, .problems = problems, .text = malloc(SIZE_MOST)};
    if (expansion.text == NULL)
        uvh_problems_add(problems, UVH_MARK_NONE, "out of memory");
    else
        expand_node(&expansion, yaml->root);
    free(expansion.text);
    return problems->count == before;
}
