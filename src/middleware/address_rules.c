/* Rules by address, on public functions only: uvhttp/address_rules.h.
 *
 * Two prefixes are nested or disjoint, so the rules for one address family divide its address space
 * into stretches, each with one matching rule. They are computed once, with a stack of the open
 * prefixes. A request looks up its stretch. */
#include <uvhttp/address_rules.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/slice.h"
#include "codec/fields/address_prefix.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "options/use.h"

enum { MAX_RULES = 1000000, MAX_DEPTH = 129 };

/* Covers the addresses from this one up to the next stretch; the first stretch begins at the lowest
 * address. */
struct stretch {
    struct uvh_ip_address first;
    bool allow;
};

struct table {
    struct stretch *stretches;
    size_t count;
};

struct uvhttp_address_rules {
    struct uvh_owned owned;
    bool allow_others;
    bool allow_unix;
    struct table v4;
    struct table v6;
};

/* A rule to be added to a table. */
struct entry {
    struct uvh_address_prefix prefix;
    size_t order;
    bool allow;
};

static int compare(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    int result =
        memcmp(&left->prefix.address, &right->prefix.address, sizeof(left->prefix.address));
    if (result != 0)
        return result;
    if (left->prefix.bits != right->prefix.bits) /* the containing one comes first */
        return left->prefix.bits < right->prefix.bits ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

/* The address following the last one of a prefix; false when there is none. */
static bool after(const struct uvh_address_prefix *prefix, struct uvh_ip_address *next)
{
    *next = prefix->address;
    for (unsigned bit = prefix->bits; bit-- > 0;) {
        uint8_t mask = (uint8_t)(0x80 >> bit % 8);
        next->bytes[bit / 8] ^= mask;
        if ((next->bytes[bit / 8] & mask) != 0) /* no carry */
            return true;
    }
    return false;
}

/* A stretch that begins at the same address as another one replaces it; one with the same verdict
 * as its predecessor extends that. */
static void add_stretch(struct table *table, const struct uvh_ip_address *first, bool allow)
{
    struct stretch *last = table->stretches + table->count - 1;
    if (memcmp(&last->first, first, sizeof(*first)) == 0)
        last->allow = allow;
    else if (last->allow != allow)
        table->stretches[table->count++] = (struct stretch){*first, allow};
}

/* `open[depth - 1]` has ended: the enclosing prefix continues. */
static void close_innermost(struct table *table, const struct entry *const *open, size_t depth,
                            bool others)
{
    struct uvh_ip_address next;
    if (after(&open[depth - 1]->prefix, &next))
        add_stretch(table, &next, depth > 1 ? open[depth - 2]->allow : others);
}

/* `entries` are sorted. The innermost open prefix is the first matching rule, since other prefixes
 * are not opened. */
static void fill(struct table *table, const struct entry *entries, size_t count, bool others)
{
    const struct entry *open[MAX_DEPTH];
    size_t depth = 0;
    table->stretches[0] = (struct stretch){.allow = others};
    table->count = 1;
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        while (depth > 0 &&
               !uvh_address_prefix_holds(&open[depth - 1]->prefix, &entry->prefix.address))
            close_innermost(table, open, depth--, others);
        if (depth > 0 && open[depth - 1]->order < entry->order)
            continue; /* never matches: an earlier rule contains it */
        open[depth++] = entry;
        add_stretch(table, &entry->prefix.address, entry->allow);
    }
    while (depth > 0)
        close_innermost(table, open, depth--, others);
}

/* Builds a table of the first `count` entries, and sorts them. */
static int build(struct uvhttp_address_rules *rules, struct table *table, struct entry *entries,
                 size_t count)
{
    table->stretches = uvh_owned_alloc(&rules->owned, (2 * count + 1) * sizeof(*table->stretches));
    if (table->stretches == NULL)
        return UVHTTP_ENOMEM;
    if (count > 0)
        qsort(entries, count, sizeof(*entries), compare);
    fill(table, entries, count, rules->allow_others);
    return 0;
}

static bool table_allows(const struct table *table, const struct uvh_ip_address *address)
{
    size_t low = 0, high = table->count; /* the stretch is one of [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(&table->stretches[middle].first, address, sizeof(*address)) <= 0)
            low = middle;
        else
            high = middle;
    }
    return table->stretches[low].allow;
}

static bool is(const uvhttp_address_rule_t *rule, const char *name)
{
    return strcmp(rule->prefix, name) == 0;
}

static int read_rule(const uvhttp_address_rule_t *rule, size_t order, struct entry *entry,
                     uvhttp_error_t *error)
{
    const char *text = rule->prefix;
    char name[40];
    *entry = (struct entry){.order = order, .allow = rule->allow};
    if (uvh_address_prefix_parse(uvh_slice(text), &entry->prefix))
        return 0;
    snprintf(name, sizeof(name), "rules[%zu]", order);
    return uvh_error_string(error, name, text,
                            "allowed are \"all\", \"unix\", an address, and a prefix such as "
                            "10.0.0.0/8 without host bits");
}

/* The entries of one address family, at most one per rule; their number in `*count`. */
static int select_entries(const uvhttp_address_rules_options_t *options, bool v4,
                          struct entry *entries, size_t *count, uvhttp_error_t *error)
{
    *count = 0;
    for (size_t i = 0; i < options->rule_count; i++) {
        uvhttp_address_rule_t rule = options->rules[i];
        struct entry *entry = &entries[*count];
        if (is(&rule, "unix"))
            continue;
        if (is(&rule, "all"))
            rule.prefix = v4 ? "0.0.0.0/0" : "::/0";
        int err = read_rule(&rule, i, entry, error);
        if (err != 0)
            return err;
        *count += entry->prefix.v4 == v4;
    }
    return 0;
}

/* The verdict for clients of Unix sockets. */
static bool allows_unix(const uvhttp_address_rules_options_t *options)
{
    for (size_t i = 0; i < options->rule_count; i++) {
        if (is(&options->rules[i], "unix") || is(&options->rules[i], "all"))
            return options->rules[i].allow;
    }
    return options->allow_others;
}

static int build_both(struct uvhttp_address_rules *rules,
                      const uvhttp_address_rules_options_t *options, struct entry *entries,
                      uvhttp_error_t *error)
{
    size_t count;
    int err = select_entries(options, true, entries, &count, error);
    if (err == 0)
        err = build(rules, &rules->v4, entries, count);
    if (err == 0)
        err = select_entries(options, false, entries, &count, error);
    return err != 0 ? err : build(rules, &rules->v6, entries, count);
}

static int create(uvhttp_address_rules_t **rules, const uvhttp_address_rules_options_t *options,
                  uvhttp_error_t *error)
{
    if (rules == NULL)
        return UVHTTP_EINVAL;
    *rules = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    int err = uvh_option_check_array("rules", options->rules, options->rule_count, error);
    if (err != 0)
        return err;
    const struct uvh_option_range range = {"rule_count", options->rule_count, 0, MAX_RULES,
                                           "rules"};
    err = uvh_option_check(&range, 1, error);
    if (err != 0)
        return err;
    for (size_t i = 0; i < options->rule_count; i++) {
        if (options->rules[i].prefix == NULL) {
            uvh_error_sentence(error, "prefix", NULL, "rules[%zu].prefix is NULL", i);
            uvh_error_within(error, "rules", i);
            return UVHTTP_EINVAL;
        }
    }
    struct uvhttp_address_rules *made = uvh_owned_new(options->allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    const uvhttp_allocator_t *allocator = made->owned.allocator;
    made->allow_others = options->allow_others;
    made->allow_unix = allows_unix(options);
    struct entry *entries = uvh_alloc(allocator, (options->rule_count + 1) * sizeof(*entries));
    err = entries == NULL ? UVHTTP_ENOMEM : build_both(made, options, entries, error);
    uvh_free(allocator, entries);
    if (err != 0) {
        uvhttp_address_rules_free(made);
        return err;
    }
    *rules = made;
    return 0;
}

int uvhttp_address_rules_new(uvhttp_address_rules_t **rules,
                             const uvhttp_address_rules_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(rules, options, error));
}

void uvhttp_address_rules_free(void *rules)
{
    uvh_owned_free(rules);
}

bool uvhttp_address_rules_allow(const uvhttp_address_rules_t *rules, const char *address)
{
    static const char unix_socket[] = "unix:";
    struct uvh_ip_address parsed;
    if (rules == NULL || address == NULL)
        return false;
    if (strncmp(address, unix_socket, sizeof(unix_socket) - 1) == 0)
        return rules->allow_unix;
    if (!uvh_ip_address_parse(uvh_slice(address), &parsed))
        return rules->allow_others;
    return table_allows(uvh_ip_address_is_v4(&parsed) ? &rules->v4 : &rules->v6, &parsed);
}

int uvhttp_address_rules_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                        void *rules)
{
    if (rules == NULL)
        return UVHTTP_EINVAL;
    if (uvhttp_address_rules_allow(rules, uvhttp_request_client_address(request)))
        return UVHTTP_DECLINED;
    uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "address rules: %s is denied",
                        uvhttp_request_client_address(request));
    return uvhttp_response_send_status(response, 403);
}

UVH_USE_FUNCTION(address_rules)
