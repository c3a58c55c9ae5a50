/* The options of `uvhttp serve` and `uvhttp run` as one table: what a flag is called, where its
 * value goes and what help says of it.
 *
 * Always true: every row works as a flag and as the environment variable UVHTTP_NAME, and stands in
 * the help page, because all three are made from the table. A row without a name opens a group of
 * the help page. */
#ifndef UVH_APP_OPTION_TABLE_H
#define UVH_APP_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uvh_option_kind {
    UVH_OPTION_SWITCH, /* bool: --name and --no-name */
    UVH_OPTION_NUMBER, /* size_t */
    UVH_OPTION_SIZE,   /* size_t in bytes; K, M and G may follow */
    UVH_OPTION_PORT,   /* size_t: a port, or UVH_OPTION_OFF */
    UVH_OPTION_TIME,   /* size_t: seconds, or UVH_OPTION_OFF; min, h and d may follow */
    UVH_OPTION_TEXT,   /* const char * */
    UVH_OPTION_LIST,   /* one more text of a struct uvh_option_list */
    UVH_OPTION_WORD,   /* an enum: the index of one of `words` */
    UVH_OPTION_LISTEN, /* one more address of the list */
    UVH_OPTION_LEVEL   /* uvhttp_log_level_t: set to `low` */
};

struct uvh_option {
    const char *name; /* without dashes; NULL: `help` is the title of a group */
    char letter;      /* 0: none */
    enum uvh_option_kind kind;
    size_t offset; /* of its field in struct uvh_options */
    /* allowed numbers; both 0: a field of uvhttp_config_t, whose range the library knows */
    size_t low, high;
    const char *value;        /* what help calls the value */
    const char *const *words; /* of a WORD; the last is NULL */
    const char *help;         /* NULL: a field of uvhttp_config_t, whose text the library knows */
    /* `uvhttp run` takes it from its file, where it is a key of a route */
    bool serve_only;
};

#define UVH_OPTION_OFF SIZE_MAX

enum { UVH_OPTION_MAX = 128 }; /* rows, at most: options.c keeps a note for each */

extern const struct uvh_option uvh_option_table[];
extern const size_t uvh_option_count;

#endif
