/* The program `uvhttp`: finds the command and runs it. It uses only the public API, so every
 * program can do the same. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp.h>

#include "cert_command.h"
#include "help.h"
#include "options.h"
#include "precompress.h"
#include "run.h"
#include "serve.h"

static bool is_one_of(const char *text, const char *one, const char *other)
{
    return strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

static int unknown_command(const char *name)
{
    fprintf(stderr,
            "uvhttp: unknown command '%s'; to serve a directory: uvhttp serve DIR\n"
            "Try 'uvhttp --help'.\n",
            name);
    return UVH_EXIT_USAGE;
}

static int run_serve(int count, char **arguments)
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
        uvh_help_command(stdout, UVH_COMMAND_SERVE);
        return UVH_EXIT_OK;
    }
    return uvh_serve_run(&options);
}

static int run_help(int count, char **arguments)
{
    if (count == 0)
        uvh_help_program(stdout);
    else if (strcmp(arguments[0], "serve") == 0)
        uvh_help_command(stdout, UVH_COMMAND_SERVE);
    else if (strcmp(arguments[0], "run") == 0)
        uvh_help_command(stdout, UVH_COMMAND_RUN);
    else if (strcmp(arguments[0], "check") == 0)
        uvh_help_command(stdout, UVH_COMMAND_CHECK);
    else if (strcmp(arguments[0], "precompress") == 0)
        uvh_precompress_help(stdout);
    else if (strcmp(arguments[0], "cert") == 0)
        uvh_cert_help(stdout);
    else
        return unknown_command(arguments[0]);
    return UVH_EXIT_OK;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        uvh_help_program(stderr);
        return UVH_EXIT_USAGE;
    }
    const char *command = argv[1];
    if (strcmp(command, "serve") == 0)
        return run_serve(argc - 2, argv + 2);
    if (strcmp(command, "run") == 0)
        return uvh_run(UVH_COMMAND_RUN, argc - 2, argv + 2);
    if (strcmp(command, "check") == 0)
        return uvh_run(UVH_COMMAND_CHECK, argc - 2, argv + 2);
    if (strcmp(command, "precompress") == 0)
        return uvh_precompress_run(argc - 2, argv + 2);
    if (strcmp(command, "cert") == 0)
        return uvh_cert_run(argc - 2, argv + 2);
    if (strcmp(command, "help") == 0)
        return run_help(argc - 2, argv + 2);
    if (is_one_of(command, "--help", "-h"))
        return run_help(0, NULL);
    if (is_one_of(command, "--version", "-V")) {
        printf("uvhttp %s\nbuild: %s\n", uvhttp_version(), uvhttp_build_info());
        return UVH_EXIT_OK;
    }
    return unknown_command(command);
}

/* Then a write beyond RLIMIT_FSIZE fails and does not end the program. */
static void ignore_file_size_signal(void)
{
    struct sigaction action;
    if (sigaction(SIGXFSZ, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return;
    action.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    ignore_file_size_signal();
    int code = run(argc, argv);
    if (fflush(stdout) != 0 && code == UVH_EXIT_OK) {
        perror("uvhttp: standard output");
        return UVH_EXIT_FAILED;
    }
    return code;
}
