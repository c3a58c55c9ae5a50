/* See user_files.h. */
#include "user_files.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access_logs.h"

struct checker {
    const char *user;
    uvh_advice_cb warn;
    void *arg;
};

static const char *const no_passwords = "its changes are not used";

int uvh_user_files_check_log(const char *path)
{
    char directory[PATH_MAX];
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return -EISDIR;
    int result = access(path, W_OK);
    if (result != 0 && errno == ENOENT) {
        snprintf(directory, sizeof(directory), "%s", path);
        result = access(dirname(directory), W_OK | X_OK);
    }
    return result == 0 ? 0 : -errno;
}

const char *uvh_user_files_advice(int err)
{
    bool denied = err == -EACCES || err == -EPERM || err == -EROFS;
    return denied ? "; choose a writable directory" : "";
}

static void warn(const struct checker *checker, const char *verb, const char *path, int err,
                 const char *consequence)
{
    char text[PATH_MAX + 256];
    snprintf(text, sizeof(text), "user '%s' cannot %s '%s' (%s): %s", checker->user, verb, path,
             uvhttp_strerror(err), consequence);
    checker->warn(text, checker->arg);
}

static void check(const struct checker *checker, const char *path, int mode,
                  const char *consequence)
{
    if (path != NULL && access(path, mode) != 0)
        warn(checker, mode & W_OK ? "write" : "read", path, -errno, consequence);
}

static void check_log(const struct checker *checker, const char *path, const char *consequence)
{
    int err = path == NULL ? 0 : uvh_user_files_check_log(path);
    if (err != 0)
        warn(checker, "write", path, err, consequence);
}

static void check_tls_file(const char *path, void *arg)
{
    check(arg, path, R_OK, "certificates cannot be reloaded");
}

static void check_tls(struct checker *checker, const struct uvh_tls *tls)
{
    if (tls->self_signed.fingerprint[0] != '\0')
        check_tls_file(tls->self_signed.path, checker);
    uvh_tls_each_file(tls->setup, check_tls_file, checker);
    check_log(checker, tls->setup->config.key_log_file, "secrets of sessions are not written");
}

static void check_route(const struct checker *checker, const struct uvh_setup_route *route)
{
    static const char *const no_files = "its files cannot be served";
    check(checker, route->auth.file.text, R_OK, no_passwords);
    check(checker, route->upload_auth.file.text, R_OK, no_passwords);
    if (route->kind != UVH_ROUTE_STATIC)
        return;
    check(checker, route->root.text, R_OK | X_OK, no_files);
    for (size_t i = 0; i < route->more_roots.count; i++)
        check(checker, route->more_roots.items[i].text, R_OK | X_OK, no_files);
    if (route->files.uploads)
        check(checker, route->root.text, W_OK | X_OK, "uploads to it fail");
}

/* The next process removes that of root, and writes its own. */
static void check_pid_file(const struct checker *checker, const char *path)
{
    char directory[PATH_MAX];
    if (path == NULL || access(path, W_OK) == 0)
        return;
    snprintf(directory, sizeof(directory), "%s", path);
    if (access(dirname(directory), W_OK | X_OK) != 0)
        warn(checker, "write", path, -errno, "uvhttp upgrade fails");
}

void uvh_user_files_check_uploads(const struct uvh_setup *setup, uvh_advice_cb tell, void *arg)
{
    for (size_t i = 0; i < setup->site_count; i++) {
        const struct uvh_setup_site *site = &setup->sites[i];
        for (size_t j = 0; j < site->route_count; j++) {
            const struct uvh_setup_route *route = &site->routes[j];
            if (route->kind != UVH_ROUTE_STATIC || !route->files.uploads ||
                access(route->root.text, W_OK | X_OK) == 0)
                continue;
            int err = -errno;
            char text[PATH_MAX + 256];
            snprintf(text, sizeof(text), "uploads to '%s' fail: %s%s", route->root.text,
                     uvhttp_strerror(err), uvh_user_files_advice(err));
            tell(text, arg);
        }
    }
}

void uvh_user_files_check(const struct uvh_setup *setup, const struct uvh_tls *tls,
                          uvh_advice_cb tell, void *arg)
{
    struct checker checker = {setup->user.text, tell, arg};
    for (const struct uvh_source *one = setup->sources; one != NULL; one = one->next)
        check(&checker, one->name, R_OK, "SIGHUP cannot apply changes");
    check_pid_file(&checker, setup->pid_file.text);
    if (setup->tls.wanted)
        check_tls(&checker, tls);
    for (size_t i = 0; i <= setup->site_count; i++)
        check_log(&checker, uvh_access_logs_file(setup, i),
                  setup->sources == NULL
                      ? "the access log cannot be reopened"
                      : "the access log cannot be reopened, and SIGHUP cannot apply changes");
    for (size_t i = 0; i < setup->site_count; i++) {
        check(&checker, setup->sites[i].auth.file.text, R_OK, no_passwords);
        for (size_t j = 0; j < setup->sites[i].route_count; j++)
            check_route(&checker, &setup->sites[i].routes[j]);
    }
}
