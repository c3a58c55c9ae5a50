/* `uvhttp serve`: one server, one folder mounted at "/". Guarantees that whatever keeps it from starting is told with the value at
 * fault and a way out. Called by main.c. */
#include "serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "banner.h"
#include "file_rules.h"
#include "listen.h"
#include "logger.h"
#include "prewarm.h"
#include "print_config.h"

static int print_error(int err)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(err));
    return UVH_EXIT_FAILED;
}

static int print_root_error(const char *root, int err)
{
    /* The library passes libuv's codes through, and those are negated errno values. */
    switch (-err) {
    case ENOENT:
        fprintf(stderr, "uvhttp: the folder '%s' does not exist\n", root);
        break;
    case ENOTDIR:
        fprintf(stderr, "uvhttp: '%s' is not a folder; name the folder to serve\n", root);
        break;
    case EACCES:
    case EPERM:
        fprintf(stderr, "uvhttp: there is no permission to read the folder '%s'\n", root);
        break;
    default:
        fprintf(stderr, "uvhttp: the folder '%s' cannot be served: %s\n", root, uvhttp_strerror(err));
        break;
    }
    return UVH_EXIT_FAILED;
}

static void close_files(void *files)
{
    uvhttp_static_close(files);
}

/* The folder at "/", owned by the server. An exit code. */
static int open_files(uvhttp_server_t *server, const struct uvh_options *options, const char *root,
                      const struct uvh_text_list *prewarm)
{
    uvhttp_static_config_t config = options->files;
    uvhttp_static_t *files;
    char message[UVHTTP_CONFIG_MESSAGE_SIZE];
    if (uvhttp_static_check(&config, message, sizeof(message)) == UVHTTP_ECONFIG) {
        fprintf(stderr, "uvhttp: %s\n", message);
        return UVH_EXIT_FAILED;
    }
    config.root = root;
    int err = uvhttp_static_open(&files, &config);
    if (err == 0) {
        err = uvhttp_server_own(server, close_files, files);
        if (err != 0)
            uvhttp_static_close(files);
    }
    if (err == 0)
        err = uvhttp_static_mount_opened(server, "/", files);
    if (err == 0 && access(root, X_OK) != 0)
        err = -errno; /* a folder that can be opened and not entered would give nothing but refusals */
    if (err != 0)
        return print_root_error(root, err);
    for (size_t i = 0; i < prewarm->count; i++) {
        const char *fault = uvh_prewarm_load(files, prewarm->items[i].text);
        if (fault == NULL)
            continue;
        fprintf(stderr, "uvhttp: --prewarm: '%s' cannot be loaded from '%s': %s\n", prewarm->items[i].text,
                root, fault);
        return UVH_EXIT_FAILED;
    }
    return UVH_EXIT_OK;
}

static int serve(uvhttp_server_t *server, const struct uvh_options *options, const char *root,
                 const struct uvh_text_list *prewarm)
{
    int err = 0;
    int code = open_files(server, options, root, prewarm);
    if (code != UVH_EXIT_OK)
        return code;
    if (options->log_level >= UVHTTP_LOG_DEBUG)
        err = uvhttp_server_use(server, uvh_logger_request, NULL);
    if (err != 0)
        return print_error(err);

    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count;
    if (!uvh_listen_all(server, options, addresses, &count))
        return UVH_EXIT_FAILED;

    err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uvh_banner_print(options, root, addresses, count);
        err = uvhttp_server_run(server);
    }
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

/* The words of --prewarm, in memory of `list` that the caller frees. False when there is none. */
static bool split_prewarm(const struct uvh_options *options, struct uvh_text_list *list, char **copy)
{
    const char *text = options->prewarm != NULL ? options->prewarm : "";
    size_t length = strlen(text);
    *list = (struct uvh_text_list){.items = calloc(length / 2 + 1, sizeof(*list->items))};
    *copy = strdup(text);
    if (list->items == NULL || *copy == NULL)
        return false;
    for (char *at = *copy + strspn(*copy, " "); *at != '\0'; at += strspn(at, " ")) {
        list->items[list->count++].text = at;
        at += strcspn(at, " ");
        if (*at != '\0')
            *at++ = '\0';
    }
    return true;
}

/* What is served as a file for `uvhttp run`: one site with one folder. */
static int print_config(const struct uvh_options *options, char *root, const struct uvh_text_list *prewarm)
{
    struct uvh_setup_route route = {.path = {.text = "/"},
                                    .kind = UVH_ROUTE_STATIC,
                                    .root = {.text = root},
                                    .files = options->files,
                                    .prewarm = *prewarm};
    struct uvh_setup_site site = {.routes = &route, .route_count = 1};
    struct uvh_setup setup = {
        .config = options->config, .log_level = options->log_level, .sites = &site, .site_count = 1};
    setup.listen_count = uvh_listen_order(options, setup.listen);
    uvh_print_config(&setup, stdout);
    return UVH_EXIT_OK;
}

static int print_or_serve(const struct uvh_options *options, char *root, const struct uvh_text_list *prewarm)
{
    if (options->print_config)
        return print_config(options, root, prewarm);

    uvhttp_log_level_t level = options->log_level;
    uvhttp_config_t config = options->config;
    config.log = uvhttp_log_to_stderr;
    config.log_arg = &level;
    config.log_level = level;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, &config);
    if (server == NULL)
        return print_error(UVHTTP_ENOMEM);
    int code = serve(server, options, root, prewarm);
    if (code != UVH_EXIT_OK)
        level = UVHTTP_LOG_ERROR; /* what was wrong was printed; that nothing is left to stop need not be */
    uvhttp_server_free(server);
    return code;
}

int uvh_serve_run(const struct uvh_options *options)
{
    char root[PATH_MAX];
    struct uvh_options complete = *options;
    struct uvh_file_rules rules;
    struct uvh_text_list prewarm;
    char *words;
    uvh_listen_raise_descriptor_limit();
    if (realpath(options->root, root) == NULL)
        return print_root_error(options->root, -errno);
    int code = uvh_file_rules_make(&rules, options, &complete.files);
    if (code == UVH_EXIT_OK) {
        code = split_prewarm(options, &prewarm, &words) ? print_or_serve(&complete, root, &prewarm)
                                                        : print_error(UVHTTP_ENOMEM);
        free(prewarm.items);
        free(words);
    }
    uvh_file_rules_release(&rules);
    return code;
}
