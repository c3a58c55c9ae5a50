/* See confine_paths.h. */
#include "confine_paths.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "access_logs.h"
#include "tls_setup.h"

struct visitor {
    uvh_confine_path_cb visit;
    void *arg;
};

static void visit_one(const struct visitor *visitor, const char *path, struct uvh_mark mark,
                      bool write)
{
    const struct uvh_confine_path one = {.path = path, .mark = mark, .write = write};
    visitor->visit(&one, visitor->arg);
}

static void visit_parent(const struct visitor *visitor, const char *path, struct uvh_mark mark,
                         bool write)
{
    char copy[PATH_MAX];
    if (snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy))
        visit_one(visitor, dirname(copy), mark, write);
}

/* "/dev/stdout" and others are links that are never replaced. */
static bool is_link_of_system(const char *path)
{
    return (strncmp(path, "/dev/", 5) == 0 && strchr(path + 5, '/') == NULL) ||
           strncmp(path, "/proc/", 6) == 0;
}

/* A device or a FIFO is never replaced. */
static void visit_file(const struct visitor *visitor, const char *path, struct uvh_mark mark,
                       bool write)
{
    struct stat found;
    if (path == NULL)
        return;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISSOCK(found.st_mode)) {
        visit_one(visitor, path, mark, write);
        return;
    }
    if (!is_link_of_system(path))
        visit_parent(visitor, path, mark, write);
    char *target = realpath(path, NULL);
    if (target != NULL)
        visit_parent(visitor, target, mark, write);
    free(target);
}

static void visit_text(const struct visitor *visitor, const struct uvh_text *path, bool write)
{
    visit_file(visitor, path->text, path->mark, write);
}

static void visit_socket(const struct visitor *visitor, const struct uvh_address *address,
                         struct uvh_mark mark)
{
    const char *path = uvh_address_path(address);
    if (path != NULL && *path != '@')
        visit_parent(visitor, path, mark, true);
}

static void visit_addresses(const struct visitor *visitor, const struct uvh_setup *setup,
                            const struct uvh_options *options)
{
    for (size_t i = 0; i < options->listen_count; i++)
        visit_socket(visitor, &options->listen[i], setup->listen_marks[i]);
    if (setup->metrics.has_listen)
        visit_socket(visitor, &setup->metrics.listen, setup->metrics.path.mark);
    if (setup->status.has_listen)
        visit_socket(visitor, &setup->status.listen, setup->status.path.mark);
}

struct tls_visitor {
    const struct visitor *visitor;
    struct uvh_mark mark;
};

static void visit_tls_file(const char *path, void *arg)
{
    const struct tls_visitor *self = arg;
    visit_file(self->visitor, path, self->mark, false);
}

static void visit_tls(const struct visitor *visitor, const struct uvh_setup_tls *tls, bool make)
{
    struct tls_visitor self = {visitor, uvh_tls_mark(tls, "certificates")};
    char directory[PATH_MAX];
    if (tls->self_signed && uvh_self_signed_find_directory(directory, make))
        visit_one(visitor, directory, self.mark, true);
    uvh_tls_each_file(tls, visit_tls_file, &self);
    visit_file(visitor, tls->config.key_log_file, self.mark, true);
}

static void visit_root(const struct visitor *visitor, const struct uvh_text *root, bool write)
{
    const struct uvh_confine_path one = {
        .path = root->text, .mark = root->mark, .write = write, .root = true};
    if (root->text != NULL)
        visitor->visit(&one, visitor->arg);
}

static void visit_route(const struct visitor *visitor, const struct uvh_setup_route *route)
{
    visit_text(visitor, &route->auth.file, false);
    visit_text(visitor, &route->upload_auth.file, false);
    if (route->kind != UVH_ROUTE_STATIC)
        return;
    visit_root(visitor, &route->root, route->files.uploads);
    for (size_t i = 0; i < route->more_roots.count; i++)
        visit_root(visitor, &route->more_roots.items[i], false);
}

static void visit_list(const struct visitor *visitor, const struct uvh_text_list *list, bool write)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct uvh_confine_path one = {.path = list->items[i].text,
                                             .mark = list->items[i].mark,
                                             .write = write,
                                             .required = true};
        visitor->visit(&one, visitor->arg);
    }
}

static void visit_log(const struct visitor *visitor, const struct uvh_setup *setup, size_t index)
{
    const struct uvh_setup_log *log =
        index == 0 ? &setup->access_log : &setup->sites[index - 1].access_log;
    visit_file(visitor, uvh_access_logs_file(setup, index), log->path.mark, true);
}

void uvh_confine_paths(const struct uvh_setup *setup, const struct uvh_options *options, bool make,
                       uvh_confine_path_cb visit, void *arg)
{
    const struct visitor visitor = {visit, arg};
    for (const struct uvh_source *one = setup->sources; one != NULL; one = one->next)
        visit_file(&visitor, one->name, UVH_MARK_NONE, false);
    visit_text(&visitor, &setup->pid_file, true);
    visit_addresses(&visitor, setup, options);
    if (setup->tls.wanted)
        visit_tls(&visitor, &setup->tls, make);
    for (size_t i = 0; i <= setup->site_count; i++)
        visit_log(&visitor, setup, i);
    for (size_t i = 0; i < setup->site_count; i++) {
        visit_text(&visitor, &setup->sites[i].auth.file, false);
        for (size_t r = 0; r < setup->sites[i].route_count; r++)
            visit_route(&visitor, &setup->sites[i].routes[r]);
    }
    visit_list(&visitor, &setup->confine.read, false);
    visit_list(&visitor, &setup->confine.write, true);
}
