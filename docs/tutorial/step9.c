/* Step 9 of the tutorial: a small service. Users who log in upload files for others and download
 * theirs, with a page in the browser or any other client. Usage: step9 PORT PAGES FILES */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>
#include <uv.h>
#include <uvhttp.h>

/* ---- login ---- */

static const char user_key; /* its address is the key of the user attached to a request */

static int set_user(uvhttp_response_t *res, uvhttp_cookie_signer_t *signer, const char *user,
                    int64_t seconds)
{
    /* With HTTPS also .secure = true, and a name that begins with "__Host-". */
    return uvhttp_response_set_signed_cookie(
        res, signer,
        &(uvhttp_cookie_t){.name = "user",
                           .value = user,
                           .path = "/",
                           .max_age = seconds,
                           .http_only = true,
                           .same_site = UVHTTP_SAME_SITE_STRICT});
}

static int login(uvhttp_request_t *req, uvhttp_response_t *res, void *signer)
{
    const char *user = uvhttp_request_form(req, "user"); /* a real service needs a password, too */
    if (user == NULL || user[0] == '\0' || strlen(user) > 50)
        return uvhttp_response_send_status(res, 422);
    int err = set_user(res, signer, user, 8 * 3600);
    return err != 0 ? err : uvhttp_response_redirect(res, 303, "/");
}

static int logout(uvhttp_request_t *req, uvhttp_response_t *res, void *signer)
{
    int err = set_user(res, signer, "", UVHTTP_COOKIE_DELETE);
    return err != 0 ? err : uvhttp_response_redirect(res, 303, "/");
}

/* Middleware: only for users who are logged in. */
static int require_user(uvhttp_request_t *req, uvhttp_response_t *res, void *signer)
{
    uvhttp_slice_t user;
    int err = uvhttp_request_signed_cookie(req, signer, "user", &user);
    if (err == UVHTTP_ESIGNATURE || err == UVHTTP_EEXPIRED)
        return uvhttp_response_send_status(res, 401);
    if (err == 0) /* the value lives as long as the request, and ends with NUL */
        err = uvhttp_request_attach(req, &user_key, (void *)(uintptr_t)user.base, NULL);
    return err != 0 ? err : UVHTTP_DECLINED;
}

/* Middleware: browsers must not run an uploaded file as a page of this site. */
static int as_download(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_response_set_header(res, "Content-Disposition", "attachment");
    if (err == 0)
        err = uvhttp_response_set_header(res, "X-Content-Type-Options", "nosniff");
    return err != 0 ? err : UVHTTP_DECLINED;
}

/* ---- the list of files: reading a directory may block, so its route is a blocking one ---- */

static int list_files(uvhttp_request_t *req, uvhttp_response_t *res, void *directory)
{
    DIR *dir = opendir(directory);
    cJSON *list = cJSON_CreateObject(), *files = cJSON_AddArrayToObject(list, "files");
    cJSON_AddStringToObject(list, "user", uvhttp_request_attached(req, &user_key));
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        struct stat facts;
        if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &facts, 0) != 0)
            continue;
        cJSON *file = cJSON_CreateObject();
        cJSON_AddStringToObject(file, "name", entry->d_name);
        cJSON_AddNumberToObject(file, "size", (double)facts.st_size);
        if (!cJSON_AddItemToArray(files, file))
            cJSON_Delete(file);
    }
    if (dir != NULL)
        closedir(dir);
    char *text = cJSON_PrintUnformatted(list);
    int err =
        text == NULL ? UVHTTP_ENOMEM : uvhttp_response_set_header(res, "Cache-Control", "no-store");
    if (err == 0)
        err = uvhttp_response_send_json(res, 200, text);
    cJSON_free(text);
    cJSON_Delete(list);
    return err;
}

/* ---- uploads: as in step 6 ---- */

static uvhttp_static_t *stored; /* serves the uploaded files */

struct upload {
    FILE *file;
    uint64_t size;
    char part[600], path[600]; /* names before and after completion */
};

/* Called when the exchange ends, complete or not. */
static void end_upload(void *data)
{
    struct upload *upload = data;
    if (upload->file != NULL) {
        fclose(upload->file);
        remove(upload->part);
    }
    free(upload);
}

static int store(uvhttp_request_t *req, uvhttp_response_t *res, const char *data, size_t size,
                 void *arg)
{
    struct upload *upload = arg;
    char text[64];
    if (size > 0) {
        upload->size += size;
        return fwrite(data, 1, size, upload->file) == size ? 0
                                                           : uvhttp_response_send_status(res, 507);
    }
    bool complete = fclose(upload->file) == 0 && rename(upload->part, upload->path) == 0;
    upload->file = NULL;
    if (!complete) {
        remove(upload->part);
        return uvhttp_response_send_status(res, 507);
    }
    uvhttp_static_invalidate(stored, uvhttp_request_param(req, "name"));
    snprintf(text, sizeof text, "stored %llu bytes\n", (unsigned long long)upload->size);
    return uvhttp_response_send_text(res, 201, text);
}

/* True for a name of one file in the directory that is not hidden. Never use a client's name as a
 * path without such a check. */
static bool is_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= 200 && name[0] != '.' && strcspn(name, "/\\\r\n") == length;
}

static int upload(uvhttp_request_t *req, uvhttp_response_t *res, void *directory)
{
    static const char key;
    static unsigned number;
    const char *name = uvhttp_request_param(req, "name");
    if (name == NULL)
        return UVHTTP_ENOMEM;
    if (!is_name(name))
        return uvhttp_response_send_status(res, 400);
    struct upload *upload = calloc(1, sizeof *upload);
    int err = upload == NULL ? UVHTTP_ENOMEM : uvhttp_request_attach(req, &key, upload, end_upload);
    if (err != 0)
        return err;
    snprintf(upload->part, sizeof upload->part, "%.300s/.%u.part", (char *)directory, number++);
    snprintf(upload->path, sizeof upload->path, "%.300s/%s", (char *)directory, name);
    upload->file = fopen(upload->part, "wb");
    if (upload->file == NULL)
        return uvhttp_response_send_status(res, 500);
    return uvhttp_request_on_body(req, store, upload);
}

/* ---- the server ---- */

static uvhttp_cookie_signer_t *signer;
static uvhttp_rate_limit_t *logins;
static uvhttp_access_log_t *access_log;

static int make_parts(void)
{
    char key[32];
    uvhttp_error_t error = {0};
    const uvhttp_cookie_signer_options_t keys = {UVHTTP_SIGNING_KEYS({key, sizeof key})};
    /* Read it from a file if sessions must survive a restart, or several processes share them. */
    int err = uv_random(NULL, NULL, key, sizeof key, 0, NULL);
    if (err == 0)
        err = uvhttp_cookie_signer_new(&signer, &keys, &error);
    if (err == 0)
        err = uvhttp_rate_limit_new(
            &logins, &(uvhttp_rate_limit_options_t){.requests = 10, .period_ms = 60000}, &error);
    if (err == 0)
        err =
            uvhttp_access_log_new(&access_log, &(uvhttp_access_log_options_t){.path = "-"}, &error);
    if (error.text[0] != '\0')
        fprintf(stderr, "%s\n", error.text);
    return err;
}

static int add_login(uvhttp_router_t *router)
{
    int err = uvhttp_router_add(
        router, &(uvhttp_route_t){.method = "POST",
                                  .pattern = "/login",
                                  .handler = login,
                                  .arg = signer,
                                  .max_body_size = 1024,
                                  UVHTTP_MIDDLEWARE({uvhttp_rate_limit_handle_request, logins})});
    return err != 0 ? err
                    : uvhttp_router_add(router, &(uvhttp_route_t){.method = "POST",
                                                                  .pattern = "/logout",
                                                                  .handler = logout,
                                                                  .arg = signer});
}

static int add_files(uvhttp_router_t *router, char *directory)
{
    uvhttp_router_t *files;
    int err = uvhttp_router_group(router, "/files", &files);
    if (err == 0)
        err = uvhttp_router_use(files, require_user, signer);
    if (err == 0)
        err = uvhttp_router_add(files, &(uvhttp_route_t){.method = "GET",
                                                         .handler = list_files,
                                                         .pattern = "",
                                                         .arg = directory,
                                                         .flags = UVHTTP_ROUTE_BLOCKING});
    if (err == 0)
        err = uvhttp_router_add(files, &(uvhttp_route_t){.method = "GET",
                                                         .pattern = "/*name",
                                                         .handler = uvhttp_static_handle_request,
                                                         .arg = stored,
                                                         UVHTTP_MIDDLEWARE({as_download, NULL})});
    if (err == 0)
        err = uvhttp_router_add(files, &(uvhttp_route_t){.method = "PUT",
                                                         .pattern = "/:name",
                                                         .handler = upload,
                                                         .arg = directory,
                                                         .flags = UVHTTP_ROUTE_STREAM,
                                                         .max_body_size = 100 * 1024 * 1024,
                                                         .body_timeout = 60});
    return err;
}

static int run(uvhttp_server_t *server, int port, const char *pages, char *directory)
{
    int err = make_parts();
    if (err == 0)
        uvhttp_server_on_finished(server, uvhttp_access_log_finished, access_log);
    if (err == 0)
        err = add_login(uvhttp_server_router(server));
    if (err == 0)
        err = add_files(uvhttp_server_router(server), directory);
    if (err == 0)
        err = uvhttp_static_mount(server, "/", &(uvhttp_static_options_t){.root = pages}, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    return err;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s PORT PAGES FILES\n", argv[0]);
        return 2;
    }
    uvhttp_server_t *server = NULL;
    int err = uvhttp_static_new(&stored, &(uvhttp_static_options_t){.root = argv[3]}, NULL);
    if (err == 0) {
        server = uvhttp_server_new(NULL);
        err = run(server, (int)strtol(argv[1], NULL, 10), argv[2], argv[3]);
    }
    uvhttp_server_free(server);
    uvhttp_static_free(stored);
    uvhttp_access_log_free(access_log);
    uvhttp_rate_limit_free(logins);
    uvhttp_cookie_signer_free(signer);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
