/* The program `uvhttp`: finds the command and runs it. It uses only the public API, so every
 * program can do the same. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uvhttp.h>

#include "cert_command.h"
#include "config_hint.h"
#include "hash_command.h"
#include "help.h"
#include "option_hint.h"
#include "options.h"
#include "precompress.h"
#include "run.h"
#include "serve.h"
#include "suggest.h"
#include "topic.h"
#include "upgrade.h"

/* A command: `run` receives its arguments after `argv[0]`, which is "uvhttp NAME". */
struct command {
    const char *name;
    const char *usage;
    const char *summary;
    int (*run)(int argc, char **argv);
    void (*help)(FILE *out);
};

static bool is_one_of(const char *text, const char *one, const char *other)
{
    return strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

/* A configuration may contain secrets, so `uvhttp site.yaml` and `uvhttp nginx.conf` do not serve
 * it. */
static bool is_config(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    const char *extension = dot == NULL ? "" : dot;
    bool ours = is_one_of(extension, ".yaml", ".yml");
    struct stat facts;
    if ((!ours && !is_one_of(extension, ".conf", ".htaccess") &&
         !is_one_of(name, "Caddyfile", "caddy.json")) ||
        (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)))
        return false;
    fprintf(stderr,
            "uvhttp: '%s' may be a configuration file; to %s: uvhttp %s %s; to serve the file "
            "itself: uvhttp serve %s\n",
            path, ours ? "serve its sites" : "translate one of another server",
            ours ? "run" : "help", ours ? path : "nginx", path);
    return true;
}

/* `named`: the command was given. */
static int serve(int count, char **arguments, bool named)
{
    struct uvh_options options;
    if (!uvh_options_init(&options)) {
        fputs("uvhttp: out of memory\n", stderr);
        return UVH_EXIT_FAILED;
    }
    int code = uvh_options_parse(&options, UVH_COMMAND_SERVE, count, arguments);
    if (code != UVH_EXIT_OK)
        return code;
    if (options.help) {
        uvh_help_serve(stdout, false);
        return UVH_EXIT_OK;
    }
    return !named && is_config(options.root) ? UVH_EXIT_USAGE : uvh_serve_run(&options);
}

static int run_serve(int argc, char **argv)
{
    return serve(argc - 1, argv + 1, true);
}

static int run_run(int argc, char **argv)
{
    return uvh_run(UVH_COMMAND_RUN, argc - 1, argv + 1);
}

static int run_check(int argc, char **argv)
{
    return uvh_run(UVH_COMMAND_CHECK, argc - 1, argv + 1);
}

static int run_reload(int argc, char **argv)
{
    return uvh_run(UVH_COMMAND_RELOAD, argc - 1, argv + 1);
}

static int run_upgrade(int argc, char **argv)
{
    return uvh_run(UVH_COMMAND_UPGRADE, argc - 1, argv + 1);
}

static void help_serve(FILE *out)
{
    uvh_help_serve(out, true);
}

static void help_run(FILE *out)
{
    uvh_help_run(out, UVH_COMMAND_RUN);
}

static void help_check(FILE *out)
{
    uvh_help_run(out, UVH_COMMAND_CHECK);
}

static void help_reload(FILE *out)
{
    uvh_topic_print(out, "reload");
    fputc('\n', out);
    uvh_help_run(out, UVH_COMMAND_RELOAD);
}

static void help_upgrade(FILE *out)
{
    uvh_help_run(out, UVH_COMMAND_UPGRADE);
}

static int run_help(int argc, char **argv);
static void help_program(FILE *out);

static int run_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("uvhttp %s\nbuild: %s\nfeatures:%s\n", uvhttp_version(), uvhttp_build_info(),
           UVH_FEATURES);
    return UVH_EXIT_OK;
}

static const struct command commands[] = {
    {"serve", "[serve] [DIR|FILE]", "serve a directory, or one file", run_serve, help_serve},
    {"run", "run [CONFIG]", "serve the sites of a configuration file", run_run, help_run},
    {"check", "check [CONFIG]", "check a configuration file", run_check, help_check},
    {"reload", "reload [CONFIG]", "apply a changed configuration without a restart", run_reload,
     help_reload},
    {"upgrade", "upgrade [CONFIG]", "replace the server by a new process, without a gap",
     run_upgrade, help_upgrade},
    {"precompress", "precompress DIR", "create compressed files, to be sent as they are",
     uvh_precompress_run, uvh_precompress_help},
    {"cert", "cert FILE", "print the content of certificates", uvh_cert_run, uvh_cert_help},
    {"hash-password", "hash-password [NAME]", "print the hash of a password", uvh_hash_run,
     uvh_hash_help},
    {"help", "help COMMAND|WORD", "print all options of a command, or about a word", run_help,
     help_program},
    {"version", "version", "print version, build and features", run_version, help_program},
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static const char *name_at(size_t index, const void *arg)
{
    (void)arg;
    return index < COMMAND_COUNT ? commands[index].name : NULL;
}

static int unknown_command(const char *name)
{
    const char *nearest = uvh_suggest(name, name_at, NULL);
    const char *hint = uvh_option_hint(name, strlen(name));
    fprintf(stderr, "uvhttp: unknown command '%s'", name);
    if (hint != NULL)
        fprintf(stderr, "; did you mean %s?", hint);
    else if (nearest != NULL)
        fprintf(stderr, "; did you mean '%s'?", nearest);
    else
        fputs(", and there is no such file or directory", stderr);
    fputs("\nTry 'uvhttp --help'.\n", stderr);
    return UVH_EXIT_USAGE;
}

static void print_command(FILE *out, const struct command *command)
{
    fprintf(out, "  uvhttp %-20s %s\n", command->usage, command->summary);
}

static void help_program(FILE *out)
{
    fprintf(out, "uvhttp %s, a server of HTTP/1.1 and HTTP/2\n\nUsage:\n", uvhttp_version());
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        print_command(out, &commands[i]);
    uvh_help_common(out);
    fputs("\n"
          "Examples:\n"
          "  uvhttp .                  current directory on port 8080\n"
          "  uvhttp -p 3000 ./site     other directory, other port\n"
          "  uvhttp -l localhost .     this machine only\n"
          "  uvhttp --tls-self-signed  HTTPS on port 8443\n"
          "  uvhttp --print-config     print the equivalent configuration file\n"
          "  uvhttp run                serve the sites of ./" UVH_OPTIONS_CONFIG "\n"
          "\n"
          "All options: uvhttp help serve\n",
          out);
}

/* Prints the text, commands and options about a word, and a hint for a key of another server. */
static int help_about(const char *word)
{
    size_t found = uvh_topic_print(stdout, word);
    bool topic = found > 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!uvh_help_mentions(commands[i].name, commands[i].summary, word))
            continue;
        if (topic && found == 1)
            fputs("\nCommands:\n", stdout);
        found++;
        print_command(stdout, &commands[i]);
    }
    found += uvh_help_about(stdout, word, found > 0);
    char text[UVH_CONFIG_HINT_SIZE];
    const char *hint = uvh_config_hint(word, text);
    if (hint != NULL)
        printf("%sIn a configuration file: %s\n", found > 0 ? "\n" : "", hint);
    if (found > 0 || hint != NULL)
        return UVH_EXIT_OK;
    if (uvh_suggest(word, name_at, NULL) != NULL)
        return unknown_command(word);
    fprintf(stderr,
            "uvhttp: no command and no option is about '%s'; all options: uvhttp help serve\n",
            word);
    return UVH_EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
    const struct command *command = find_command(argc < 2 ? "help" : argv[1]);
    if (command == NULL)
        return help_about(argv[1]);
    command->help(stdout);
    return UVH_EXIT_OK;
}

/* `uvhttp DIR` and `uvhttp -p 3000 DIR` mean `uvhttp serve`. */
static int run_without_command(int argc, char **argv)
{
    const char *first = argv[1];
    if (*first != '-' && *first != '\0' && strchr(first, '/') == NULL && access(first, F_OK) != 0)
        return unknown_command(first);
    return serve(argc - 1, argv + 1, false);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        help_program(stderr);
        return UVH_EXIT_USAGE;
    }
    const struct command *command = find_command(argv[1]);
    if (is_one_of(argv[1], "--help", "-h"))
        command = find_command("help");
    else if (is_one_of(argv[1], "--version", "-V"))
        command = find_command("version");
    if (command == NULL)
        return run_without_command(argc, argv);
    char title[32]; /* for the messages of getopt */
    snprintf(title, sizeof(title), "uvhttp %s", command->name);
    argv[1] = title;
    return command->run(argc - 1, argv + 1);
}

static void ignore(int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return;
    action.sa_handler = SIG_IGN;
    sigaction(number, &action, NULL);
}

int main(int argc, char **argv)
{
    ignore(SIGXFSZ); /* a write beyond RLIMIT_FSIZE then fails and does not end the program */
    ignore(SIGUSR2); /* before the program can upgrade */
    uvh_upgrade_remember(argc, argv);
    int code = run(argc, argv);
    if (fflush(stdout) != 0 && code == UVH_EXIT_OK) {
        perror("uvhttp: standard output");
        return UVH_EXIT_FAILED;
    }
    return code;
}
