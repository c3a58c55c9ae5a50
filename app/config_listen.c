/* See config_listen.h. */
#include "config_listen.h"

#include <string.h>

/* The map of a unix socket while it is read. */
struct map_reader {
    struct uvh_address *address;
    const char *path; /* NULL: none, or invalid */
};

static void read_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    ((struct map_reader *)into)->path = uvh_config_text(reader, value);
}

static void read_access(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    char error[UVH_ADDRESS_ERROR_SIZE];
    struct uvh_address *address = ((struct map_reader *)into)->address;
    const char *text = uvh_config_text(reader, value);
    if (text != NULL && !uvh_address_set_access(address, value->key->text, text, error))
        uvh_problems_add(reader->problems, value->mark, "%s", error);
}

/* Reads a text or a map. `path` receives the path of a unix socket, NULL for others. False if a
 * problem was noted. */
static bool read_given(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       struct uvh_address *address, const char **path)
{
    static const struct uvh_config_key keys[] = {{"unix", read_path},
                                                 {"mode", read_access},
                                                 {"owner", read_access},
                                                 {"group", read_access},
                                                 {NULL, NULL}};
    char error[UVH_ADDRESS_ERROR_SIZE];
    struct map_reader map = {.address = address};
    size_t before = reader->problems->count;
    if (value->kind != UVH_YAML_MAP) {
        const char *text = uvh_config_text(reader, value);
        if (text != NULL && !uvh_address_parse(text, strlen(text), address, error))
            uvh_problems_add(reader->problems, value->mark, "%s", error);
        *path = uvh_address_path(address);
    } else if (uvh_config_read_map(reader, value, "an address", keys, &map)) {
        *path = map.path;
        if (map.path == NULL && reader->problems->count == before)
            uvh_problems_add(reader->problems, value->mark,
                             "the map of an address requires 'unix', the path of a socket");
    }
    return reader->problems->count == before;
}

bool uvh_config_listen_read_address(struct uvh_config_reader *reader,
                                    const struct uvh_yaml_node *value, struct uvh_address *address)
{
    char error[UVH_ADDRESS_ERROR_SIZE];
    const char *path = NULL;
    *address = (struct uvh_address){.port = UVH_ADDRESS_NO_PORT};
    if (!read_given(reader, value, address, &path))
        return false;
    if (path == NULL)
        return true;
    if (*path != '@' && *path != '\0')
        path = uvh_config_below_directory(reader, value->mark, path);
    if (path == NULL)
        return false;
    if (uvh_address_set_path(address, path, error))
        return true;
    uvh_problems_add(reader->problems, value->mark, "%s", error);
    return false;
}

void uvh_config_listen_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into)
{
    struct uvh_setup *setup = into;
    bool list = value->kind == UVH_YAML_LIST;
    size_t count = list ? value->count : 1;
    if (count == 0)
        uvh_problems_add(reader->problems, value->mark,
                         "listen is an empty list; it needs at least one address");
    if (count > UVH_OPTIONS_LISTEN_MAX) {
        uvh_problems_add(reader->problems, value->mark,
                         "too many addresses; at most %d are allowed", UVH_OPTIONS_LISTEN_MAX);
        return;
    }
    for (const struct uvh_yaml_node *one = list ? value->first : value; setup->listen_count < count;
         one = one->next) {
        setup->listen_marks[setup->listen_count] = one->mark;
        uvh_config_listen_read_address(reader, one, &setup->listen[setup->listen_count++]);
    }
}
