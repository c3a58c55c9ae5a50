/* The help pages of the program. Options are printed from their table, with their actual
 * defaults. */
#include "help.h"

#include <ctype.h>
#include <string.h>

#include "options.h"

#define TEXT_COLUMN  30
#define LINE_COLUMNS 80

/* The default as help shows it. Returns its length; 0 if there is none or the text contains it. */
static int format_default(const struct uvh_options *defaults, const struct uvh_option *option,
                          char *text, size_t size)
{
    const char *field = (const char *)defaults + option->offset;
    if (option->kind == UVH_OPTION_SWITCH) {
        bool on = option->help == NULL ? *(const size_t *)(const void *)field != 0
                                       : *(const bool *)(const void *)field;
        return snprintf(text, size, "(default: %s)", on ? "on" : "off");
    }
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
        column += fprintf(out, option->preset != NULL ? "[=%s]" : " %s", option->value);
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

static const char serve_beginning[] =
    "Usage: uvhttp serve [OPTION]... [DIR|FILE]\n"
    "       uvhttp [OPTION]... DIR|FILE\n"
    "\n"
    "Serves the files of DIR (default: current directory) over HTTP until it is\n"
    "interrupted; of FILE only that file, for every path. Files outside DIR and the\n"
    "directories named by options are not served.\n";
static const char run_beginning[] =
    "Usage: uvhttp run [OPTION]... [CONFIG]\n"
    "\n"
    "Serves the sites of CONFIG, a YAML file (default: " UVH_OPTIONS_CONFIG "; \"-\":\n"
    "standard input), until it is interrupted. Options and variables take precedence\n"
    "over the file.\n";
static const char check_beginning[] =
    "Usage: uvhttp check [OPTION]... [CONFIG]\n"
    "\n"
    "Checks whether `uvhttp run` can serve CONFIG (default: " UVH_OPTIONS_CONFIG "): keys,\n"
    "values, directories, certificates, routes.\n"
    "Errors are printed with file, line and column.\n";

static const char reload_beginning[] =
    "Usage: uvhttp reload [OPTION]... [CONFIG]\n"
    "\n"
    "Checks CONFIG (default: " UVH_OPTIONS_CONFIG ") as uvhttp check does, and without an error\n"
    "sends SIGHUP to the server whose process id is in its 'pid_file', or in MAINPID, which "
    "systemd\n"
    "sets for ExecReload=. That server applies the configuration, and its log has the result. "
    "Open\n"
    "connections stay.\n";

static const char upgrade_beginning[] =
    "Usage: uvhttp upgrade [OPTION]... [CONFIG]\n"
    "\n"
    "Checks CONFIG (default: " UVH_OPTIONS_CONFIG ") as uvhttp check does, and without an error\n"
    "sends SIGUSR2 to the server whose process id is in its 'pid_file', or in MAINPID. That "
    "server\n"
    "starts the program again, with the same arguments: a new version of it, or with changed keys\n"
    "that a reload cannot apply. The new process gets the listening sockets, and when it serves,\n"
    "the old one serves its connections to the end (--drain-timeout). If it fails, nothing\n"
    "changes, and the log has the reason.\n";

static const char serve_actions[] =
    "      --print-config          print the configuration file for uvhttp run\n";
static const char run_actions[] =
    "  -t, --test                  check CONFIG and exit\n"
    "      --print-config          print the effective configuration\n";
static const char *const actions[] = {serve_actions, run_actions, "", ""};

static const char *const common[] = {"port", "listen",   "tls-self-signed", "auth", "hidden",
                                     "spa",  "compress", "uploads",         "cors", "verbose"};

enum { COMMON_COUNT = sizeof(common) / sizeof(common[0]) };

static bool is_common(const struct uvh_option *option)
{
    for (size_t i = 0; i < COMMON_COUNT; i++) {
        if (strcmp(option->name, common[i]) == 0)
            return true;
    }
    return false;
}

/* Prints the common options, or all others by group. */
static void print_options(FILE *out, enum uvh_command command, bool only_common)
{
    struct uvh_options defaults;
    bool serve = command == UVH_COMMAND_SERVE;
    if (!uvh_options_init(&defaults)) {
        fputs("uvhttp: out of memory\n", stderr);
        return;
    }
    if (only_common)
        fputs("\nCommon options:\n", out);
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        if (option->serve_only && !serve)
            continue;
        if (option->name == NULL && !only_common)
            fprintf(out, "\n%s:\n", option->help);
        else if (option->name != NULL && (serve && is_common(option)) == only_common)
            print_option(out, &defaults, option);
    }
}

void uvh_help_common(FILE *out)
{
    print_options(out, UVH_COMMAND_SERVE, true);
}

bool uvh_help_mentions(const char *name, const char *text, const char *word)
{
    const char *at = text;
    if (*word == '\0' || strcasestr(name, word) != NULL)
        return *word != '\0';
    while ((at = strcasestr(at, word)) != NULL && at > text && isalnum((unsigned char)at[-1]))
        at++;
    return at != NULL;
}

/* "port" and "--port"; "-p" is the option with this letter. */
static bool is_about(const struct uvh_option *option, const char *word)
{
    if (word[0] == '-' && word[1] != '-' && word[1] != '\0')
        return word[2] == '\0' && option->letter == word[1];
    word += strspn(word, "-");
    const char *help = option->help != NULL ? option->help : limit_help(option);
    return uvh_help_mentions(option->name, help, word);
}

size_t uvh_help_about(FILE *out, const char *word, bool after_others)
{
    struct uvh_options defaults;
    size_t found = 0;
    if (!uvh_options_init(&defaults))
        return 0;
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        if (option->name == NULL || !is_about(option, word))
            continue;
        if (found++ == 0)
            fprintf(out, "%sOptions of uvhttp serve:\n", after_others ? "\n" : "");
        print_option(out, &defaults, option);
    }
    return found;
}

static void print_end(FILE *out, enum uvh_command command)
{
    fprintf(out,
            "%s"
            "  -h, --help                  print %s\n"
            "\n"
            "SIZE is in bytes; units: K, M, G (64K). S is in seconds; units: s, min, h, d.\n"
            "Every option is also an environment variable: UVHTTP_MAX_CONNECTIONS for\n"
            "--max-connections, UVHTTP_HTTP2=off for --no-http2, UVHTTP_QUIET=on for -q.\n"
            "Options take precedence over variables.\n"
            "\n"
            "Ctrl+C or SIGTERM stops after open requests; a second one stops immediately.\n"
            "Exit status: 0 stopped%s, 1 failed, 2 wrong usage.\n",
            actions[command], command == UVH_COMMAND_SERVE ? "the common options" : "this help",
            command == UVH_COMMAND_SERVE ? "" : " or configuration OK");
}

void uvh_help_serve(FILE *out, bool all)
{
    fputs(serve_beginning, out);
    uvh_help_common(out);
    if (all) {
        print_options(out, UVH_COMMAND_SERVE, false);
        print_end(out, UVH_COMMAND_SERVE);
    } else {
        fputs("\nAll options: uvhttp help serve\n", out);
    }
}

void uvh_help_run(FILE *out, enum uvh_command command)
{
    fputs(command == UVH_COMMAND_RUN      ? run_beginning
          : command == UVH_COMMAND_CHECK  ? check_beginning
          : command == UVH_COMMAND_RELOAD ? reload_beginning
                                          : upgrade_beginning,
          out);
    print_options(out, command, false);
    print_end(out, command);
}
