/* See config_tls.h. Only reads the values; tls_setup.c opens the files. */
#include "config_tls.h"

#define SESSION_MAX      604800 /* seconds */
#define HSTS_MAX         ((size_t)10 * 365 * 86400)
#define TICKET_KEYS_MAX  16
#define USED_TICKETS_MAX 16777216
#define EARLY_DATA_MAX   1048576 /* bytes */

static uvhttp_tls_options_t *config_of(void *setup)
{
    return &((struct uvh_setup *)setup)->tls.config;
}

static void read_certificate_file(struct uvh_config_reader *reader,
                                  const struct uvh_yaml_node *value, void *into)
{
    ((uvhttp_tls_certificate_t *)into)->certificate_file = uvh_config_path(reader, value);
}

static void read_key_file(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          void *into)
{
    ((uvhttp_tls_certificate_t *)into)->key_file = uvh_config_path(reader, value);
}

static void read_passphrase_file(struct uvh_config_reader *reader,
                                 const struct uvh_yaml_node *value, void *into)
{
    ((uvhttp_tls_certificate_t *)into)->passphrase_file = uvh_config_path(reader, value);
}

static void read_ocsp(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    ((uvhttp_tls_certificate_t *)into)->ocsp_file = uvh_config_path(reader, value);
}

static void read_when(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      uvhttp_tls_client_auth_t *when)
{
    static const char *const words[] = {"off", "optional", "required"};
    int index = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    if (index >= 0)
        *when = (uvhttp_tls_client_auth_t)index;
}

static void read_own_client_auth(struct uvh_config_reader *reader,
                                 const struct uvh_yaml_node *value, void *into)
{
    read_when(reader, value, &((uvhttp_tls_certificate_t *)into)->client_auth);
}

static void read_certificate(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                             uvhttp_tls_certificate_t *certificate)
{
    static const struct uvh_config_key keys[] = {
        {"certificate", read_certificate_file},    {"key", read_key_file},
        {"passphrase_file", read_passphrase_file}, {"ocsp", read_ocsp},
        {"client_auth", read_own_client_auth},     {NULL, NULL}};
    size_t before = reader->problems->count;
    if (uvh_config_read_map(reader, node, "a certificate", keys, certificate) &&
        certificate->certificate_file == NULL && reader->problems->count == before)
        uvh_problems_add(reader->problems, node->mark,
                         "a certificate requires 'certificate', a file");
}

static void read_certificates(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    uvhttp_tls_options_t *config = config_of(into);
    if (!uvh_config_is_list(reader, value))
        return;
    uvhttp_tls_certificate_t *all = uvh_config_allocate(reader, value->count, sizeof(*all));
    if (all == NULL)
        return;
    for (const struct uvh_yaml_node *one = value->first; one != NULL; one = one->next)
        read_certificate(reader, one, &all[config->certificate_count++]);
    config->certificates = all;
}

static void read_self_signed(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             void *into)
{
    uvh_config_read_switch(reader, value, &((struct uvh_setup *)into)->tls.self_signed);
}

static void read_profile(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    static const char *const words[] = {"intermediate", "modern"};
    int index = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    if (index >= 0)
        config_of(into)->profile = (uvhttp_tls_profile_t)index;
}

static void read_version(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         uvhttp_tls_version_t *version)
{
    static const char *const words[] = {"1.2", "1.3"};
    static const uvhttp_tls_version_t versions[] = {UVHTTP_TLS_1_2, UVHTTP_TLS_1_3};
    int index = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    if (index >= 0)
        *version = versions[index];
}

static void read_min_version(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             void *into)
{
    read_version(reader, value, &config_of(into)->min_version);
}

static void read_max_version(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             void *into)
{
    read_version(reader, value, &config_of(into)->max_version);
}

static void read_ciphers(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    config_of(into)->ciphers = uvh_config_text(reader, value);
}

static void read_cipher_suites(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                               void *into)
{
    config_of(into)->cipher_suites = uvh_config_text(reader, value);
}

static void read_groups(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    config_of(into)->groups = uvh_config_text(reader, value);
}

static void read_tickets(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    bool on = true;
    uvh_config_read_switch(reader, value, &on);
    config_of(into)->no_tickets = !on;
}

static void read_session_lifetime(struct uvh_config_reader *reader,
                                  const struct uvh_yaml_node *value, void *into)
{
    size_t seconds = config_of(into)->session_lifetime_ms / 1000;
    uvh_config_read_number(reader, value, "seconds", 1, SESSION_MAX, &seconds);
    config_of(into)->session_lifetime_ms = (uint32_t)(seconds * 1000);
}

static void read_one_time_tickets(struct uvh_config_reader *reader,
                                  const struct uvh_yaml_node *value, void *into)
{
    uvh_config_read_switch(reader, value, &config_of(into)->one_time_tickets);
}

static void read_max_used_tickets(struct uvh_config_reader *reader,
                                  const struct uvh_yaml_node *value, void *into)
{
    uvh_config_read_number(reader, value, "", 1, USED_TICKETS_MAX,
                           &config_of(into)->max_used_tickets);
}

static void read_early_data(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into)
{
    uvh_config_read_number(reader, value, "bytes", 0, EARLY_DATA_MAX, &config_of(into)->early_data);
}

static void read_ticket_keys(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             void *into)
{
    uvhttp_tls_options_t *config = config_of(into);
    const struct uvh_yaml_node *one = value->kind == UVH_YAML_LIST ? value->first : value;
    size_t count = value->kind == UVH_YAML_LIST ? value->count : 1;
    if (count == 0 || count > TICKET_KEYS_MAX) {
        uvh_problems_add(reader->problems, value->mark,
                         "ticket_keys has %zu files; allowed are 1 to %d", count, TICKET_KEYS_MAX);
        return;
    }
    const char **files = uvh_config_allocate(reader, count, sizeof(*files));
    for (size_t i = 0; i < count && files != NULL; i++, one = one->next)
        files[i] = uvh_config_path(reader, one);
    config->ticket_key_files = files;
    config->ticket_key_file_count = files == NULL ? 0 : count;
}

static void read_client_auth(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             void *into)
{
    read_when(reader, value, &config_of(into)->client_auth);
}

static void read_client_ca(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           void *into)
{
    config_of(into)->client_ca_file = uvh_config_path(reader, value);
}

static void read_client_crl(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into)
{
    config_of(into)->client_crl_file = uvh_config_path(reader, value);
}

static void read_key_log(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    config_of(into)->key_log_file = uvh_config_path(reader, value);
}

static void read_ktls(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    uvh_config_read_switch(reader, value, &config_of(into)->ktls);
}

static void read_watch(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    uvh_config_read_switch(reader, value, &config_of(into)->watch);
}

static void read_redirect_http(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                               void *into)
{
    uvh_config_read_number_or_off(reader, value, "", 0, 65535,
                                  &((struct uvh_setup *)into)->tls.redirect_http);
}

static void read_hsts(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    uvh_config_read_number_or_off(reader, value, "seconds", 0, HSTS_MAX,
                                  &((struct uvh_setup *)into)->tls.hsts);
}

void uvh_config_tls_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    static const struct uvh_config_key keys[] = {{"certificates", read_certificates},
                                                 {"self_signed", read_self_signed},
                                                 {"profile", read_profile},
                                                 {"min_version", read_min_version},
                                                 {"max_version", read_max_version},
                                                 {"ciphers", read_ciphers},
                                                 {"cipher_suites", read_cipher_suites},
                                                 {"groups", read_groups},
                                                 {"tickets", read_tickets},
                                                 {"session_lifetime", read_session_lifetime},
                                                 {"one_time_tickets", read_one_time_tickets},
                                                 {"max_used_tickets", read_max_used_tickets},
                                                 {"early_data", read_early_data},
                                                 {"ticket_keys", read_ticket_keys},
                                                 {"client_auth", read_client_auth},
                                                 {"client_ca", read_client_ca},
                                                 {"client_crl", read_client_crl},
                                                 {"key_log", read_key_log},
                                                 {"ktls", read_ktls},
                                                 {"watch", read_watch},
                                                 {"redirect_http", read_redirect_http},
                                                 {"hsts", read_hsts},
                                                 {NULL, NULL}};
    struct uvh_setup_tls *tls = &((struct uvh_setup *)into)->tls;
    size_t before = reader->problems->count;
    tls->wanted = true;
    tls->node = value;
    tls->config.watch = true;
    if (!uvh_config_read_map(reader, value, "tls", keys, into) || reader->problems->count != before)
        return;
    if (tls->config.certificate_count == 0 && !tls->self_signed)
        uvh_problems_add(reader->problems, value->mark,
                         "tls requires 'certificates' or 'self_signed: true'");
    if (tls->config.certificate_count > 0 && tls->self_signed)
        uvh_problems_add(reader->problems, value->mark,
                         "tls has 'certificates' and 'self_signed'; only one of them is allowed");
    /* with certificates the library finds it */
    if (tls->self_signed && tls->config.max_version != UVHTTP_TLS_VERSION_DEFAULT &&
        tls->config.min_version > tls->config.max_version)
        uvh_problems_add(reader->problems, value->mark,
                         "min_version is above max_version; omit one of them");
}
