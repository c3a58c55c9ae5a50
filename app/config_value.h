/* Values of a configuration file: maps by tables of keys, and scalars by their expected type.
 *
 * All functions note a problem at the position of an unexpected value. A scalar target is then
 * unchanged; a list may be filled in part. */
#ifndef UVH_APP_CONFIG_VALUE_H
#define UVH_APP_CONFIG_VALUE_H

#include "setup.h"
#include "yaml_reader.h"

struct uvh_config_reader {
    struct uvh_yaml *yaml; /* allocates the arrays */
    struct uvh_problems *problems;
    struct uvh_setup *setup;
};

/* Reads the value of one key into `into`, the target of the map. */
typedef void (*uvh_config_read_cb)(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value, void *into);

/* The keys that a map may have; the last has no name. */
struct uvh_config_key {
    const char *name;
    uvh_config_read_cb read;
};

/* Calls the function of each key of a map with its value; an unknown key is a problem, which
 * suggests the nearest one. `what` is the name of the map in messages. False if it is no map. */
bool uvh_config_read_map(struct uvh_config_reader *reader, const struct uvh_yaml_node *map,
                         const char *what, const struct uvh_config_key *keys, void *into);

/* Notes an unknown key, with a suggestion among those that `name` returns. */
void uvh_config_refuse_key(struct uvh_config_reader *reader, const struct uvh_yaml_node *key,
                           const char *what, const char *(*name)(size_t index, const void *arg),
                           const void *arg);

/* The text of a scalar, which may be empty; NULL, with a problem, for anything else. */
const char *uvh_config_text(struct uvh_config_reader *reader, const struct uvh_yaml_node *value);

/* The same, but an empty text is a problem, too. */
const char *uvh_config_filled_text(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value);

/* True for a list with elements; anything else is a problem. */
bool uvh_config_is_list(struct uvh_config_reader *reader, const struct uvh_yaml_node *value);

/* A list of texts, or one text. */
void uvh_config_read_texts(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           struct uvh_text_list *list);

/* The same, joined with spaces; NULL with a problem if it is empty. */
const char *uvh_config_read_joined(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value);

/* A map of field names and values; fields that the server sets are a problem. */
void uvh_config_read_fields(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            struct uvh_field_list *list);

/* A number in a unit of uvhttp_config_parse, between `low` and `high`. */
void uvh_config_read_number(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            const char *unit, size_t low, size_t high, size_t *number);

/* The same for a duration in milliseconds. */
void uvh_config_read_ms(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        const char *unit, size_t low, size_t high, uint32_t *ms);

/* True or false, also as on and off, yes and no, 1 and 0. */
void uvh_config_read_switch(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            bool *on);

/* A number, or off: UVH_OPTION_OFF. */
void uvh_config_read_number_or_off(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value, const char *unit, size_t low,
                                   size_t high, size_t *number);

/* One of some words: its index, or -1. */
int uvh_config_read_word(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         const char *const *words, size_t count);

/* The same, where true and false are "on" and "off", too. */
int uvh_config_read_switch_or_word(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value, const char *const *words,
                                   size_t count);

/* The path of a route or rewrite: a pattern of uvhttp/router.h; NULL if it is no scalar. A problem
 * is noted for a regular expression. */
const char *uvh_config_pattern(struct uvh_config_reader *reader, const struct uvh_yaml_node *value);

/* A file system path, relative to the directory of the configuration file that contains it; NULL,
 * with a problem, if invalid. */
const char *uvh_config_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value);

/* A list of such paths, or one. */
void uvh_config_read_paths(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           struct uvh_text_list *list);

/* The same for a non-empty text that was read at `mark`; NULL, with a problem, if out of memory. */
const char *uvh_config_below_directory(struct uvh_config_reader *reader, struct uvh_mark mark,
                                       const char *text);

/* Zeroed memory that lives as long as the file; NULL, with a problem, if out of memory. */
void *uvh_config_allocate(struct uvh_config_reader *reader, size_t count, size_t size);

#endif
