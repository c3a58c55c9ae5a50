/* A small file is read at once between two stats; when they differ, it was written meanwhile and is
 * read again. Entries are made in a job, or by send_file.c in the handler. */
#include "files/file_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "platform/clock.h"

enum {
    READ_TRIES = 4,
    /* The coarsest clock of a file system in use is FAT's with 2 s. A change within the same tick
     * leaves the same time stamp. */
    SETTLED_MS = 2500,
};

static struct uvh_file_entry *new_entry(const uvhttp_allocator_t *allocator, uvhttp_slice_t key,
                                        size_t body_size)
{
    size_t head = sizeof(struct uvh_file_entry) + key.length + 1;
    if (body_size > SIZE_MAX - head)
        return NULL;
    struct uvh_file_entry *entry = uvh_alloc(allocator, head + body_size);
    if (entry == NULL)
        return NULL;
    memset(entry, 0, sizeof(*entry));
    entry->allocator = allocator;
    entry->references = 1;
    entry->descriptor = -1;
    uvh_list_init(&entry->by_memory);
    uvh_list_init(&entry->by_descriptor);
    entry->key_length = key.length;
    if (key.length > 0)
        memcpy(entry->key, key.base, key.length);
    entry->key[key.length] = '\0';
    return entry;
}

/* Reads the file's bytes into a new entry, or none (`*entry` NULL, result 0) when the file keeps
 * changing or is too large. Updates `facts`, which the caller has just read. */
static int read_body(const struct uvh_file_load_options *options, int descriptor,
                     struct uvh_file_facts *facts, struct uvh_file_entry **entry)
{
    *entry = NULL;
    for (int i = 0; i < READ_TRIES && facts->size <= options->memory_file_size; i++) {
        size_t size = (size_t)facts->size;
        struct uvh_file_entry *made = new_entry(options->allocator, options->key, size);
        if (made == NULL)
            return UVHTTP_ENOMEM;
        char *body = made->key + made->key_length + 1;
        int64_t count = uvh_file_read(descriptor, body, size, 0);
        struct uvh_file_facts after;
        int result = count < 0 ? (int)count : uvh_file_facts_of(descriptor, &after);
        if (result == 0 && (uint64_t)count == facts->size && uvh_file_facts_equal(facts, &after)) {
            made->body = body;
            *entry = made;
            return 0;
        }
        uvh_file_entry_unref(made);
        if (result != 0)
            return result;
        *facts = after;
    }
    return 0;
}

size_t uvh_file_entry_format_etag(const struct uvh_file_facts *facts,
                                  char out[UVH_FILE_ENTRY_ETAG_SIZE])
{
    uint64_t modified =
        (uint64_t)facts->modified_seconds * 1000000000U + facts->modified_nanoseconds;
    uint64_t changed = (uint64_t)facts->changed_seconds * 1000000000U + facts->changed_nanoseconds;
    return (size_t)snprintf(out, UVH_FILE_ENTRY_ETAG_SIZE,
                            "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"", facts->inode,
                            facts->size, modified, changed);
}

/* The file's strong tag with the content coding: W/"1-2-3-4-gzip". */
static void write_weak_etag(struct uvh_file_entry *entry, enum uvh_coding coding)
{
    char strong[UVH_FILE_ENTRY_ETAG_SIZE];
    int length = (int)uvh_file_entry_format_etag(&entry->facts, strong);
    entry->etag_length = (size_t)snprintf(entry->etag, sizeof(entry->etag), "W/%.*s-%s\"",
                                          length - 1, strong, uvh_coding_name(coding));
}

/* Stores nothing without rules. */
static int remember_rules(struct uvh_file_entry *entry, const struct uvh_static_rules *rules,
                          const char *path)
{
    entry->rules = rules;
    entry->ruled_path =
        rules == NULL ? NULL : uvh_alloc_string(entry->allocator, path, strlen(path));
    return rules != NULL && entry->ruled_path == NULL ? UVHTTP_ENOMEM : 0;
}

static void describe(struct uvh_file_entry *entry, const struct uvh_file_facts *facts,
                     const char *path, int64_t now_ms)
{
    entry->facts = *facts;
    entry->size = facts->size;
    entry->type = uvh_static_rules_type(entry->rules, path);
    entry->settled = facts->changed_seconds < (now_ms - SETTLED_MS) / 1000;
    /* Last-Modified is never in the future (RFC 9110 section 8.8.2.1). */
    int64_t now = now_ms / 1000;
    entry->modified = facts->modified_seconds < now ? facts->modified_seconds : now;
    entry->etag_length = uvh_file_entry_format_etag(facts, entry->etag);
}

/* The fields of both a response with content and a 304 (RFC 9110 section 15.4.5). */
static int add_validators(const struct uvh_file_entry *entry, bool varies,
                          uvhttp_prepared_t *prepared)
{
    char date[UVH_HTTP_DATE_SIZE + 1];
    uvh_http_date_format(entry->modified, date);
    date[UVH_HTTP_DATE_SIZE] = '\0';
    int err = uvhttp_prepared_add(prepared, "ETag", entry->etag);
    if (err == 0)
        err = uvhttp_prepared_add(prepared, "Last-Modified", date);
    if (err == 0 && varies)
        err = uvhttp_prepared_add(prepared, "Vary", "Accept-Encoding");
    return err;
}

static int prepare(struct uvh_file_entry *entry, enum uvh_coding coding, bool varies)
{
    entry->fields = uvhttp_prepared_new(entry->allocator);
    entry->validators = uvhttp_prepared_new(entry->allocator);
    if (entry->fields == NULL || entry->validators == NULL)
        return UVHTTP_ENOMEM;
    entry->coding = (unsigned char)coding;
    entry->varies = varies;
    int err = uvhttp_prepared_add(entry->fields, "Content-Type", entry->type);
    if (err == 0 && coding != UVH_CODING_IDENTITY)
        err = uvhttp_prepared_add(entry->fields, "Content-Encoding", uvh_coding_name(coding));
    if (err == 0)
        err = add_validators(entry, varies, entry->fields);
    if (err == 0 && entry->etag[0] != 'W') /* ranges made at different times may not fit */
        err = uvhttp_prepared_add(entry->fields, "Accept-Ranges", "bytes");
    if (err == 0)
        err = add_validators(entry, varies, entry->validators);
    if (err == 0)
        err =
            uvh_static_rules_add(entry->rules, entry->ruled_path, entry->fields, entry->validators);
    if (entry->descriptor < 0)
        uvhttp_prepared_set_body(entry->fields, entry->body, (size_t)entry->size);
    else
        uvhttp_prepared_set_descriptor(entry->fields, entry->descriptor, 0, (size_t)entry->size);
    return err;
}

/* Takes ownership of the descriptor, whatever the result. */
static int load_opened(const struct uvh_file_load_options *options, int descriptor,
                       struct uvh_file_facts *facts, struct uvh_file_entry **entry)
{
    int64_t now_ms = uvh_clock_unix_ms();
    struct uvh_file_entry *made = NULL;
    int err = facts->kind == UVH_FILE_REGULAR ? 0 : UVHTTP_ENOTREG;
    if (err == 0)
        err = read_body(options, descriptor, facts, &made);
    if (err == 0 && made == NULL) {
        made = new_entry(options->allocator, options->key, 0);
        err = made == NULL ? UVHTTP_ENOMEM : 0;
        if (err == 0) {
            made->descriptor = descriptor;
            descriptor = -1;
        }
    }
    uvh_file_close(descriptor);
    if (err != 0)
        return err;
    const char *named = options->named != NULL ? options->named : options->path;
    err = remember_rules(made, options->rules, named);
    if (err == 0) {
        describe(made, facts, named, now_ms);
        if (options->type != NULL)
            made->type = options->type;
        err = prepare(made, options->coding, options->varies);
    }
    if (err != 0) {
        uvh_file_entry_unref(made);
        return err;
    }
    *entry = made;
    return 0;
}

int uvh_file_entry_load(const struct uvh_file_load_options *options, struct uvh_file_entry **entry)
{
    struct uvh_file_facts facts;
    int descriptor;
    *entry = NULL;
    int err = options->root == NULL
                  ? uvh_file_open_anywhere(options->path, &descriptor, &facts)
                  : uvh_file_open(options->root, options->path, &descriptor, &facts);
    if (err != 0)
        return err;
    return load_opened(options, descriptor, &facts, entry);
}

/* Copies the fields shared by a copy and another coding. */
static void take_over(struct uvh_file_entry *entry, const struct uvh_file_entry *from)
{
    entry->facts = from->facts;
    entry->type = from->type;
    entry->modified = from->modified;
}

struct uvh_file_entry *uvh_file_entry_encoded(const struct uvh_file_entry *source,
                                              enum uvh_coding coding, uvhttp_slice_t body)
{
    struct uvh_file_entry *entry =
        new_entry(source->allocator, (uvhttp_slice_t){NULL, 0}, body.length);
    if (entry == NULL)
        return NULL;
    entry->body = entry->key + 1;
    entry->size = body.length;
    memcpy(entry->key + 1, body.base, body.length);
    take_over(entry, source);
    write_weak_etag(entry, coding);
    if (remember_rules(entry, source->rules, source->ruled_path) != 0 ||
        prepare(entry, coding, true) != 0) {
        uvh_file_entry_unref(entry);
        return NULL;
    }
    return entry;
}

size_t uvh_file_entry_memory(const struct uvh_file_entry *entry)
{
    size_t memory = entry->descriptor < 0 ? (size_t)entry->size : 0;
    for (int i = 0; i < UVH_CODING_COUNT; i++)
        memory += entry->variants[i] != NULL ? uvh_file_entry_memory(entry->variants[i]) : 0;
    return memory;
}

size_t uvh_file_entry_descriptors(const struct uvh_file_entry *entry)
{
    size_t descriptors = entry->descriptor < 0 ? 0 : 1;
    for (int i = 0; i < UVH_CODING_COUNT; i++)
        descriptors +=
            entry->variants[i] != NULL ? uvh_file_entry_descriptors(entry->variants[i]) : 0;
    return descriptors;
}

static bool copy_variants(struct uvh_file_entry *copy, const struct uvh_file_entry *entry)
{
    copy->codings = entry->codings;
    copy->siblings = entry->siblings;
    copy->siblings_digest = entry->siblings_digest;
    for (int i = 0; i < UVH_CODING_COUNT; i++) {
        if (entry->variants[i] == NULL)
            continue;
        copy->variants[i] = uvh_file_entry_copy(entry->variants[i]);
        if (copy->variants[i] == NULL)
            return false;
    }
    return true;
}

struct uvh_file_entry *uvh_file_entry_copy(const struct uvh_file_entry *entry)
{
    bool on_disk = entry->descriptor >= 0;
    size_t size = on_disk ? 0 : (size_t)entry->size;
    struct uvh_file_entry *copy =
        new_entry(entry->allocator, (uvhttp_slice_t){entry->key, entry->key_length}, size);
    if (copy == NULL)
        return NULL;
    if (on_disk)
        copy->descriptor = uvh_file_duplicate(entry->descriptor);
    else if (size > 0)
        memcpy(copy->key + copy->key_length + 1, entry->body, size);
    copy->body = on_disk ? NULL : copy->key + copy->key_length + 1;
    copy->size = entry->size;
    take_over(copy, entry);
    copy->settled = entry->settled;
    memcpy(copy->etag, entry->etag, sizeof(copy->etag));
    copy->etag_length = entry->etag_length;
    if ((on_disk && copy->descriptor < 0) ||
        remember_rules(copy, entry->rules, entry->ruled_path) != 0 ||
        prepare(copy, (enum uvh_coding)entry->coding, entry->varies) != 0 ||
        !copy_variants(copy, entry)) {
        uvh_file_entry_unref(copy);
        return NULL;
    }
    return copy;
}

bool uvh_file_entry_current(const struct uvh_file_facts *known, bool settled,
                            const struct uvh_file_facts *facts)
{
    return settled && uvh_file_facts_equal(known, facts);
}

void uvh_file_entry_unref(struct uvh_file_entry *entry)
{
    if (entry == NULL)
        return;
    uvh_owner_check(&entry->owner);
    if (--entry->references > 0)
        return;
    for (int i = 0; i < UVH_CODING_COUNT; i++)
        uvh_file_entry_unref(entry->variants[i]);
    uvh_file_close(entry->descriptor);
    uvhttp_prepared_free(entry->fields);
    uvhttp_prepared_free(entry->validators);
    uvh_free(entry->allocator, entry->ruled_path);
    uvh_free(entry->allocator, entry);
}
