/* The check costs one system call per coding and is made whenever the source is checked, so that a
 * sibling that appears, changes or disappears is noticed as a change of the source is. */
#include "files/static_siblings.h"

#include <limits.h>
#include <string.h>

#include "base/hash.h"
#include "codec/fields/coding.h"
#include "files/static_variants.h"

/* "path.br"; false when that is longer than any path may be. */
static bool write_path(char out[PATH_MAX], const char *path, enum uvh_coding coding)
{
    const char *suffix = uvh_coding_suffix(coding);
    size_t length = strlen(path);
    size_t size = strlen(suffix) + 1;
    if (length + size > PATH_MAX)
        return false;
    memcpy(out, path, length);
    memcpy(out + length, suffix, size);
    return true;
}

static bool is_older(const struct uvh_file_facts *a, const struct uvh_file_facts *b)
{
    if (a->modified_seconds != b->modified_seconds)
        return a->modified_seconds < b->modified_seconds;
    return a->modified_nanoseconds < b->modified_nanoseconds;
}

/* Hashes what uvh_file_facts_equal compares; field by field, since the struct has padding. */
static uint64_t digest(const struct uvh_file_facts *facts, uint64_t before)
{
    const uint64_t values[] = {
        facts->size,
        facts->inode,
        facts->device,
        (uint64_t)facts->modified_seconds,
        (uint64_t)facts->changed_seconds,
        facts->modified_nanoseconds,
        facts->changed_nanoseconds,
    };
    return uvh_hash(values, sizeof(values), before);
}

/* The root that has the source. A sibling of a file of that name in another root belongs to that
 * file. */
static struct uvh_file_root root_of(const struct uvh_static_settings *settings, const char *path)
{
    struct uvh_file_root root = settings->root;
    while (root.next != NULL) {
        const struct uvh_file_root *next = root.next;
        struct uvh_file_facts facts;
        root.next = NULL;
        if (!uvh_file_is_missing(uvh_file_facts_read(&root, path, &facts)))
            break;
        root = *next;
    }
    return root;
}

struct uvh_static_siblings uvh_static_siblings_find(const struct uvh_static_settings *settings,
                                                    const char *path,
                                                    const struct uvh_file_facts *source)
{
    struct uvh_static_siblings siblings = {0, 0};
    if (!settings->precompressed)
        return siblings;
    const struct uvh_file_root root = root_of(settings, path);
    for (int coding = UVH_CODING_IDENTITY + 1; coding < UVH_CODING_COUNT; coding++) {
        char name[PATH_MAX];
        struct uvh_file_facts facts;
        if (!write_path(name, path, (enum uvh_coding)coding) ||
            uvh_file_facts_read(&root, name, &facts) != 0 || facts.kind != UVH_FILE_REGULAR ||
            is_older(&facts, source))
            continue;
        siblings.found |= UVH_CODING_BIT(coding);
        siblings.digest = digest(&facts, siblings.digest + (uint64_t)coding);
    }
    return siblings;
}

void uvh_static_siblings_load(const struct uvh_static_settings *settings, const char *path,
                              const struct uvh_static_siblings *siblings,
                              struct uvh_file_entry *entry)
{
    entry->siblings_digest = siblings->digest;
    if (siblings->found == 0)
        return;
    const struct uvh_file_root root = root_of(settings, path);
    for (int coding = UVH_CODING_IDENTITY + 1; coding < UVH_CODING_COUNT; coding++) {
        char name[PATH_MAX];
        if ((siblings->found & UVH_CODING_BIT(coding)) == 0 ||
            !write_path(name, path, (enum uvh_coding)coding))
            continue;
        struct uvh_file_load_options order = {
            .allocator = settings->allocator,
            .root = &root,
            .rules = settings->rules,
            .path = name,
            .named = path,
            .memory_file_size = settings->memory_file_size,
            .coding = (enum uvh_coding)coding,
            .varies = true,
        };
        struct uvh_file_entry *variant;
        if (uvh_file_entry_load(&order, &variant) != 0)
            continue;
        entry->variants[coding] = variant;
        entry->siblings |= (unsigned char)UVH_CODING_BIT(coding);
        /* A variant whose changes might be undetected is read again with its source. */
        entry->settled = entry->settled && variant->settled;
    }
    entry->codings |= entry->siblings;
}

/* Opens the selected sibling as a load does, so that an unreadable one is skipped here, too. */
bool uvh_static_siblings_select(const struct uvh_static_settings *settings, const char *path,
                                const struct uvh_file_facts *source, uvhttp_slice_t accept_encoding,
                                struct uvh_file_facts *facts)
{
    unsigned found = uvh_static_siblings_find(settings, path, source).found;
    if (found == 0)
        return false;
    const char *type = uvh_static_rules_type(settings->rules, path);
    unsigned makeable = uvh_static_variants_makeable(settings, path, type, source->size);
    const struct uvh_file_root root = root_of(settings, path);
    while (found != 0) {
        char name[PATH_MAX];
        int descriptor;
        enum uvh_coding coding = uvh_coding_of_field(accept_encoding, found | makeable, NULL);
        if ((found & UVH_CODING_BIT(coding)) == 0)
            return false;
        if (write_path(name, path, coding) && uvh_file_open(&root, name, &descriptor, facts) == 0) {
            uvh_file_close(descriptor);
            return true;
        }
        found &= ~UVH_CODING_BIT(coding);
    }
    return false;
}
