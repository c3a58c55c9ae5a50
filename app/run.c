/* `uvhttp run` and `uvhttp check`: a server from a configuration file, overridden by environment
 * and flags. Guarantees that each error is printed on one line. */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "absolute_path.h"
#include "access_logs.h"
#include "config_file.h"
#include "help.h"
#include "inherited.h"
#include "listen.h"
#include "log_path.h"
#include "service.h"
#include "setup_server.h"
#include "site.h"
#include "site_files.h"

struct run {
    struct uvh_setup_server given;
    enum uvh_command command;
    int count;
    char **arguments;
    struct uvh_options options; /* file, environment and flags combined */
    struct uvh_config_file file;
    struct uvh_problems problems;
    struct uvh_text proxies[UVH_OPTIONS_LIST_MAX]; /* of flags */
    struct uvh_text proxy_sources[UVH_OPTIONS_LIST_MAX];
};

static int fail(int err)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(err));
    return UVH_EXIT_FAILED;
}

/* A path of a flag or variable as an absolute path, which prints as the same file. NULL if out of
 * memory. */
static const char *absolute_path(struct run *run, const char *path)
{
    char *whole = uvh_absolute_path(path);
    char *copy = whole == NULL ? NULL : uvh_yaml_allocate(&run->file.yaml, strlen(whole) + 1);
    if (copy != NULL)
        memcpy(copy, whole, strlen(whole) + 1);
    free(whole);
    return copy;
}

/* A text of the file, unless an option replaces it. */
static void replace(struct uvh_text *text, const char *option)
{
    if (option != text->text)
        *text = (struct uvh_text){.text = option};
}

static void replace_word(unsigned *word, struct uvh_mark *mark, unsigned option)
{
    if (option != *word)
        *mark = UVH_MARK_NONE;
    *word = option;
}

/* The file's values become the defaults for environment and flags; the result is copied back to the
 * setup. */
static int merge(struct run *run)
{
    struct uvh_setup *setup = &run->file.setup;
    struct uvh_options *options = &run->options;
    options->config = setup->config;
    options->log_level = setup->log_level;
    options->listen_count = setup->listen_count;
    options->access_log = setup->access_log.path.text;
    options->user = setup->user.text;
    options->group = setup->group.text;
    options->no_new_privs = setup->no_new_privs;
    options->confine = setup->confine.mode;
    options->proxy_fields = setup->proxy_fields;
    options->proxy_others = setup->proxy_others;
    options->health = setup->health;
    options->pid_file = setup->pid_file.text;
    memcpy(options->listen, setup->listen, sizeof(setup->listen));
    int code = uvh_options_parse(options, run->command, run->count, run->arguments);
    if (code == UVH_EXIT_OK &&
        !uvh_inherited_replace(options, setup,
                               setup->tls.wanted ? setup->tls.redirect_http : UVH_OPTION_OFF))
        code = UVH_EXIT_FAILED;
    if (options->listen_count != setup->listen_count ||
        memcmp(options->listen, setup->listen, sizeof(setup->listen)) != 0)
        memset(setup->listen_marks, 0, sizeof(setup->listen_marks)); /* those of options */
    setup->config = options->config;
    setup->log_level = options->log_level;
    setup->listen_count = options->listen_count;
    memcpy(setup->listen, options->listen, sizeof(setup->listen));
    replace(&setup->user, options->user);
    replace(&setup->group, options->group);
    replace_word(&setup->no_new_privs, &setup->no_new_privs_mark, options->no_new_privs);
    replace_word(&setup->confine.mode, &setup->confine.mark, options->confine);
    setup->proxy_fields = options->proxy_fields;
    setup->proxy_others = options->proxy_others;
    setup->health = options->health;
    replace(&setup->pid_file, options->pid_file);
    if (options->proxies.count > 0)
        setup->proxies = uvh_option_texts(&options->proxies, run->proxies);
    if (options->proxy_sources.count > 0)
        setup->proxy_sources = uvh_option_texts(&options->proxy_sources, run->proxy_sources);
    const char *path = options->access_log;
    if (path != NULL && path != setup->access_log.path.text && uvh_log_path_is_file(path))
        path = absolute_path(run, path);
    if (path == NULL && options->access_log != NULL)
        return fail(UVHTTP_ENOMEM);
    setup->access_log.path.text = path;
    return code != UVH_EXIT_OK ? code : uvh_listen_check(options, setup->tls.wanted);
}

static int build(uvhttp_server_t *server, const struct uvh_own_servers *own,
                 struct uvh_problems *problems, void *arg)
{
    return uvh_site_build(server, own, arg, problems) ? UVH_EXIT_OK : UVH_EXIT_FAILED;
}

static struct uvh_setup_server *reread(const struct uvh_setup_server *given);
static void release(struct uvh_setup_server *given);

static int load(struct run *run)
{
    struct uvh_setup *setup = &run->file.setup;
    if (!uvh_config_file_load(&run->file, run->problems.file, &run->problems)) {
        uvh_site_files_check(setup, &run->problems);
        return UVH_EXIT_FAILED;
    }
    int code = merge(run);
    bool print = run->options.print_config;
    run->given = (struct uvh_setup_server){.setup = setup,
                                           .options = &run->options,
                                           .what = run->options.root,
                                           .test = print || run->options.test ||
                                                   run->command != UVH_COMMAND_RUN,
                                           .print = print,
                                           .build = build,
                                           .arg = setup,
                                           .problems = &run->problems,
                                           .reread = reread,
                                           .release = release};
    return code;
}

static struct run *run_of(const struct uvh_setup_server *given)
{
    return (struct run *)(void *)(uintptr_t)given; /* its first member */
}

static void release(struct uvh_setup_server *given)
{
    struct run *run = run_of(given);
    uvh_config_file_release(&run->file);
    free(run);
}

/* A FIFO would block the loop. NULL: the file can be read, or does not exist. */
static const char *why_not_again(const char *file)
{
    struct stat facts;
    if (strcmp(file, "-") == 0)
        return "standard input cannot be read again; to reload, run a file";
    return stat(file, &facts) == 0 && !S_ISREG(facts.st_mode)
               ? "only a regular file can be read again; to reload, run one"
               : NULL;
}

static struct uvh_setup_server *reread(const struct uvh_setup_server *given)
{
    const struct run *old = run_of(given);
    struct run *run = calloc(1, sizeof(*run));
    if (run == NULL || !uvh_options_init(&run->options)) {
        free(run);
        fail(UVHTTP_ENOMEM);
        return NULL;
    }
    run->command = old->command;
    run->count = old->count;
    run->arguments = old->arguments;
    run->problems.file = old->problems.file;
    const char *why = why_not_again(run->problems.file);
    if (why != NULL)
        uvh_problems_add(&run->problems, UVH_MARK_NONE, "%s", why);
    else if (load(run) == UVH_EXIT_OK)
        return &run->given;
    uvh_problems_log(&run->problems);
    release(&run->given);
    return NULL;
}

/* The configuration has no error. */
static int signal_server(const struct uvh_setup *setup, enum uvh_command command)
{
    bool upgrade = command == UVH_COMMAND_UPGRADE;
    long pid = uvh_service_main_pid();
    if (pid < 0 && setup->pid_file.text == NULL) {
        fputs("uvhttp: the process is unknown: set 'pid_file', or use kill -", stderr);
        fputs(upgrade ? "USR2 PID\n" : "HUP PID\n", stderr);
        return UVH_EXIT_FAILED;
    }
    if (pid < 0)
        pid = uvh_service_read_pid(setup->pid_file.text);
    if (pid < 0)
        return UVH_EXIT_FAILED;
    if (kill((pid_t)pid, upgrade ? SIGUSR2 : SIGHUP) != 0) {
        fprintf(stderr, "uvhttp: %s cannot be sent to process %ld: %s\n",
                upgrade ? "SIGUSR2" : "SIGHUP", pid, strerror(errno));
        return UVH_EXIT_FAILED;
    }
    printf("process %ld %s; its log has the result\n", pid, upgrade ? "upgrades" : "reloads");
    return UVH_EXIT_OK;
}

int uvh_run(enum uvh_command command, int count, char **arguments)
{
    struct run run = {.command = command, .count = count, .arguments = arguments};
    struct uvh_options wanted;
    if (!uvh_options_init(&run.options) || !uvh_options_init(&wanted))
        return fail(UVHTTP_ENOMEM);
    int code = uvh_options_scan(&wanted, command, count, arguments);
    if (code != UVH_EXIT_OK)
        return code;
    if (wanted.help) {
        uvh_help_run(stdout, command);
        return UVH_EXIT_OK;
    }
    run.problems.file = wanted.root;
    code = load(&run);
    if (code == UVH_EXIT_OK)
        code = uvh_setup_server_run(&run.given);
    if (code == UVH_EXIT_OK && command >= UVH_COMMAND_RELOAD)
        code = signal_server(&run.file.setup, command);
    uvh_problems_print(&run.problems, stderr);
    uvh_config_file_release(&run.file);
    return code;
}
