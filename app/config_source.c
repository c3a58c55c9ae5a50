/* See config_source.h. Guarantees termination: a file that includes itself, directly or through
 * others, is rejected, and so are more than FILES_MAX files. */
#include "config_source.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absolute_path.h"
#include "config_value.h"

enum { FILES_MAX = 1000 };

/* The files that are included while one tree is built. */
struct include {
    struct uvh_yaml *yaml; /* of the main file, with the memory of all */
    uvh_variable_cb variable;
    struct uvh_problems *problems;
    size_t count;
};

/* The whole file, or one byte more than the maximum of a larger one; NULL with errno set. */
static char *read_all(int descriptor, size_t *size)
{
    const size_t capacity = UVH_YAML_SIZE_MAX + 1;
    char *bytes = malloc(capacity);
    if (bytes == NULL)
        return NULL;
    *size = 0;
    while (*size < capacity) {
        ssize_t length = read(descriptor, bytes + *size, capacity - *size);
        if (length == 0)
            return bytes;
        if (length > 0) {
            *size += (size_t)length;
        } else if (errno != EINTR) {
            free(bytes);
            return NULL;
        }
    }
    return bytes;
}

static const char *reason_of(int number)
{
    switch (number) {
    case ENOENT:
        return "the file does not exist";
    case EISDIR:
        return "is a directory, not a configuration file";
    case EACCES:
        return "no permission to read the file";
    default:
        return strerror(number);
    }
}

/* The length of the directory in a path, with its final slash. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Stores the directory of a file as an absolute path, so that messages and printed configurations
 * do not depend on the current directory. */
static struct uvh_source *make_source(struct uvh_yaml *yaml, const char *name)
{
    char given[PATH_MAX] = ".";
    size_t length = directory_length(name);
    if (length >= sizeof(given)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (length > 0) {
        memcpy(given, name, length);
        given[length] = '\0';
    }
    char *directory = uvh_absolute_path(given);
    if (directory == NULL)
        return NULL;
    struct uvh_source *source = uvh_yaml_allocate(yaml, sizeof(*source) + strlen(directory) + 1);
    if (source != NULL) {
        *source = (struct uvh_source){
            .name = name, .directory = (char *)(source + 1), .next = yaml->sources};
        memcpy(source + 1, directory, strlen(directory) + 1);
        yaml->sources = source;
    }
    free(directory);
    errno = ENOMEM;
    return source;
}

const char *uvh_config_source_read(struct uvh_yaml *yaml, const char *name,
                                   struct uvh_config_bytes *read)
{
    bool input = strcmp(name, "-") == 0;
    int descriptor = input ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    *read = (struct uvh_config_bytes){.source = NULL};
    if (descriptor >= 0)
        read->bytes = read_all(descriptor, &read->size);
    if (read->bytes != NULL)
        read->source = make_source(yaml, name);
    int number = errno;
    if (descriptor >= 0 && !input)
        close(descriptor);
    if (read->source != NULL)
        return NULL;
    free(read->bytes);
    return reason_of(number);
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static bool is_fifo(const char *name)
{
    struct stat facts;
    return stat(name, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

static struct uvh_yaml_node **find_key(struct uvh_yaml_node *map, const char *key)
{
    struct uvh_yaml_node **at = &map->first;
    while (*at != NULL && strcmp((*at)->key->text, key) != 0)
        at = &(*at)->next;
    return at;
}

static void append(struct uvh_yaml_node *to, struct uvh_yaml_node *nodes, size_t count)
{
    struct uvh_yaml_node **end = &to->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = nodes;
    to->count += count;
}

/* Moves the content of a file to the main tree. */
static void merge(const struct include *include, struct uvh_yaml_node *map)
{
    char where[UVH_MARK_TEXT];
    struct uvh_yaml_node *root = include->yaml->root, *next;
    for (struct uvh_yaml_node *value = map->first; value != NULL; value = next) {
        struct uvh_yaml_node *known = *find_key(root, value->key->text);
        bool lists = known != NULL && known->kind == UVH_YAML_LIST && value->kind == UVH_YAML_LIST;
        next = value->next;
        value->next = NULL;
        if (known == NULL)
            append(root, value, 1);
        else if (lists && strcmp(value->key->text, "sites") == 0)
            append(known, value->first, value->count);
        else
            uvh_problems_add(include->problems, value->key->mark,
                             "duplicate key '%s'; the first is in %s", value->key->text,
                             uvh_mark_describe(&known->key->mark, &value->key->mark, where));
    }
}

static void include_all(struct include *include, struct uvh_yaml_node *map);

/* Reads one file into the main tree. `name` lives as long as the tree. */
static void include_one(struct include *include, const char *name, struct uvh_mark mark)
{
    struct uvh_config_bytes read = {.bytes = NULL};
    const char *why = NULL;
    for (const struct uvh_source *one = mark.source; one != NULL && why == NULL;
         one = one->includer) {
        if (is_same_file(one->name, name))
            why = one == mark.source ? "it is this file" : "it includes this file";
    }
    if (why == NULL && is_fifo(name))
        why = "it is a FIFO, which a reload could not read";
    if (why == NULL && include->count == FILES_MAX)
        why = "there are too many files; at most 1000 are allowed";
    if (why == NULL)
        why = uvh_config_source_read(include->yaml, name, &read);
    if (why != NULL) {
        uvh_problems_add(include->problems, mark, "cannot include '%s': %s", name, why);
        return;
    }
    read.source->number = ++include->count;
    read.source->includer = mark.source;
    struct uvh_yaml part = {.source = read.source, .blocks = include->yaml->blocks};
    bool good = uvh_yaml_read(&part, read.bytes, read.size, include->problems) &&
                uvh_expand(&part, include->variable, include->problems);
    include->yaml->blocks = part.blocks;
    free(read.bytes);
    if (good && part.root->kind != UVH_YAML_MAP) {
        uvh_problems_add(include->problems, part.root->mark,
                         "expected a map of keys and values, as in the main file");
    } else if (good) {
        include_all(include, part.root);
        merge(include, part.root);
    }
}

/* The path of an included file, relative to the current directory as that of the including one. */
static char *make_name(struct include *include, const char *includer, const char *text)
{
    size_t length = *text == '/' ? 0 : directory_length(includer);
    char *name = uvh_yaml_allocate(include->yaml, length + strlen(text) + 1);
    if (name == NULL) {
        uvh_problems_add(include->problems, UVH_MARK_NONE, "out of memory");
        return NULL;
    }
    memcpy(name, includer, length);
    memcpy(name + length, text, strlen(text) + 1);
    return name;
}

static bool is_regular(const char *name)
{
    struct stat found;
    return stat(name, &found) == 0 && S_ISREG(found.st_mode);
}

/* One file, or the regular files that match a pattern; it may match none. */
static void include_text(struct include *include, const struct uvh_text *text)
{
    glob_t found;
    const char *name = make_name(include, text->mark.source->name, text->text);
    if (name == NULL)
        return;
    if (strpbrk(text->text, "*?[") == NULL) {
        include_one(include, name, text->mark);
        return;
    }
    if (glob(name, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *one =
            is_regular(found.gl_pathv[i]) ? make_name(include, "", found.gl_pathv[i]) : NULL;
        if (one != NULL)
            include_one(include, one, text->mark);
    }
    globfree(&found);
}

static void include_all(struct include *include, struct uvh_yaml_node *map)
{
    struct uvh_config_reader reader = {.yaml = include->yaml, .problems = include->problems};
    struct uvh_text_list list = {.count = 0};
    struct uvh_yaml_node **at = find_key(map, "include"), *value = *at;
    if (value == NULL)
        return;
    *at = value->next;
    map->count--;
    uvh_config_read_texts(&reader, value, &list);
    for (size_t i = 0; i < list.count; i++)
        include_text(include, &list.items[i]);
}

bool uvh_config_source_include(struct uvh_yaml *yaml, uvh_variable_cb variable,
                               struct uvh_problems *problems)
{
    size_t before = problems->count;
    struct include include = {.yaml = yaml, .variable = variable, .problems = problems};
    if (yaml->root->kind == UVH_YAML_MAP)
        include_all(&include, yaml->root);
    return problems->count == before;
}
