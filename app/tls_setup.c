/* See tls_setup.h. */
#include "tls_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "listen.h"
#include "tls_advice.h"
#include "user_files.h"
#include "utc.h"
#include "yaml_reader.h"

#define DAY       ((int64_t)86400)
#define WARN_DAYS 14

struct uvh_mark uvh_tls_mark(const struct uvh_setup_tls *setup, const char *key)
{
    const struct uvh_mark nowhere = UVH_MARK_NONE;
    return setup->node == NULL ? nowhere : uvh_yaml_mark_of(setup->node, key, setup->node->mark);
}

void uvh_tls_each_file(const struct uvh_setup_tls *setup, uvh_tls_file_cb visit, void *arg)
{
    const uvhttp_tls_options_t *config = &setup->config;
    for (size_t i = 0; i < config->certificate_count; i++) {
        const uvhttp_tls_certificate_t *one = &config->certificates[i];
        const char *const files[] = {one->certificate_file, one->key_file, one->passphrase_file,
                                     one->ocsp_file};
        for (size_t j = 0; j < sizeof(files) / sizeof(files[0]); j++)
            if (files[j] != NULL)
                visit(files[j], arg);
    }
    for (size_t i = 0; i < config->ticket_key_file_count; i++)
        visit(config->ticket_key_files[i], arg);
    if (config->client_ca_file != NULL)
        visit(config->client_ca_file, arg);
    if (config->client_crl_file != NULL)
        visit(config->client_crl_file, arg);
}

/* The fields of uvhttp_tls_options_t and their keys in the file, which are never longer. */
static const char *const keys[][2] = {
    {"certificate_file", "certificate"},
    {"key_file", "key"},
    {"ocsp_file", "ocsp"},
    {"client_ca_file", "client_ca"},
    {"client_crl_file", "client_crl"},
    {"key_log_file", "key_log"},
    {"ticket_key_files", "ticket_keys"},
};

/* The key of the file for the field of an error, which may be that of a certificate. */
static const char *key_of(const uvhttp_error_t *error)
{
    const char *dot = strrchr(error->field, '.');
    const char *field = dot == NULL ? error->field : dot + 1;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i][0], field) == 0)
            return keys[i][1];
    }
    return field;
}

/* The position of a certificate: of the key in error, or of its map. */
static struct uvh_mark mark_of_certificate(const struct uvh_setup_tls *setup, size_t index,
                                           const char *key)
{
    const struct uvh_yaml_node *one = setup->node == NULL ? NULL : setup->node->first;
    while (one != NULL && strcmp(one->key->text, "certificates") != 0)
        one = one->next;
    for (one = one == NULL ? NULL : one->first; one != NULL && index > 0; index--)
        one = one->next;
    return one == NULL ? UVH_MARK_NONE : uvh_yaml_mark_of(one, key, one->mark);
}

/* Replaces the field names of uvhttp_tls_options_t in a message of the library by the keys of the
 * file. Quoted text is unchanged. No key is longer than its field. */
static const char *name_keys(char *message)
{
    char quote = '\0';
    for (char *at = message; *at != '\0'; at++) {
        if (*at == '\'' || *at == '"')
            quote = quote == '\0' ? *at : quote == *at ? '\0' : quote;
        if (quote != '\0' || (at > message && at[-1] != ' '))
            continue;
        size_t length = strcspn(at, " ");
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            if (strlen(keys[i][0]) != length || memcmp(keys[i][0], at, length) != 0)
                continue;
            size_t own = strlen(keys[i][1]);
            memcpy(at, keys[i][1], own);
            memmove(at + own, at + length, strlen(at + length) + 1);
            break;
        }
    }
    return message;
}

static const char *reason_of(uvhttp_error_t *error)
{
    if (error->code == UVHTTP_ENOTSUP)
        return "this build does not support TLS: it was built without OpenSSL (BUILD_WITH_HTTPS)";
    return name_keys(error->text);
}

/* Loads each certificate alone: notes errors, and the expiry of the others. */
static void load_each(struct uvh_tls *tls, const uvhttp_tls_options_t *config,
                      struct uvh_problems *problems)
{
    for (size_t i = 0; i < config->certificate_count; i++) {
        uvhttp_error_t error;
        uvhttp_tls_certificate_t one = config->certificates[i];
        one.client_auth = UVHTTP_TLS_CLIENT_AUTH_OFF; /* its authorities are not copied */
        const uvhttp_tls_options_t alone = {.certificates = &one, .certificate_count = 1};
        uvhttp_tls_t *loaded;
        if (uvhttp_tls_new(&loaded, &alone, &error) != 0)
            uvh_problems_add(problems, mark_of_certificate(tls->setup, i, key_of(&error)),
                             "tls: %s", reason_of(&error));
        else if (tls->expires != NULL)
            tls->expires[i] = uvhttp_tls_expires(loaded);
        uvhttp_tls_free(loaded);
    }
}

/* `err` is the result for all of the configuration. */
static bool note_error(struct uvh_tls *tls, const uvhttp_tls_options_t *config, int err,
                       uvhttp_error_t *error, struct uvh_problems *problems)
{
    size_t before = problems->count;
    if (err == UVHTTP_ECONFIG)
        load_each(tls, config, problems);
    if (err != 0 && problems->count == before)
        uvh_problems_add(problems, uvh_tls_mark(tls->setup, key_of(error)), "tls: %s",
                         reason_of(error));
    return problems->count == before;
}

static bool load(struct uvh_tls *tls, const uvhttp_tls_options_t *config, bool only_check,
                 struct uvh_problems *problems)
{
    uvhttp_error_t error;
    int err = uvhttp_tls_new(&tls->tls, config, &error);
    if (only_check)
        tls->expires = calloc(config->certificate_count + 1, sizeof(*tls->expires));
    if (err == 0 && only_check)
        load_each(tls, config, problems);
    return note_error(tls, config, err, &error, problems);
}

/* Creates the file with mode 0600. The library opens it for each line, and ignores errors. */
static bool check_key_log(const struct uvh_tls *tls, bool only_check, struct uvh_problems *problems)
{
    const char *path = tls->setup->config.key_log_file;
    if (path == NULL)
        return true;
    int file = only_check ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int err = only_check ? uvh_user_files_check_log(path) : file < 0 ? -errno : 0;
    if (file >= 0)
        close(file);
    if (err != 0)
        uvh_problems_add(problems, uvh_tls_mark(tls->setup, "key_log"),
                         "tls: key_log '%s' cannot be written: %s", path, uvhttp_strerror(err));
    return err == 0;
}

/* The addresses that the start output shows as URLs: the self-signed certificate must cover
 * them. */
static void collect_addresses(const struct uvh_options *options,
                              struct uvh_machine_addresses *found)
{
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count = uvh_listen_order(options, true, addresses);
    for (size_t i = 0; i < count; i++) {
        const char *host = addresses[i].host;
        if (!uvh_listen_has_tls(&addresses[i], true))
            continue;
        if (uvh_address_is_any(host))
            uvh_machine_add_any(found, host);
        else if (strcmp(host, "127.0.0.1") != 0 && strcmp(host, "::1") != 0)
            uvh_machine_add(found, host);
    }
}

/* Makes the configuration for the library; without certificates if `run` creates them. False with
 * a problem noted. */
static bool prepare(struct uvh_tls *tls, const struct uvh_options *options, bool only_check,
                    uvhttp_tls_options_t *config, struct uvh_problems *problems)
{
    const struct uvh_setup_tls *setup = tls->setup;
    *config = setup->config;
    if (setup->self_signed) {
        char message[UVH_TLS_MESSAGE_SIZE + UVH_SELF_SIGNED_PATH_SIZE];
        struct uvh_machine_addresses addresses = {.count = 0};
        collect_addresses(options, &addresses);
        if (!uvh_self_signed_open(&tls->self_signed, &addresses, !only_check, message,
                                  sizeof(message))) {
            uvh_problems_add(problems, uvh_tls_mark(setup, "self_signed"), "%s", message);
            return false;
        }
        tls->own.certificate_file = tls->self_signed.path;
        config->certificates = &tls->own;
        config->certificate_count = tls->self_signed.fingerprint[0] != '\0';
    }
    config->watch = config->watch && !only_check;
    /* uvh_tls_print reports expiry */
    config->log = only_check ? NULL : uvhttp_log_to_stderr;
    config->log_arg = &tls->log_level;
    return true;
}

bool uvh_tls_open(struct uvh_tls *tls, const struct uvh_setup_tls *setup,
                  const struct uvh_options *options, bool only_check, struct uvh_problems *problems)
{
    uvhttp_tls_options_t config;
    *tls = (struct uvh_tls){.setup = setup, .log_level = options->log_level};
    if (!setup->wanted)
        return true;
    if (!prepare(tls, options, only_check, &config, problems))
        return false;
    if (setup->self_signed && config.certificate_count == 0)
        return true; /* check only: `run` creates it */
    bool writable = check_key_log(tls, only_check, problems);
    return load(tls, &config, only_check, problems) && writable;
}

bool uvh_tls_replace(struct uvh_tls *tls, const struct uvh_setup_tls *setup,
                     const struct uvh_options *options, struct uvh_problems *problems)
{
    const struct uvh_setup_tls *before = tls->setup;
    uvhttp_tls_options_t config;
    uvhttp_error_t error;
    if (tls->tls == NULL || !setup->wanted)
        return true;
    tls->setup = setup;
    bool right =
        prepare(tls, options, false, &config, problems) && check_key_log(tls, false, problems) &&
        note_error(tls, &config, uvhttp_tls_replace(tls->tls, &config, &error), &error, problems);
    if (!right)
        tls->setup = before;
    return right;
}

/* The address before `index` with the same port and the other scheme: SO_REUSEPORT would allow it,
 * and the kernel would choose one at random for each client. */
static bool has_both_schemes(const struct uvh_address *addresses, size_t index)
{
    const struct uvh_address *address = &addresses[index];
    if (uvh_address_path(address) != NULL || address->port == 0)
        return false;
    for (size_t i = 0; i < index; i++) {
        const struct uvh_address *other = &addresses[i];
        if (uvh_address_path(other) == NULL && other->port == address->port &&
            strcmp(other->host, address->host) == 0 &&
            uvh_listen_has_tls(other, true) != uvh_listen_has_tls(address, true))
            return true;
    }
    return false;
}

bool uvh_tls_check_addresses(const struct uvh_setup_tls *setup, const struct uvh_options *options,
                             struct uvh_problems *problems)
{
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count = setup->wanted ? uvh_listen_order(options, true, addresses) : 0;
    struct uvh_mark mark = setup->node == NULL ? UVH_MARK_NONE : setup->node->mark;
    bool any = count == 0;
    for (size_t i = 0; i < count; i++) {
        any = any || uvh_listen_has_tls(&addresses[i], true);
        if (has_both_schemes(addresses, i)) {
            uvh_problems_add(problems, mark,
                             "%s port %d has both http:// and https://; choose another port for "
                             "one of them",
                             addresses[i].host, addresses[i].port);
            return false;
        }
    }
    if (any)
        return true;
    uvh_problems_add(
        problems, mark,
        "no address uses TLS: http:// and unix: addresses do not; add an address without "
        "http://, or omit %s",
        setup->node != NULL  ? "'tls'"
        : setup->self_signed ? "--tls-self-signed"
                             : "--tls-cert");
    return false;
}

static void log_line(struct uvh_tls *tls, uvhttp_log_level_t level, const char *text,
                     const char *reason)
{
    char line[UVH_TLS_MESSAGE_SIZE + 80];
    snprintf(line, sizeof(line), "%s%s", text, reason);
    uvhttp_log_to_stderr(level, line, &tls->log_level);
}

static void reload(void *arg)
{
    struct uvh_tls *tls = arg;
    uvhttp_error_t error;
    if (uvhttp_tls_reload(tls->tls, &error) == 0)
        log_line(tls, UVHTTP_LOG_INFO, "certificates reloaded after SIGHUP", "");
    else
        log_line(tls, UVHTTP_LOG_ERROR, "the certificates were not reloaded: ", reason_of(&error));
}

static void join_reloader(struct uvh_tls *tls)
{
    if (tls->has_reloader)
        uv_thread_join(&tls->reloader);
    tls->has_reloader = false;
}

void uvh_tls_reload(struct uvh_tls *tls)
{
    if (tls->tls == NULL)
        return;
    join_reloader(tls);
    int err = uv_thread_create(&tls->reloader, reload, tls);
    tls->has_reloader = err == 0;
    if (err != 0)
        log_line(tls, UVHTTP_LOG_ERROR,
                 "the certificates were not reloaded: ", uvhttp_strerror(err));
}

void uvh_tls_close(struct uvh_tls *tls)
{
    join_reloader(tls);
    uvhttp_tls_free(tls->tls);
    free(tls->expires);
}

static void print_one(const struct uvh_tls *tls, size_t index, const char *file, FILE *out)
{
    const char *name = tls->setup->self_signed
                           ? tls->self_signed.path
                           : tls->setup->config.certificates[index].certificate_file;
    int64_t left = tls->expires[index] - (int64_t)time(NULL);
    char until[UVH_UTC_SIZE];
    uvh_utc_format(tls->expires[index], until);
    if (left < 0)
        fprintf(stderr, "%s: warning: the certificate '%s' expired on %s\n", file, name, until);
    else if (left < WARN_DAYS * DAY)
        fprintf(stderr, "%s: warning: the certificate '%s' expires in %d days, on %s\n", file, name,
                (int)((left + DAY - 1) / DAY), until);
    else
        fprintf(out, "%s: the certificate '%s' is valid until %s (%" PRId64 " days)\n", file, name,
                until, (left + DAY - 1) / DAY);
}

struct printer {
    const char *file;
};

static void print_advice(const char *text, void *arg)
{
    const struct printer *printer = arg;
    fprintf(stderr, "%s: warning: %s\n", printer->file, text);
}

static void log_advice(const char *text, void *arg)
{
    struct uvh_tls *tls = arg;
    uvhttp_log_to_stderr(UVHTTP_LOG_WARNING, text, &tls->log_level);
}

void uvh_tls_print(const struct uvh_tls *tls, const char *file, FILE *out)
{
    size_t count = tls->setup->self_signed ? 1 : tls->setup->config.certificate_count;
    if (tls->setup->self_signed && tls->self_signed.fingerprint[0] == '\0')
        fprintf(out, "%s: a self-signed certificate will be created: '%s'\n", file,
                tls->self_signed.path);
    for (size_t i = 0; i < count && tls->expires != NULL; i++)
        print_one(tls, i, file, out);
    if (tls->tls != NULL)
        uvh_tls_advise(&tls->setup->config, true, print_advice, &(struct printer){file});
}

void uvh_tls_warn(struct uvh_tls *tls)
{
    char message[UVH_SELF_SIGNED_PATH_SIZE + 160];
    if (tls->tls == NULL)
        return;
    uvh_tls_advise(&tls->setup->config, false, log_advice, tls);
    if (tls->setup->config.key_log_file == NULL)
        return;
    snprintf(message, sizeof(message),
             "the secrets of all TLS sessions are written to '%s'; they decrypt all traffic",
             tls->setup->config.key_log_file);
    uvhttp_log_to_stderr(UVHTTP_LOG_WARNING, message, &tls->log_level);
}

int uvh_tls_add_hsts(uvhttp_server_t *server, const struct uvh_setup_tls *setup)
{
    char value[64];
    if (!setup->wanted || setup->hsts == UVH_OPTION_OFF)
        return 0;
    snprintf(value, sizeof(value), "max-age=%zu", setup->hsts);
    const uvhttp_security_headers_options_t config = {.content_security_policy = "",
                                                      .content_type_options = "",
                                                      .frame_options = "",
                                                      .referrer_policy = "",
                                                      .permissions_policy = "",
                                                      .cross_origin_opener_policy = "",
                                                      .cross_origin_resource_policy = "",
                                                      .strict_transport_security = value};
    uvhttp_security_headers_t *headers;
    int err = uvhttp_security_headers_new(&headers, &config, NULL);
    if (err != 0)
        return err;
    err = uvhttp_server_own(server, uvhttp_security_headers_free, headers);
    if (err != 0)
        uvhttp_security_headers_free(headers);
    return err != 0 ? err
                    : uvhttp_server_use(server, uvhttp_security_headers_handle_request, headers);
}
