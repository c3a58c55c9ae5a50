/* Builds the tree of a YAML document from libyaml's events. Guarantees termination for every input:
 * size, depth and keys of a map are limited, and references are not allowed. */
#include "yaml_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

struct block {
    struct block *next;
    max_align_t data[];
};

/* An open map or list. */
struct level {
    struct uvh_yaml_node *node;
    struct uvh_yaml_node *last; /* value */
    struct uvh_yaml_node *key;  /* of a map: a key that was read, before its value */
};

struct reader {
    struct uvh_yaml *yaml;
    struct uvh_problems *problems;
    struct level levels[UVH_YAML_DEPTH_MAX];
    size_t depth;
    /* end of reading: the document has ended, or the rest cannot be parsed */
    bool over;
};

void *uvh_yaml_allocate(struct uvh_yaml *yaml, size_t size)
{
    struct block *block =
        size > SIZE_MAX - sizeof(*block) ? NULL : calloc(1, sizeof(*block) + size);
    if (block == NULL)
        return NULL;
    block->next = yaml->blocks;
    yaml->blocks = block;
    return block->data;
}

void uvh_yaml_release(struct uvh_yaml *yaml)
{
    struct block *block = yaml->blocks;
    while (block != NULL) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
    *yaml = (struct uvh_yaml){.root = NULL};
}

static struct uvh_mark mark_of(const struct uvh_yaml *yaml, const yaml_mark_t *mark)
{
    return (struct uvh_mark){mark->line + 1, mark->column + 1, yaml->source};
}

/* The file as a whole. */
static struct uvh_mark whole(const struct uvh_yaml *yaml)
{
    return (struct uvh_mark){.source = yaml->source};
}

static void refuse(struct reader *reader, const yaml_mark_t *mark, const char *why)
{
    uvh_problems_add(reader->problems, mark_of(reader->yaml, mark), "%s", why);
    reader->over = true;
}

/* Adds a node to the open map or list, or makes it the root. False if it is a key. */
static bool place(struct reader *reader, struct uvh_yaml_node *node)
{
    if (reader->depth == 0) {
        reader->yaml->root = node;
        return true;
    }
    struct level *level = &reader->levels[reader->depth - 1];
    if (level->node->kind == UVH_YAML_MAP && level->key == NULL) {
        level->key = node;
        return false;
    }
    node->key = level->key;
    level->key = NULL;
    if (level->last == NULL)
        level->node->first = node;
    else
        level->last->next = node;
    level->last = node;
    level->node->count++;
    return true;
}

static void check_key(struct reader *reader, const yaml_event_t *event,
                      const struct uvh_yaml_node *key)
{
    const struct uvh_yaml_node *map = reader->levels[reader->depth - 1].node;
    if (key->kind != UVH_YAML_SCALAR) {
        refuse(reader, &event->start_mark, "a key must be a single value, not a list or a map");
        return;
    }
    if (map->count == UVH_YAML_KEYS_MAX) {
        refuse(reader, &event->start_mark, "a map has more than 500 keys");
        return;
    }
    for (const struct uvh_yaml_node *value = map->first; value != NULL; value = value->next) {
        if (strcmp(value->key->text, key->text) == 0) {
            uvh_problems_add(reader->problems, key->mark,
                             "duplicate key '%s'; the first is in line %zu", key->text,
                             value->key->mark.line);
            return;
        }
    }
}

static struct uvh_yaml_node *add_node(struct reader *reader, const yaml_event_t *event,
                                      enum uvh_yaml_kind kind, size_t more)
{
    struct uvh_yaml_node *node = uvh_yaml_allocate(reader->yaml, sizeof(*node) + more);
    if (node == NULL) {
        refuse(reader, &event->start_mark, "out of memory");
        return NULL;
    }
    node->kind = kind;
    node->mark = mark_of(reader->yaml, &event->start_mark);
    return node;
}

static void add_scalar(struct reader *reader, const yaml_event_t *event)
{
    size_t length = event->data.scalar.length;
    if (memchr(event->data.scalar.value, 0, length) != NULL) {
        refuse(reader, &event->start_mark, "a value contains a NUL character");
        return;
    }
    struct uvh_yaml_node *node = add_node(reader, event, UVH_YAML_SCALAR, length + 1);
    if (node == NULL)
        return;
    char *text = (char *)(node + 1);
    memcpy(text, event->data.scalar.value, length);
    node->text = text;
    node->nothing = length == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (!place(reader, node))
        check_key(reader, event, node);
}

static void open_level(struct reader *reader, const yaml_event_t *event, enum uvh_yaml_kind kind)
{
    if (reader->depth == UVH_YAML_DEPTH_MAX) {
        refuse(reader, &event->start_mark, "maps and lists are nested more than 16 deep");
        return;
    }
    struct uvh_yaml_node *node = add_node(reader, event, kind, 0);
    if (node == NULL)
        return;
    if (!place(reader, node)) {
        check_key(reader, event, node);
        return;
    }
    reader->levels[reader->depth++] = (struct level){.node = node};
}

static const yaml_char_t *tag_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.tag;
    default:
        return NULL;
    }
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

static void take(struct reader *reader, const yaml_event_t *event)
{
    if (anchor_of(event) != NULL || event->type == YAML_ALIAS_EVENT) {
        refuse(reader, &event->start_mark,
               "anchors (&name) and aliases (*name) are not supported; quote a value that begins "
               "with '&' or '*'");
        return;
    }
    if (tag_of(event) != NULL) {
        refuse(reader, &event->start_mark,
               "tags are not supported; quote a value that begins with '!'");
        return;
    }
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (reader->yaml->root != NULL)
            refuse(reader, &event->start_mark,
                   "a second document begins here; only one is allowed");
        break;
    case YAML_SCALAR_EVENT:
        add_scalar(reader, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_level(reader, event, UVH_YAML_LIST);
        break;
    case YAML_MAPPING_START_EVENT:
        open_level(reader, event, UVH_YAML_MAP);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        break;
    case YAML_STREAM_END_EVENT:
        reader->over = true;
        break;
    default:
        break;
    }
}

/* The most frequent causes of libyaml's errors, by a part of their text. */
static const struct {
    const char *problem, *cause;
} causes[] = {
    {"cannot start any token", "no value can begin with this character, such as a tab, '@' or '`' "
                               "(indent with spaces)"},
    {"block sequence entries",
     "the value \"-\" must be quoted; a list begins in a line of its own"},
    {"did not find expected key",
     "a key was expected here; check the indentation, and quote a value that begins with '{' or "
     "'['"},
    {"<document start>", "the file goes on after the end of its map or list; to translate a "
                         "configuration of another server see 'uvhttp help nginx'"},
};

static const char *cause_of(const char *problem)
{
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (strstr(problem, causes[i].problem) != NULL)
            return causes[i].cause;
    }
    return NULL;
}

/* libyaml's error for invalid YAML, or its cause. */
static void note_error(const struct uvh_yaml *yaml, struct uvh_problems *problems,
                       const yaml_parser_t *parser)
{
    struct uvh_mark mark = mark_of(yaml, &parser->problem_mark);
    const char *problem = parser->problem == NULL ? "unknown error" : parser->problem;
    const char *cause = cause_of(problem);
    if (parser->error == YAML_MEMORY_ERROR)
        uvh_problems_add(problems, whole(yaml), "out of memory");
    else if (parser->error == YAML_READER_ERROR)
        uvh_problems_add(problems, whole(yaml), "not valid UTF-8: %s at byte %zu", problem,
                         parser->problem_offset);
    else if (cause != NULL)
        uvh_problems_add(problems, mark, "invalid YAML: %s", cause);
    else if (parser->context != NULL && strstr(parser->context, "scanning an a") != NULL)
        uvh_problems_add(problems, mark,
                         "invalid YAML: a value that begins with '*' or '&' must be quoted");
    else if (parser->context != NULL)
        uvh_problems_add(problems, mark, "invalid YAML: %s, %s", parser->context, problem);
    else
        uvh_problems_add(problems, mark, "invalid YAML: %s", problem);
}

bool uvh_yaml_read(struct uvh_yaml *yaml, const char *bytes, size_t size,
                   struct uvh_problems *problems)
{
    size_t before = problems->count;
    yaml_parser_t parser;
    yaml->root = NULL;
    if (size > UVH_YAML_SIZE_MAX) {
        uvh_problems_add(problems, whole(yaml), "the file is larger than 1 MiB");
        return false;
    }
    if (!yaml_parser_initialize(&parser)) {
        uvh_problems_add(problems, whole(yaml), "out of memory");
        return false;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    /* With a set encoding, libyaml does not skip the byte order mark. */
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3;
        size -= 3;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, size);
    struct reader reader = {.yaml = yaml, .problems = problems};
    while (!reader.over) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            note_error(yaml, problems, &parser);
            break;
        }
        take(&reader, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if ((yaml->root == NULL || yaml->root->nothing) && problems->count == before)
        uvh_problems_add(problems, whole(yaml), "the file is empty");
    return problems->count == before;
}

struct uvh_mark uvh_yaml_mark_of(const struct uvh_yaml_node *map, const char *key,
                                 struct uvh_mark otherwise)
{
    for (const struct uvh_yaml_node *value = map->first; value != NULL; value = value->next) {
        if (value->key != NULL && strcmp(value->key->text, key) == 0)
            return value->mark;
    }
    return otherwise;
}
