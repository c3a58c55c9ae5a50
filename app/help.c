/* The help pages of the program. Options are printed from their table, with their actual defaults.
 * Called by main.c and run.c. */
#include "help.h"

#include <string.h>

#include "options.h"

#define TEXT_COLUMN  30
#define LINE_COLUMNS 80

/* The default as help shows it. Returns its length; 0 if there is none or the text contains it. */
static int format_default(const struct uvh_options *defaults, const struct uvh_option *option,
                          char *text, size_t size)
{
    const char *field = (const char *)defaults + option->offset;
    if (option->kind == UVH_OPTION_SWITCH)
        return snprintf(text, size, "(default: %s)",
                        *(const bool *)(const void *)field ? "on" : "off");
    if (option->kind != UVH_OPTION_NUMBER && option->kind != UVH_OPTION_SIZE)
        return 0;
    size_t number = *(const size_t *)(const void *)field;
    if (number == 0)
        return 0;
    static const char *const suffixes[] = {"", "K", "M", "G"};
    size_t suffix = 0;
    if (option->kind == UVH_OPTION_SIZE) {
        for (; number % 1024 == 0 && suffix < 3; suffix++)
            number /= 1024;
    }
    return snprintf(text, size, "(default: %zu%s)", number, suffixes[suffix]);
}

/* The library's description of a limit. */
static const char *limit_help(const struct uvh_option *option)
{
    const uvhttp_limit_t *limit;
    char key[UVH_OPTIONS_VARIABLE_SIZE];
    uvh_options_key(option, key);
    for (size_t i = 0; (limit = uvhttp_config_limit(i)) != NULL; i++) {
        if (strcmp(limit->name, key) == 0)
            return limit->help;
    }
    return "";
}

/* Prints one word, on a new line indented to TEXT_COLUMN if it does not fit. */
static void print_word(FILE *out, const char *word, int length, int *column)
{
    if (*column > TEXT_COLUMN && *column + 1 + length > LINE_COLUMNS) {
        fputc('\n', out);
        *column = 0;
    }
    int gap = *column < TEXT_COLUMN ? TEXT_COLUMN - *column : 1;
    *column += fprintf(out, "%*s%.*s", gap, "", length, word);
}

static void print_option(FILE *out, const struct uvh_options *defaults,
                         const struct uvh_option *option)
{
    int column =
        option->letter != 0 ? fprintf(out, "  -%c, ", option->letter) : fprintf(out, "      ");
    column += fprintf(out, option->kind == UVH_OPTION_SWITCH ? "--[no-]%s" : "--%s", option->name);
    if (option->value != NULL)
        column += fprintf(out, " %s", option->value);
    if (column + 2 > TEXT_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    for (const char *word = option->help != NULL ? option->help : limit_help(option); *word != '\0';
         word += strspn(word, " ")) {
        int length = (int)strcspn(word, " ");
        print_word(out, word, length, &column);
        word += length;
    }
    char preset[64];
    int length = format_default(defaults, option, preset, sizeof(preset));
    if (length > 0)
        print_word(out, preset, length, &column);
    fputc('\n', out);
}

void uvh_help_program(FILE *out)
{
    fprintf(out,
            "uvhttp %s, an HTTP/1.1 server\n"
            "\n"
            "Usage:\n"
            "  uvhttp serve [DIR]      serve the files of a folder\n"
            "  uvhttp run CONFIG       serve what a configuration file says\n"
            "  uvhttp check CONFIG     look whether a configuration file is right\n"
            "  uvhttp precompress DIR  compress its files once, for clients that take it\n"
            "  uvhttp cert FILE        print what a certificate says\n"
            "  uvhttp help COMMAND     every option of a command\n"
            "  uvhttp --version        version and build\n"
            "\n"
            "Try it:\n"
            "  uvhttp serve                    this folder on port 8080\n"
            "  uvhttp serve -p 3000 ./site     another folder, another port\n"
            "  uvhttp serve -l localhost       for this machine only\n"
            "  uvhttp serve --tls-self-signed  over HTTPS on port 8443\n"
            "  uvhttp serve --print-config     the same as a configuration to start from\n",
            uvhttp_version());
}

static const char serve_beginning[] =
    "Usage: uvhttp serve [OPTION]... [DIR]\n"
    "\n"
    "Serves the files of DIR (default: the current folder) over HTTP until it is\n"
    "interrupted. Nothing outside DIR, and what options name, is reachable.\n";
static const char run_beginning[] =
    "Usage: uvhttp run [OPTION]... CONFIG\n"
    "\n"
    "Serves the sites of CONFIG, a YAML file (\"-\": standard input), until it is\n"
    "interrupted. Options and variables win over what the file says.\n";
static const char check_beginning[] =
    "Usage: uvhttp check [OPTION]... CONFIG\n"
    "\n"
    "Looks whether `uvhttp run` could serve CONFIG: keys, values, folders, routes.\n"
    "Each mistake is printed with file, line and column.\n";
static const char *const beginnings[] = {serve_beginning, run_beginning, check_beginning};

static const char serve_actions[] =
    "      --print-config          print all this as a configuration for uvhttp run\n";
static const char run_actions[] =
    "  -t, --test                  only look whether CONFIG is right\n"
    "      --print-config          print what is in force, as a configuration\n";
static const char *const actions[] = {serve_actions, run_actions, ""};

void uvh_help_command(FILE *out, enum uvh_command command)
{
    struct uvh_options defaults;
    if (!uvh_options_init(&defaults)) {
        fputs("uvhttp: out of memory\n", stderr);
        return;
    }
    fputs(beginnings[command], out);
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        if (option->serve_only && command != UVH_COMMAND_SERVE)
            continue;
        if (option->name == NULL)
            fprintf(out, "\n%s:\n", option->help);
        else
            print_option(out, &defaults, option);
    }
    fprintf(out,
            "%s"
            "  -h, --help                  print this page\n"
            "\n"
            "SIZE is a number of bytes; K, M and G may follow it (64K). S is in seconds;\n"
            "min, h and d may follow it. Every option can be an environment variable too:\n"
            "--max-connections is UVHTTP_MAX_CONNECTIONS, --no-listing is\n"
            "UVHTTP_LISTING=off, -q is UVHTTP_QUIET=on. Options win over variables.\n"
            "\n"
            "Ctrl+C or SIGTERM stops: open requests may finish, a second one stops at once.\n"
            "Exit status: 0 stopped%s, 1 failed, 2 wrong usage.\n",
            actions[command], command == UVH_COMMAND_SERVE ? "" : " or right");
}
