/* The options of `uvhttp serve` and `uvhttp run` in one table: name, target and help text.
 *
 * Always true: every row works as a flag and as the environment variable UVHTTP_NAME, and appears
 * in the help page, because all three are generated from the table. A row without a name starts a
 * group of the help page. */
#ifndef UVH_APP_OPTION_TABLE_H
#define UVH_APP_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uvh_option_kind {
    UVH_OPTION_SWITCH, /* bool: --name and --no-name */
    UVH_OPTION_NUMBER, /* size_t */
    UVH_OPTION_MS,     /* uint32_t, milliseconds */
    UVH_OPTION_SIZE,   /* size_t in bytes; K, M and G may follow */
    UVH_OPTION_PORT,   /* size_t: a port, or UVH_OPTION_OFF */
    UVH_OPTION_TIME,   /* size_t: seconds, or UVH_OPTION_OFF; min, h and d may follow */
    UVH_OPTION_TEXT,   /* const char * */
    UVH_OPTION_LIST,   /* appends a text to a struct uvh_option_list */
    UVH_OPTION_WORD,   /* an enum: the index of one of `words` */
    UVH_OPTION_LISTEN, /* appends an address to the list */
    UVH_OPTION_LEVEL   /* uvhttp_log_level_t: set to `low` */
};

struct uvh_option {
    const char *name; /* without dashes; NULL: `help` is the title of a group */
    char letter;      /* 0: none */
    enum uvh_option_kind kind;
    size_t offset; /* of its field in struct uvh_options */
    /* allowed numbers; both 0: a field of uvhttp_config_t with the library's range */
    size_t low, high;
    const char *value;        /* name of the value in help */
    const char *preset;       /* of a TEXT: the value of --name without "="; NULL: it is required */
    const char *const *words; /* of a WORD; the last is NULL */
    /* of a TEXT or LIST, or NULL: returns NULL for a valid value, else what is allowed */
    const char *(*check)(const char *text);
    const char *help; /* NULL: a field of uvhttp_config_t with the library's text */
    /* not an option of `uvhttp run`: a key of a route in its file */
    bool serve_only;
};

#define UVH_OPTION_OFF SIZE_MAX

enum { UVH_OPTION_TEXT_SIZE = 1600 };

/* A message of the library about keys, for the command line: "try_files cannot be combined with
 * clean_urls" becomes "--try-files cannot be combined with --clean-urls". */
const char *uvh_option_rename_keys(const char *message, char text[UVH_OPTION_TEXT_SIZE]);

enum { UVH_OPTION_MAX = 144 }; /* most rows: options.c has a note for each */

extern const struct uvh_option uvh_option_table[];
extern const size_t uvh_option_count;

/* A text for which "" has a meaning: no index files, or a key in its certificate's file. */
bool uvh_option_may_be_empty(const struct uvh_option *option);

#endif
