/* See config_auth.h. The library checks users and hashes when the site is built. */
#include "config_auth.h"

#include <string.h>

static void read_realm(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    ((struct uvh_setup_auth *)into)->realm = uvh_config_text(reader, value);
}

static void read_file(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    ((struct uvh_setup_auth *)into)->file =
        (struct uvh_text){uvh_config_path(reader, value), value->mark};
}

static void read_users(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    struct uvh_setup_auth *auth = into;
    if (value->kind != UVH_YAML_MAP) {
        uvh_problems_add(reader->problems, value->mark,
                         "users: expected a map of names and hashed passwords");
        return;
    }
    auth->users = uvh_config_allocate(reader, value->count, sizeof(*auth->users));
    for (const struct uvh_yaml_node *one = value->first; one != NULL && auth->users != NULL;
         one = one->next) {
        const char *hash = uvh_config_text(reader, one);
        if (hash != NULL)
            auth->users[auth->user_count++] = (uvhttp_hashed_user_t){one->key->text, hash};
    }
}

void uvh_config_auth_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          struct uvh_setup_auth *auth)
{
    static const struct uvh_config_key keys[] = {
        {"realm", read_realm}, {"users", read_users}, {"file", read_file}, {NULL, NULL}};
    auth->mark = value->mark;
    bool is_basic = strcmp(value->key->text, "basic_auth") == 0;
    size_t before = reader->problems->count;
    auth->off = is_basic && value->kind == UVH_YAML_SCALAR && strcmp(value->text, "off") == 0;
    if (auth->off)
        return;
    if (value->kind == UVH_YAML_SCALAR) {
        uvh_problems_add(reader->problems, value->mark,
                         "%s: expected a map, such as {file: staff}%s", value->key->text,
                         is_basic ? ", or off" : "");
        return;
    }
    if (uvh_config_read_map(reader, value, value->key->text, keys, auth) && auth->user_count == 0 &&
        auth->file.mark.line == 0 && reader->problems->count == before)
        uvh_problems_add(reader->problems, value->mark, "%s requires 'users' or 'file'",
                         value->key->text);
}
