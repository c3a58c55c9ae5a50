/* See serve_site.h. */
#include "serve_site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absolute_path.h"
#include "client_rules.h"
#include "log_path.h"
#include "mapping.h"
#include "named_files.h"

int uvh_serve_site_refuse_directory(const char *option, const char *directory, int err)
{
    fprintf(stderr, option == NULL ? "uvhttp: " : "uvhttp: --%s: ", option);
    /* The library returns libuv's codes, which are negated errno values. */
    switch (-err) {
    case ENOENT:
        fprintf(stderr, "the directory '%s' does not exist\n", directory);
        break;
    case ENOTDIR:
        fprintf(stderr, "'%s' is not a directory%s\n", directory,
                option == NULL ? " or regular file" : "");
        break;
    case EACCES:
    case EPERM:
        fprintf(stderr, "no permission to read the directory '%s'\n", directory);
        break;
    default:
        fprintf(stderr, "the directory '%s' cannot be served: %s\n", directory,
                uvhttp_strerror(err));
        break;
    }
    return UVH_EXIT_FAILED;
}

static int no_memory(void)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(UVHTTP_ENOMEM));
    return UVH_EXIT_FAILED;
}

/* Records a text to be freed with the rest; NULL stays NULL. */
static char *keep(struct uvh_serve_site *made, char *text)
{
    if (text != NULL)
        made->texts[made->text_count++] = text;
    return text;
}

/* The words of --prewarm. */
static int add_prewarm(struct uvh_serve_site *made, const char *text)
{
    struct uvh_text_list *list = &made->routes[0].prewarm;
    char *copy = keep(made, strdup(text));
    list->items = calloc(strlen(text) / 2 + 1, sizeof(*list->items));
    if (copy == NULL || list->items == NULL)
        return no_memory();
    for (char *at = copy + strspn(copy, " "); *at != '\0'; at += strspn(at, " ")) {
        list->items[list->count++].text = at;
        at += strcspn(at, " ");
        if (*at != '\0')
            *at++ = '\0';
    }
    return UVH_EXIT_OK;
}

static int add_more_roots(struct uvh_serve_site *made, const struct uvh_option_list *directories)
{
    struct uvh_setup_route *route = &made->routes[0];
    for (size_t i = 0; i < directories->count; i++) {
        struct stat found;
        char *path = keep(made, uvh_absolute_path(directories->items[i]));
        if (path == NULL || stat(path, &found) != 0)
            return uvh_serve_site_refuse_directory("more-root", directories->items[i], -errno);
        if (!S_ISDIR(found.st_mode))
            return uvh_serve_site_refuse_directory("more-root", path, -ENOTDIR);
        made->more_roots[i].text = made->more_root_paths[i] = path;
    }
    route->more_roots = (struct uvh_text_list){made->more_roots, directories->count};
    route->files.more_roots = made->more_root_paths;
    return UVH_EXIT_OK;
}

/* One file, served from its directory. Options that look up other files do not apply. */
static int make_file_route(struct uvh_serve_site *made, struct uvh_setup_route *route, char *path)
{
    char *slash = strrchr(path, '/');
    char *name = keep(made, strdup(slash + 1));
    if (name == NULL)
        return no_memory();
    /* for a file in the file system's root the slash is the directory */
    slash[slash == path] = '\0';
    route->root.text = path;
    route->files.file = name;
    route->files.hidden = route->files.hidden || *name == '.'; /* it was named */
    route->files.fallback = route->files.try_files = NULL;
    route->files.spa = route->files.clean_urls = route->files.uploads = false;
    route->files.upload_overwrite = route->files.upload_directories = route->files.upload_sync =
        false;
    route->files.upload_max_size = 0;
    return UVH_EXIT_OK;
}

/* The absolute path of a file or directory to serve, or NULL with errno set. For a file that is a
 * link it is the target's: the type is that of the target, which may be elsewhere. */
static char *find_served(struct uvh_serve_site *made, const char *named, struct stat *found)
{
    struct stat self;
    char *path = keep(made, uvh_absolute_path(named));
    if (path == NULL || stat(path, found) != 0)
        return NULL;
    if (S_ISREG(found->st_mode) && lstat(path, &self) == 0 && S_ISLNK(self.st_mode))
        path = keep(made, realpath(path, NULL));
    return path;
}

/* PATH=DIRECTORY or PATH=FILE. The flags for static files apply there, too; --prewarm and
 * --more-root only to the first directory. */
static int add_alias(struct uvh_serve_site *made, const uvhttp_static_options_t *files,
                     const char *given)
{
    struct uvh_setup_route *route = &made->routes[made->site.route_count++];
    struct stat found;
    char *text = keep(made, strdup(given));
    if (text == NULL)
        return no_memory();
    char *target = strchr(text, '=');
    if (*text != '/' || target == NULL || target[1] == '\0') {
        fprintf(stderr,
                "uvhttp: --alias: '%s' is invalid; allowed are /PATH/=DIRECTORY and /PATH=FILE\n",
                given);
        return UVH_EXIT_USAGE;
    }
    *target++ = '\0';
    char *path = find_served(made, target, &found);
    if (path == NULL) {
        fprintf(stderr, "uvhttp: --alias: '%s' cannot be served: %s\n", target,
                uvhttp_strerror(-errno));
        return UVH_EXIT_FAILED;
    }
    *route = (struct uvh_setup_route){
        .path = {.text = text}, .kind = UVH_ROUTE_STATIC, .root = {.text = path}, .files = *files};
    bool directory = S_ISDIR(found.st_mode);
    int code = directory ? UVH_EXIT_OK : make_file_route(made, route, path);
    uvh_named_files_drop(route);
    if (!directory || target[-2] == '/')
        return code;
    fprintf(stderr,
            "uvhttp: --alias: '%s' is a directory, so the path must end with a slash: '%s/'\n",
            target, text);
    return UVH_EXIT_USAGE;
}

/* --redirect and --rewrite. */
static int add_mappings(struct uvh_serve_site *made, const struct uvh_options *options)
{
    for (size_t i = 0; i < options->redirects.count; i++) {
        char *path = keep(made, strdup(options->redirects.items[i]));
        if (path == NULL)
            return no_memory();
        struct uvh_text target = {.text = uvh_mapping_split(path)};
        made->routes[made->site.route_count++] = (struct uvh_setup_route){
            .path = {.text = path}, .kind = UVH_ROUTE_REDIRECT, .status = 302, .text = target};
    }
    for (size_t i = 0; i < options->rewrites.count; i++) {
        char *path = keep(made, strdup(options->rewrites.items[i]));
        if (path == NULL)
            return no_memory();
        struct uvh_text target = {.text = uvh_mapping_split(path)};
        made->rewrites[made->site.rewrite_count++] =
            (struct uvh_setup_rewrite){.path = {.text = path}, .to = target};
    }
    made->site.rewrites = made->rewrites;
    return UVH_EXIT_OK;
}

/* The values were checked when they were read. */
static void add_clients(struct uvh_serve_site *made, const struct uvh_options *options)
{
    struct uvh_setup_clients *clients = &made->site.clients;
    clients->allow = uvh_option_texts(&options->allow, made->allow);
    clients->deny = uvh_option_texts(&options->deny, made->deny);
    if (options->limit_requests == NULL)
        return;
    clients->requests.mark.line = 1;
    (void)uvh_client_rules_read_limit(options->limit_requests, &clients->requests.options);
}

/* The origins, separated by spaces. */
static int add_cors(struct uvh_serve_site *made, const struct uvh_option_list *origins)
{
    size_t size = 1, used = 0;
    if (origins->count == 0)
        return UVH_EXIT_OK;
    for (size_t i = 0; i < origins->count; i++)
        size += strlen(origins->items[i]) + 1;
    char *text = keep(made, calloc(1, size));
    if (text == NULL)
        return no_memory();
    for (size_t i = 0; i < origins->count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : " ",
                                 origins->items[i]);
    made->site.cors.text = text;
    return UVH_EXIT_OK;
}

static int add_access_log(struct uvh_serve_site *made, const char *file)
{
    made->access_log = file;
    if (file == NULL || !uvh_log_path_is_file(file))
        return UVH_EXIT_OK;
    made->access_log = keep(made, uvh_absolute_path(file));
    return made->access_log == NULL ? no_memory() : UVH_EXIT_OK;
}

/* A password file; its content is checked when it is read. */
static int add_auth(struct uvh_serve_site *made, const char *option, const char *file,
                    struct uvh_setup_auth *auth)
{
    if (file == NULL)
        return UVH_EXIT_OK;
    char *path = keep(made, uvh_absolute_path(file)); /* a link may get another target */
    if (path == NULL || access(path, F_OK) != 0) {
        fprintf(stderr, "uvhttp: --%s: '%s' cannot be opened: %s%s\n", option, file,
                uvhttp_strerror(-errno),
                strchr(file, ':') == NULL
                    ? ""
                    : "; a file is required, with lines of 'uvhttp hash-password NAME'");
        return UVH_EXIT_FAILED;
    }
    *auth = (struct uvh_setup_auth){.mark = {.line = 1}, .file = {.text = path}};
    return UVH_EXIT_OK;
}

/* For uploads to all directories. */
static int add_upload_auth(struct uvh_serve_site *made, const struct uvh_options *options)
{
    if (options->upload_auth != NULL && !options->files.uploads) {
        fputs("uvhttp: --upload-auth requires --uploads\n", stderr);
        return UVH_EXIT_USAGE;
    }
    int code = add_auth(made, "upload-auth", options->upload_auth, &made->upload_auth);
    for (size_t i = 0; i <= made->alias_count; i++) {
        if (made->routes[i].files.uploads)
            made->routes[i].upload_auth = made->upload_auth;
    }
    return code;
}

/* The file is the only one: options that look up others were given by mistake. */
static int make_single(struct uvh_serve_site *made, const struct uvh_options *options)
{
    const uvhttp_static_options_t *files = &options->files;
    const char *option = files->uploads                  ? "uploads"
                         : files->spa                    ? "spa"
                         : files->fallback != NULL       ? "fallback"
                         : files->try_files != NULL      ? "try-files"
                         : files->clean_urls             ? "clean-urls"
                         : options->more_roots.count > 0 ? "more-root"
                                                         : NULL;
    if (option != NULL) {
        fprintf(stderr, "uvhttp: --%s requires a directory; '%s' is a file\n", option,
                options->root);
        return UVH_EXIT_USAGE;
    }
    char *path = keep(made, strdup(made->root));
    return path == NULL ? no_memory() : make_file_route(made, &made->routes[0], path);
}

/* Finds the directory or file, and stores its route. */
static int add_root(struct uvh_serve_site *made, const struct uvh_options *options,
                    const uvhttp_static_options_t *files)
{
    struct stat found;
    char *root = find_served(made, options->root, &found);
    made->root = root;
    if (root == NULL)
        return uvh_serve_site_refuse_directory(NULL, options->root, -errno);
    made->routes[0] = (struct uvh_setup_route){.path = {.text = "/"},
                                               .kind = UVH_ROUTE_STATIC,
                                               .root = {.text = made->root},
                                               .files = *files};
    return S_ISREG(found.st_mode) ? make_single(made, options) : UVH_EXIT_OK;
}

int uvh_serve_site_make(struct uvh_serve_site *made, const struct uvh_options *options)
{
    memset(made, 0, sizeof(*made));
    uvhttp_static_options_t files = options->files;
    int code = uvh_file_rules_make(&made->rules, options, &files);
    made->site.routes = made->routes;
    made->site.route_count = 1;
    made->site.slash = UVHTTP_SLASH_REDIRECT;
    if (code == UVH_EXIT_OK)
        code = add_root(made, options, &files);
    if (code == UVH_EXIT_OK && options->prewarm != NULL)
        code = add_prewarm(made, options->prewarm);
    if (code == UVH_EXIT_OK)
        code = add_more_roots(made, &options->more_roots);
    for (size_t i = 0; i < options->aliases.count && code == UVH_EXIT_OK; i++)
        code = add_alias(made, &files, options->aliases.items[i]);
    made->alias_count = made->site.route_count - 1;
    if (code == UVH_EXIT_OK)
        code = add_mappings(made, options);
    add_clients(made, options);
    if (code == UVH_EXIT_OK)
        code = add_auth(made, "auth", options->auth, &made->site.auth);
    if (code == UVH_EXIT_OK)
        code = add_upload_auth(made, options);
    if (code == UVH_EXIT_OK)
        code = add_cors(made, &options->cors);
    if (code == UVH_EXIT_OK)
        code = add_access_log(made, options->access_log);
    made->metrics = options->metrics;
    made->status = options->status;
    if (code == UVH_EXIT_OK)
        code = uvh_tls_options_make(&made->tls_files, &options->tls, &made->tls);
    return code;
}

void uvh_serve_site_release(struct uvh_serve_site *made)
{
    uvh_file_rules_release(&made->rules);
    uvh_tls_options_release(&made->tls_files);
    free(made->routes[0].prewarm.items);
    for (size_t i = 0; i < made->text_count; i++)
        free(made->texts[i]);
}
