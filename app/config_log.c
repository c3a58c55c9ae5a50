/* See config_log.h. */
#include "config_log.h"

#include <string.h>

#include "log_path.h"

static const char *const formats[] = {"common", "combined", "json"};

/* Habits from other keys and servers: `access_log: true`, `access_log: a.log json`. */
static const char *foreign_path(const char *path)
{
    const char *space = strrchr(path, ' ');
    for (size_t i = 0; space != NULL && i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(space + 1, formats[i]) == 0)
            return "ends with a format; use a map, such as {path: access.log, format: json}";
    }
    bool is_switch =
        strcmp(path, "true") == 0 || strcmp(path, "false") == 0 || strcmp(path, "on") == 0;
    return is_switch ? "is not a path; allowed are a path, \"-\" for standard output, or off"
                     : NULL;
}

static void read_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    bool output = value->kind == UVH_YAML_SCALAR && !uvh_log_path_is_file(value->text);
    const char *path = output ? value->text : uvh_config_path(reader, value);
    const char *why = path == NULL ? NULL : foreign_path(value->text);
    const char *meant = path == NULL ? NULL : uvh_log_path_meant(value->text);
    if (meant != NULL)
        uvh_problems_add(reader->problems, value->mark,
                         "access_log: '%s' is not a path; did you mean '%s'?", value->text, meant);
    else if (why != NULL)
        uvh_problems_add(reader->problems, value->mark, "access_log: '%s' %s", value->text, why);
    ((struct uvh_setup_log *)into)->path = (struct uvh_text){path, value->mark};
}

static void read_format(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    int format = uvh_config_read_word(reader, value, formats, sizeof(formats) / sizeof(formats[0]));
    if (format >= 0)
        ((struct uvh_setup_log *)into)->options.format = (uvhttp_access_format_t)format;
}

static void read_pattern(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    struct uvh_setup_log *log = into;
    log->options.pattern = uvh_config_text(reader, value);
    log->pattern = value->mark;
}

static void read_buffer(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    uvh_config_read_number(reader, value, "bytes", 65536, (size_t)1 << 30,
                           &((struct uvh_setup_log *)into)->options.buffer_size);
}

static void read_flush(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    uvh_config_read_ms(reader, value, "milliseconds", 1, 60000,
                       &((struct uvh_setup_log *)into)->options.flush_ms);
}

static void read_sample(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    size_t number = 0;
    uvh_config_read_number(reader, value, "requests", 1, 1000000, &number);
    ((struct uvh_setup_log *)into)->options.sample = (uint32_t)number;
}

void uvh_config_log_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         struct uvh_setup_log *log)
{
    static const struct uvh_config_key keys[] = {{"path", read_path},
                                                 {"format", read_format},
                                                 {"pattern", read_pattern},
                                                 {"buffer_size", read_buffer},
                                                 {"flush_ms", read_flush},
                                                 {"sample", read_sample},
                                                 {NULL, NULL}};
    const struct uvh_mark format = uvh_yaml_mark_of(value, "format", UVH_MARK_NONE);
    log->options.format = UVHTTP_ACCESS_COMBINED;
    if (value->kind == UVH_YAML_SCALAR && strcmp(value->text, "off") == 0)
        log->off = true;
    else if (value->kind == UVH_YAML_SCALAR && !value->nothing)
        read_path(reader, value, log);
    else if (uvh_config_read_map(reader, value, "access_log", keys, log) && log->path.text == NULL)
        uvh_problems_add(reader->problems, value->mark,
                         "access_log requires 'path'; \"-\" is standard output");
    if (log->options.pattern != NULL && format.line != 0)
        uvh_problems_add(reader->problems, format,
                         "access_log: only one of 'format' and 'pattern' can be given; the pattern "
                         "is a format of its own");
}
