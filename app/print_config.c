/* Prints a setup as YAML. Guarantees that the output loads to the same setup: every text is quoted,
 * characters special in YAML are escaped, and '$' is doubled. */
#include "print_config.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "utf8.h"

/* Characters allowed unescaped in a quoted text; YAML 1.1 treats others as line ends or drops
 * them. */
static bool is_plain(uint32_t c)
{
    return (c >= 0x20 && c <= 0x7e && c != '"' && c != '\\') ||
           (c >= 0xa0 && c <= 0xd7ff && c != 0x2028 && c != 0x2029) ||
           (c >= 0xe000 && c <= 0xfffd && c != 0xfeff) || c >= 0x10000;
}

/* `dollar` is what a '$' becomes. */
static void print_characters(FILE *out, const char *text, const char *dollar)
{
    while (*text != '\0') {
        uint32_t character = (unsigned char)*text;
        size_t length = uvh_utf8_next(text, &character);
        if (*text == '$')
            fputs(dollar, out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (length > 0 && is_plain(character))
            fwrite(text, 1, length, out);
        else if (*text == '\n')
            fputs("\\n", out);
        else
            fprintf(out, character > 0xff ? "\\u%04x" : "\\x%02x", (unsigned)character);
        text += length > 0 ? length : 1;
    }
}

static void print_text(FILE *out, const char *text)
{
    fputc('"', out);
    print_characters(out, text, "$$");
    fputc('"', out);
}

static void print_key(FILE *out, int indent, const char *key, const char *text)
{
    fprintf(out, "%*s%s: ", indent, "", key);
    print_text(out, text);
    fputc('\n', out);
}

static void print_list(FILE *out, int indent, const char *key, const struct uvh_text_list *list)
{
    if (list->count == 0)
        return;
    fprintf(out, "%*s%s:\n", indent, "", key);
    for (size_t i = 0; i < list->count; i++) {
        fprintf(out, "%*s- ", indent + 2, "");
        print_text(out, list->items[i].text);
        fputc('\n', out);
    }
}

/* Keys are not expanded, so '$' is literal there. */
static void print_pair(FILE *out, int indent, const char *key, const char *text)
{
    fprintf(out, "%*s\"", indent, "");
    print_characters(out, key, "$");
    fputs("\": ", out);
    print_text(out, text);
    fputc('\n', out);
}

static void print_fields(FILE *out, int indent, const struct uvh_field_list *list)
{
    if (list->count == 0)
        return;
    fprintf(out, "%*sheaders:\n", indent, "");
    for (size_t i = 0; i < list->count; i++)
        print_pair(out, indent + 2, list->items[i].name, list->items[i].value);
}

static void print_auth(FILE *out, int indent, const char *key, const struct uvh_setup_auth *auth)
{
    if (auth->mark.line == 0)
        return;
    fprintf(out, "%*s%s:%s\n", indent, "", key, auth->off ? " off" : "");
    if (auth->realm != NULL)
        print_key(out, indent + 2, "realm", auth->realm);
    if (auth->file.text != NULL)
        print_key(out, indent + 2, "file", auth->file.text);
    if (auth->user_count > 0)
        fprintf(out, "%*susers:\n", indent + 2, "");
    for (size_t i = 0; i < auth->user_count; i++)
        print_pair(out, indent + 4, auth->users[i].name, auth->users[i].hash);
}

static void print_clients(FILE *out, int indent, const struct uvh_setup_clients *clients)
{
    const uvhttp_rate_limit_options_t *limit = &clients->requests.options;
    print_list(out, indent, "allow", &clients->allow);
    print_list(out, indent, "deny", &clients->deny);
    if (clients->requests.mark.line == 0)
        return;
    fprintf(out, "%*slimit_requests:%s\n", indent, "", clients->requests.off ? " off" : "");
    if (clients->requests.off)
        return;
    fprintf(out, "%*srequests: %zu\n", indent + 2, "", limit->requests);
    if (limit->period_ms != 0)
        fprintf(out, "%*speriod: %" PRIu32 "\n", indent + 2, "", limit->period_ms / 1000);
    if (limit->burst != 0)
        fprintf(out, "%*sburst: %zu\n", indent + 2, "", limit->burst);
    fprintf(out, "%*sby: %s\n", indent + 2, "", limit->global ? "all" : "client");
    if (limit->max_clients != 0)
        fprintf(out, "%*smax_clients: %zu\n", indent + 2, "", limit->max_clients);
}

static void print_limits(const uvhttp_config_t *config, FILE *out)
{
    const uvhttp_limit_t *limit;
    fputs("server:\n", out);
    for (size_t i = 0; (limit = uvhttp_config_limit(i)) != NULL; i++) {
        size_t value = 0;
        uvhttp_config_get(config, limit->name, &value);
        if (strcmp(limit->unit, "boolean") == 0) {
            fprintf(out, "  %s: %s  # %s\n", limit->name, value != 0 ? "true" : "false",
                    limit->help);
            continue;
        }
        fprintf(out, "  %s: %zu  # %s, %llu to %llu: %s\n", limit->name, value, limit->unit,
                (unsigned long long)limit->min, (unsigned long long)limit->max, limit->help);
    }
}

static void print_unix_socket(const struct uvh_address *address, FILE *out)
{
    fputs("{unix: ", out);
    print_text(out, uvh_address_path(address));
    if (address->mode != 0)
        fprintf(out, ", mode: 0%o", address->mode);
    if (address->owner[0] != '\0') {
        fputs(", owner: ", out);
        print_text(out, address->owner);
    }
    if (address->group[0] != '\0') {
        fputs(", group: ", out);
        print_text(out, address->group);
    }
    fputs("}\n", out);
}

static void print_address(const struct uvh_address *address, FILE *out)
{
    if (uvh_address_path(address) != NULL) {
        print_unix_socket(address, out);
        return;
    }
    static const char *const schemes[] = {"", "http://", "https://"};
    fprintf(out, uvh_address_is_ipv6(address->host) ? "\"%s[%s]" : "\"%s%s",
            schemes[address->scheme], address->host);
    if (address->port != UVH_ADDRESS_NO_PORT)
        fprintf(out, ":%d", address->port);
    fputs("\"\n", out);
}

static void print_listen(const struct uvh_setup *setup, FILE *out)
{
    if (setup->listen_count == 0)
        return;
    fputs("listen:\n", out);
    for (size_t i = 0; i < setup->listen_count; i++) {
        fputs("  - ", out);
        print_address(&setup->listen[i], out);
    }
}

static void print_metrics(const struct uvh_setup_metrics *metrics, const char *key, FILE *out)
{
    if (metrics->path.text == NULL)
        return;
    if (!metrics->has_listen) {
        print_key(out, 0, key, metrics->path.text);
        return;
    }
    fprintf(out, "%s:\n", key);
    print_key(out, 2, "path", metrics->path.text);
    fputs("  listen: ", out);
    print_address(&metrics->listen, out);
}

static void print_key_if(FILE *out, int indent, const char *key, const char *text)
{
    if (text != NULL)
        print_key(out, indent, key, text);
}

static const char *const client_auth_words[] = {"off", "optional", "required"};

static void print_certificates(const uvhttp_tls_options_t *config, FILE *out)
{
    if (config->certificate_count > 0)
        fputs("  certificates:\n", out);
    for (size_t i = 0; i < config->certificate_count; i++) {
        const uvhttp_tls_certificate_t *one = &config->certificates[i];
        fputs("    - certificate: ", out);
        print_text(out, one->certificate_file);
        fputc('\n', out);
        print_key_if(out, 6, "key", one->key_file);
        print_key_if(out, 6, "passphrase_file", one->passphrase_file);
        print_key_if(out, 6, "ocsp", one->ocsp_file);
        if (one->client_auth != UVHTTP_TLS_CLIENT_AUTH_OFF)
            fprintf(out, "      client_auth: %s\n", client_auth_words[one->client_auth]);
    }
}

static void print_versions(const uvhttp_tls_options_t *config, FILE *out)
{
    static const char *const versions[] = {[UVHTTP_TLS_1_2] = "1.2", [UVHTTP_TLS_1_3] = "1.3"};
    fprintf(out, "  profile: %s\n",
            config->profile == UVHTTP_TLS_MODERN ? "modern" : "intermediate");
    if (config->min_version != UVHTTP_TLS_VERSION_DEFAULT)
        print_key(out, 2, "min_version", versions[config->min_version]);
    if (config->max_version != UVHTTP_TLS_VERSION_DEFAULT)
        print_key(out, 2, "max_version", versions[config->max_version]);
    print_key_if(out, 2, "ciphers", config->ciphers);
    print_key_if(out, 2, "cipher_suites", config->cipher_suites);
    print_key_if(out, 2, "groups", config->groups);
}

static void print_sessions(const uvhttp_tls_options_t *config, FILE *out)
{
    fprintf(out, "  tickets: %s\n", config->no_tickets ? "false" : "true");
    if (config->session_lifetime_ms != 0)
        fprintf(out, "  session_lifetime: %" PRIu32 "\n", config->session_lifetime_ms / 1000);
    fprintf(out, "  one_time_tickets: %s\n", config->one_time_tickets ? "true" : "false");
    if (config->max_used_tickets != 0)
        fprintf(out, "  max_used_tickets: %zu\n", config->max_used_tickets);
    if (config->early_data != 0)
        fprintf(out, "  early_data: %zu\n", config->early_data);
    if (config->ticket_key_file_count > 0)
        fputs("  ticket_keys:\n", out);
    for (size_t i = 0; i < config->ticket_key_file_count; i++) {
        fputs("    - ", out);
        print_text(out, config->ticket_key_files[i]);
        fputc('\n', out);
    }
}

static void print_tls(const struct uvh_setup_tls *tls, FILE *out)
{
    const uvhttp_tls_options_t *config = &tls->config;
    if (!tls->wanted)
        return;
    fputs("tls:\n", out);
    if (tls->self_signed)
        fputs("  self_signed: true\n", out);
    print_certificates(config, out);
    print_versions(config, out);
    print_sessions(config, out);
    fprintf(out, "  client_auth: %s\n", client_auth_words[config->client_auth]);
    print_key_if(out, 2, "client_ca", config->client_ca_file);
    print_key_if(out, 2, "client_crl", config->client_crl_file);
    print_key_if(out, 2, "key_log", config->key_log_file);
    fprintf(out, "  ktls: %s\n", config->ktls ? "true" : "false");
    fprintf(out, "  watch: %s\n", config->watch ? "true" : "false");
    if (tls->redirect_http != UVH_OPTION_OFF)
        fprintf(out, "  redirect_http: %zu\n", tls->redirect_http);
    if (tls->hsts != UVH_OPTION_OFF)
        fprintf(out, "  hsts: %zu\n", tls->hsts);
}

static void print_number(FILE *out, const char *key, size_t number)
{
    if (number != 0)
        fprintf(out, "        %s: %zu\n", key, number);
}

/* The keys of a directory that have a value, by the table of options with which
 * config_route.c reads them. */
static void print_files(const uvhttp_static_options_t *files, FILE *out)
{
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        if (option->name == NULL || !option->serve_only ||
            option->offset >= offsetof(struct uvh_options, files) + sizeof(*files))
            continue; /* lists and keys of other kinds are printed elsewhere */
        char key[UVH_OPTIONS_VARIABLE_SIZE];
        uvh_options_key(option, key);
        const void *field =
            (const char *)files + (option->offset - offsetof(struct uvh_options, files));
        if (option->kind == UVH_OPTION_SWITCH)
            fprintf(out, "        %s: %s\n", key, *(const bool *)field ? "true" : "false");
        else if (option->kind == UVH_OPTION_WORD)
            fprintf(out, "        %s: %s\n", key, option->words[*(const unsigned *)field]);
        else if (option->kind == UVH_OPTION_TEXT && *(const char *const *)field != NULL)
            print_key(out, 8, key, *(const char *const *)field);
        else if (option->kind == UVH_OPTION_NUMBER || option->kind == UVH_OPTION_SIZE)
            print_number(out, key, *(const size_t *)field);
        else if (option->kind == UVH_OPTION_MS)
            print_number(out, key, *(const uint32_t *)field);
    }
}

static void print_hide(const uvhttp_static_options_t *files, FILE *out)
{
    if (files->hide != NULL)
        fputs("        hide:\n", out);
    for (const char *const *one = files->hide; one != NULL && *one != NULL; one++) {
        fputs("          - ", out);
        print_text(out, *one);
        fputc('\n', out);
    }
}

static void print_types(const uvhttp_static_options_t *files, FILE *out)
{
    if (files->type_count > 0)
        fputs("        types:\n", out);
    for (size_t i = 0; i < files->type_count; i++) {
        const char *type = strchr(files->types[i], '=');
        fprintf(out, "          \"%.*s\": ", (int)(type - files->types[i]), files->types[i]);
        print_text(out, type + 1);
        fputc('\n', out);
    }
}

/* One rule each, in order, so that the last one for a field remains the last. */
static void print_rules(const uvhttp_static_options_t *files, FILE *out)
{
    if (files->rule_count > 0)
        fputs("        rules:\n", out);
    for (size_t i = 0; i < files->rule_count; i++) {
        const uvhttp_static_rule_t *rule = &files->rules[i];
        fputs("          - match: ", out);
        print_text(out, rule->pattern);
        fputc('\n', out);
        if (strcasecmp(rule->field, "Content-Type") == 0) {
            print_key(out, 12, "type", rule->value);
        } else if (strcasecmp(rule->field, "Cache-Control") == 0) {
            print_key(out, 12, "cache_control", rule->value);
        } else {
            struct uvh_field field = {.name = rule->field, .value = rule->value};
            print_fields(out, 12, &(struct uvh_field_list){&field, 1});
        }
    }
}

static void print_route(const struct uvh_setup_route *route, FILE *out)
{
    fputs("      - path: ", out);
    print_text(out, route->path.text);
    fputc('\n', out);
    print_list(out, 8, "methods", &route->methods);
    print_fields(out, 8, &route->headers);
    print_auth(out, 8, "basic_auth", &route->auth);
    print_auth(out, 8, "upload_auth", &route->upload_auth);
    print_key_if(out, 8, "cors", route->cors.text);
    if (route->no_log)
        fputs("        access_log: off\n", out);
    print_clients(out, 8, &route->clients);
    if (route->kind == UVH_ROUTE_STATIC) {
        print_key(out, 8, "static", route->root.text);
        print_list(out, 8, "more_roots", &route->more_roots);
        if (route->files.file != NULL)
            print_key(out, 8, "file", route->files.file);
        print_files(&route->files, out);
        print_hide(&route->files, out);
        print_types(&route->files, out);
        print_rules(&route->files, out);
        print_list(out, 8, "prewarm", &route->prewarm);
    } else if (route->kind == UVH_ROUTE_REDIRECT) {
        print_key(out, 8, "redirect", route->text.text);
        fprintf(out, "        status: %d\n", route->status);
    } else {
        fprintf(out, "        respond:\n          status: %d\n", route->status);
        print_key_if(out, 10, "body", route->text.text);
        print_key_if(out, 10, "type", route->type);
    }
}

static void print_access_log(const struct uvh_setup_log *log, int indent, FILE *out)
{
    static const char *const formats[] = {"common", "combined", "json"};
    const uvhttp_access_log_options_t *options = &log->options;
    if (log->path.text == NULL) {
        if (log->off)
            fprintf(out, "%*saccess_log: off\n", indent, "");
        return;
    }
    fprintf(out, "%*saccess_log:\n", indent, "");
    print_key(out, indent + 2, "path", log->path.text);
    if (options->pattern != NULL)
        print_key(out, indent + 2, "pattern", options->pattern);
    else
        fprintf(out, "%*sformat: %s\n", indent + 2, "", formats[options->format]);
    if (options->buffer_size != 0)
        fprintf(out, "%*sbuffer_size: %zu\n", indent + 2, "", options->buffer_size);
    if (options->flush_ms != 0)
        fprintf(out, "%*sflush_ms: %" PRIu32 "\n", indent + 2, "", options->flush_ms);
    if (options->sample > 1)
        fprintf(out, "%*ssample: %" PRIu32 "\n", indent + 2, "", options->sample);
}

static void print_rewrites(const struct uvh_setup_site *site, FILE *out)
{
    if (site->rewrite_count > 0)
        fputs("    rewrites:\n", out);
    for (size_t i = 0; i < site->rewrite_count; i++) {
        fputs("      - path: ", out);
        print_text(out, site->rewrites[i].path.text);
        fputc('\n', out);
        print_key(out, 8, "to", site->rewrites[i].to.text);
    }
}

static void print_site(const struct uvh_setup_site *site, FILE *out)
{
    static const char *const slashes[] = {"strict", "redirect", "ignore"};
    fprintf(out, "  - slash: %s\n", slashes[site->slash]);
    print_list(out, 4, "hosts", &site->hosts);
    print_fields(out, 4, &site->headers);
    print_auth(out, 4, "basic_auth", &site->auth);
    print_clients(out, 4, &site->clients);
    print_key_if(out, 4, "cors", site->cors.text);
    print_access_log(&site->access_log, 4, out);
    print_rewrites(site, out);
    fputs("    routes:\n", out);
    for (size_t i = 0; i < site->route_count; i++)
        print_route(&site->routes[i], out);
}

static void print_confine(const struct uvh_setup_confine *confine, FILE *out)
{
    static const char *const words[] = {"off", "on", "best-effort"};
    if (confine->mode == UVH_CONFINE_OFF && confine->mark.line == 0)
        return;
    fprintf(out, "confine:\n  mode: %s\n", words[confine->mode]);
    print_list(out, 2, "read", &confine->read);
    print_list(out, 2, "write", &confine->write);
}

void uvh_print_config(const struct uvh_setup *setup, FILE *out)
{
    static const char *const levels[] = {"error", "warning", "info", "debug"};
    static const char *const fields[] = {"x-forwarded", "forwarded"};
    static const char *const others[] = {"direct", "ignore", "refuse"};
    print_limits(&setup->config, out);
    print_listen(setup, out);
    print_key_if(out, 0, "user", setup->user.text);
    print_key_if(out, 0, "group", setup->group.text);
    if (setup->no_new_privs != UVH_NO_NEW_PRIVS_AUTO)
        fprintf(out, "no_new_privs: %s\n",
                setup->no_new_privs == UVH_NO_NEW_PRIVS_ON ? "true" : "false");
    print_confine(&setup->confine, out);
    print_key_if(out, 0, "pid_file", setup->pid_file.text);
    print_tls(&setup->tls, out);
    fprintf(out, "log:\n  level: %s\n", levels[setup->log_level]);
    print_access_log(&setup->access_log, 0, out);
    print_list(out, 0, "trusted_proxies", &setup->proxies);
    if (setup->proxies.count > 0)
        fprintf(out, "proxy_fields: %s\n", fields[setup->proxy_fields]);
    print_list(out, 0, "proxy_protocol", &setup->proxy_sources);
    if (setup->proxy_sources.count > 0)
        fprintf(out, "proxy_protocol_others: %s\n", others[setup->proxy_others]);
    print_metrics(&setup->metrics, "metrics", out);
    print_metrics(&setup->status, "status", out);
    if (setup->health)
        fputs("health: true\n", out);
    fputs("sites:\n", out);
    for (size_t i = 0; i < setup->site_count; i++)
        print_site(&setup->sites[i], out);
}
