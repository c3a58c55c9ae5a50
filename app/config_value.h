/* Values of a configuration file: maps by tables of keys, and scalars by what they are to be.
 *
 * All functions note a problem at the place of the value when it is not what is asked for, and then
 * leave the target alone. */
#ifndef UVH_APP_CONFIG_VALUE_H
#define UVH_APP_CONFIG_VALUE_H

#include "setup.h"
#include "yaml_reader.h"

struct uvh_config_reader {
    struct uvh_yaml *yaml; /* of which arrays are allocated */
    struct uvh_problems *problems;
    struct uvh_setup *setup;
    const char *folder; /* that relative paths begin in; "" for the current one */
};

/* Reads the value of one key into `into`, which is what the map stands for. */
typedef void (*uvh_config_read_cb)(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value, void *into);

/* The keys that a map may have; the last has no name. */
struct uvh_config_key {
    const char *name;
    uvh_config_read_cb read;
};

/* Hands every value of a map to its key's function; a key that is none is a problem, which names
 * the nearest. `what` is what the map is called in messages. False when it is no map. */
bool uvh_config_read_map(struct uvh_config_reader *reader, const struct uvh_yaml_node *map,
                         const char *what, const struct uvh_config_key *keys, void *into);

/* A key that is none among those that `name` gives. */
void uvh_config_refuse_key(struct uvh_config_reader *reader, const struct uvh_yaml_node *key,
                           const char *what, const char *(*name)(size_t index, const void *arg),
                           const void *arg);

/* A scalar that is there; NULL, with a problem, for anything else. */
const char *uvh_config_text(struct uvh_config_reader *reader, const struct uvh_yaml_node *value);

/* True for a list (of scalars or other values). */
bool uvh_config_is_list(struct uvh_config_reader *reader, const struct uvh_yaml_node *value);

/* A list of texts, or one text. */
void uvh_config_read_texts(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           struct uvh_text_list *list);

/* A map of field names and values, none of them one that the server sets. */
void uvh_config_read_fields(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            struct uvh_field_list *list);

/* A number in a unit of uvhttp_config_parse, between `low` and `high`. */
void uvh_config_read_number(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            const char *unit, size_t low, size_t high, size_t *number);

/* True or false, also as on and off, yes and no, 1 and 0. */
void uvh_config_read_switch(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            bool *on);

/* The same for what has a number unless it is off: UVH_OPTION_OFF then. */
void uvh_config_read_number_or_off(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value, const char *unit, size_t low,
                                   size_t high, size_t *number);

/* One of some words; its index, or -1. */
int uvh_config_read_word(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         const char *const *words, size_t count);

/* A path of the file system, from the configuration's folder on when it is relative; NULL, with a
 * problem, for none. */
const char *uvh_config_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value);

/* The path of a text that is not empty; NULL, with a problem, when there is no memory for it. */
const char *uvh_config_below_folder(struct uvh_config_reader *reader, const char *text);

/* Zeroed memory that lives as long as the file; NULL, with a problem, when there is none. */
void *uvh_config_allocate(struct uvh_config_reader *reader, size_t count, size_t size);

#endif
