/* What the name of a file says about its answers: its type, and the fields that rules give it.
 *
 * Made from a uvhttp_static_config_t by static_settings.c, then frozen; asked by file_entry.c once
 * for each entry that is made, on any thread, and never when a cached file is answered. */
#ifndef UVH_FILES_STATIC_RULES_H
#define UVH_FILES_STATIC_RULES_H

#include <uvhttp/static.h>

struct uvh_static_rules;

/* What is wrong with types and rules, as for uvhttp_static_check. */
int uvh_static_rules_check(const uvhttp_static_config_t *config, char *message, size_t size);

/* 0 and the rules, or NULL there when the config asks for nothing but the usual types;
 * UVHTTP_ECONFIG (uvhttp_static_check tells why) or UVHTTP_ENOMEM. */
int uvh_static_rules_new(struct uvh_static_rules **rules, const uvhttp_static_config_t *config,
                         const uvhttp_allocator_t *allocator);
void uvh_static_rules_free(struct uvh_static_rules *rules);

/* The Content-Type of a file; `rules` may be NULL. Lives as long as the rules. */
const char *uvh_static_rules_type(const struct uvh_static_rules *rules, const char *path);

/* The Cache-Control that rules give a file says no-transform (RFC 9111 section 5.2.2.6). `rules`
 * may be NULL. */
bool uvh_static_rules_keep_bytes(const struct uvh_static_rules *rules, const char *path);

/* Adds the fields of a file to those of 200 and 206, and those that RFC 9110 section 15.4.5 asks
 * for to those of 304. `rules` may be NULL: none. Errors: UVHTTP_ENOMEM. */
int uvh_static_rules_add(const struct uvh_static_rules *rules, const char *path,
                         uvhttp_prepared_t *fields, uvhttp_prepared_t *validators);

#endif
