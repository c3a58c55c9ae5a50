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
            "  uvhttp serve [DIR]      serve the files of a directory\n"
            "  uvhttp run CONFIG       serve the sites of a configuration file\n"
            "  uvhttp check CONFIG     check a configuration file\n"
            "  uvhttp precompress DIR  create compressed files, to be sent as they are\n"
            "  uvhttp cert FILE        print the content of certificates\n"
            "  uvhttp help COMMAND     print the options of a command\n"
            "  uvhttp --version        print version and build\n"
            "\n"
            "Examples:\n"
            "  uvhttp serve                    current directory on port 8080\n"
            "  uvhttp serve -p 3000 ./site     other directory, other port\n"
            "  uvhttp serve -l localhost       this machine only\n"
            "  uvhttp serve --tls-self-signed  HTTPS on port 8443\n"
            "  uvhttp serve --print-config     print the equivalent configuration file\n",
            uvhttp_version());
}

static const char serve_beginning[] =
    "Usage: uvhttp serve [OPTION]... [DIR]\n"
    "\n"
    "Serves the files of DIR (default: current directory) over HTTP until it is\n"
    "interrupted. Files outside DIR and the directories named by options are not\n"
    "served.\n";
static const char run_beginning[] =
    "Usage: uvhttp run [OPTION]... CONFIG\n"
    "\n"
    "Serves the sites of CONFIG, a YAML file (\"-\": standard input), until it is\n"
    "interrupted. Options and variables take precedence over the file.\n";
static const char check_beginning[] =
    "Usage: uvhttp check [OPTION]... CONFIG\n"
    "\n"
    "Checks whether `uvhttp run` can serve CONFIG: keys, values, directories,\n"
    "certificates, routes.\n"
    "Errors are printed with file, line and column.\n";
static const char *const beginnings[] = {serve_beginning, run_beginning, check_beginning};

static const char serve_actions[] =
    "      --print-config          print the configuration file for uvhttp run\n";
static const char run_actions[] =
    "  -t, --test                  check CONFIG and exit\n"
    "      --print-config          print the effective configuration\n";
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
            "  -h, --help                  print this help\n"
            "\n"
            "SIZE is in bytes; units: K, M, G (64K). S is in seconds; units: s, min, h, d.\n"
            "Every option is also an environment variable: UVHTTP_MAX_CONNECTIONS for\n"
            "--max-connections, UVHTTP_LISTING=off for --no-listing, UVHTTP_QUIET=on for -q.\n"
            "Options take precedence over variables.\n"
            "\n"
            "Ctrl+C or SIGTERM stops after open requests; a second one stops immediately.\n"
            "Exit status: 0 stopped%s, 1 failed, 2 wrong usage.\n",
            actions[command], command == UVH_COMMAND_SERVE ? "" : " or configuration OK");
}
