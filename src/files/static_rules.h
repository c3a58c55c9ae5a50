/* The response fields determined by a file's name: its type, and those of rules.
 *
 * Created from a uvhttp_static_options_t by static_settings.c, then immutable. file_entry.c applies
 * them once for each new entry, on any thread; serving a cached file never does. */
#ifndef UVH_FILES_STATIC_RULES_H
#define UVH_FILES_STATIC_RULES_H

#include <uvhttp/static.h>

struct uvh_static_rules;

/* The reason of an invalid pattern. */
#define UVH_STATIC_RULES_PATTERN                                                     \
    "must be a pattern such as *.css or /assets/**, of at most 512 bytes, with a ] " \
    "for each ["

/* Validates types and rules, as uvhttp_static_check. */
int uvh_static_rules_check(const uvhttp_static_options_t *options, uvhttp_error_t *error);

/* Returns 0 and the rules, or NULL there when the options needs only the default types;
 * UVHTTP_ECONFIG with a filled `error`, or UVHTTP_ENOMEM. */
int uvh_static_rules_new(struct uvh_static_rules **rules, const uvhttp_static_options_t *options,
                         const uvhttp_allocator_t *allocator, uvhttp_error_t *error);
void uvh_static_rules_free(struct uvh_static_rules *rules);

/* The Content-Type of a file; `rules` may be NULL. Lives as long as the rules. */
const char *uvh_static_rules_type(const struct uvh_static_rules *rules, const char *path);

/* A rule's Cache-Control for the file includes no-transform (RFC 9111 section 5.2.2.6). `rules` may
 * be NULL. */
bool uvh_static_rules_keep_bytes(const struct uvh_static_rules *rules, const char *path);

/* Adds the fields of a file to those of 200 and 206, and those required by RFC 9110 section 15.4.5
 * to those of 304. `rules` may be NULL: none. Returns 0 or UVHTTP_ENOMEM. */
int uvh_static_rules_add(const struct uvh_static_rules *rules, const char *path,
                         uvhttp_prepared_t *fields, uvhttp_prepared_t *validators);

#endif
