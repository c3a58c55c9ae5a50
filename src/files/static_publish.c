/* A name is checked twice: before the body is requested, so that no client sends one in vain, and
 * directly before the rename, under the root's lock. So of two clients that replace the same state
 * of a file one is refused. A file that must be new is also safe against other programs, since the
 * kernel gives a name only when it is free. A program that replaces a file between the second check
 * and the rename is not detected. */
#include "files/static_publish.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/slice.h"
#include "files/static_siblings.h"

static void refuse(struct uvh_static_publish *publish, int status, const char *reason)
{
    publish->status = status;
    publish->reason = reason;
}

static bool failed(const struct uvh_static_publish *publish)
{
    return publish->status != 0 || publish->error != 0;
}

static void note_dir_error(struct uvh_static_publish *publish, int error)
{
    switch (error) {
    case -ENOENT:
        if (publish->form)
            refuse(publish, 404, "the directory does not exist");
        else
            refuse(publish, 409, "the parent directory does not exist");
        break;
    case -ENOTDIR:
        refuse(publish, 409, "a parent of the file is not a directory, or is missing");
        break;
    case -EXDEV: /* leads out of the root */
    case -ELOOP:
        refuse(publish, 403, "storing files there is not permitted");
        break;
    default:
        publish->error = error;
        break;
    }
}

/* "If-None-Match: *": the file must be new. */
static bool must_be_new(const struct uvh_static_publish *publish)
{
    uvhttp_slice_t tags = publish->conditions.if_none_match;
    return tags.length == 1 && tags.base[0] == '*';
}

/* The path of a name below the root; false when that is longer than any may be. */
static bool write_path(const struct uvh_static_publish *publish, const char *name,
                       char path[PATH_MAX])
{
    const char *slash = publish->directory[0] == '\0' ? "" : "/";
    return snprintf(path, PATH_MAX, "%s%s%s", publish->directory, slash, name) < PATH_MAX;
}

/* The file with that name: in the directory, or in one of more_roots, where clients see it until
 * the directory has one. */
static int check(const struct uvh_static_publish *publish, const char *name,
                 struct uvh_file_facts *facts)
{
    const struct uvh_file_root *others = publish->settings->root.next;
    char path[PATH_MAX];
    int error = uvh_file_facts_read_in(publish->store->directory, name, facts);
    if (error != -ENOENT || others == NULL || !write_path(publish, name, path))
        return error;
    error = uvh_file_facts_read(others, path, facts);
    return uvh_file_is_missing(error) ? -ENOENT : error;
}

/* Replaces the facts of a file by those of the representation that a GET with the fields of this
 * request gets, to which conditions apply (RFC 9110 section 13.1.1): possibly a sibling. One
 * encoded on the fly has a weak tag, which never matches If-Match, so the file is used instead. */
static void select_sent(const struct uvh_static_publish *publish, const char *name,
                        struct uvh_file_facts *facts)
{
    struct uvh_file_facts sibling;
    char path[PATH_MAX];
    if (publish->accepted.base != NULL && write_path(publish, name, path) &&
        uvh_static_siblings_select(publish->settings, path, facts, publish->accepted, &sibling))
        *facts = sibling;
}

/* Lets the upload continue or refuses it, by the file that has the name now. */
static void check_name(struct uvh_static_publish *publish, const char *name)
{
    struct uvh_file_facts facts;
    char etag[UVH_FILE_ENTRY_ETAG_SIZE];
    int error = check(publish, name, &facts);
    struct uvh_conditional_entity entity = {.exists = error == 0};
    if (error != 0 && error != -ENOENT) {
        publish->error = error;
        return;
    }
    if (entity.exists && facts.kind == UVH_FILE_DIRECTORY) {
        refuse(publish, 409, "a directory with that name exists");
        return;
    }
    if (entity.exists && facts.kind != UVH_FILE_REGULAR) {
        refuse(publish, 403, "the name exists and is not a regular file");
        return;
    }
    if (entity.exists) {
        select_sent(publish, name, &facts);
        entity.etag = (uvhttp_slice_t){etag, uvh_file_entry_format_etag(&facts, etag)};
        entity.modified = facts.modified_seconds;
        entity.has_modified = true;
    }
    if (uvh_conditional_evaluate(&publish->conditions, &entity, false) != UVH_CONDITIONAL_PROCEED)
        refuse(publish, 412, "a precondition of the request failed");
    else if (entity.exists && !publish->settings->upload_overwrite)
        refuse(publish, 409, "a file with that name exists, and overwriting is disabled");
}

/* Nothing is stored in more_roots. */
static struct uvh_file_root first_root(const struct uvh_static_publish *publish)
{
    const struct uvh_file_root *root = &publish->settings->root;
    return (struct uvh_file_root){
        .descriptor = root->descriptor, .walk = root->walk, .links = root->links};
}

static int open_dir(const struct uvh_static_publish *publish, int *directory)
{
    const struct uvh_static_settings *settings = publish->settings;
    struct uvh_file_root root = first_root(publish);
    int error = uvh_file_open_directory(&root, publish->directory, false, directory);
    if (error != -ENOENT || !settings->upload_directories)
        return error;
    error = uvh_file_open_directory(&root, publish->directory, true, directory);
    uvh_path_versions_raise_directories(publish->versions, uvh_slice(publish->directory));
    return error;
}

void uvh_static_publish_prepare(struct uvh_static_publish *publish)
{
    int directory;
    int error = open_dir(publish, &directory);
    if (error != 0) {
        note_dir_error(publish, error);
        return;
    }
    publish->store->directory = directory;
    if (publish->form)
        return;
    check_name(publish, publish->parts->name);
    if (!failed(publish))
        publish->error = uvh_store_begin(publish->store, 0, publish->parts->file.name);
}

/* False if the root or the directory was replaced during the upload: the file would not be found.
 */
static bool is_same_dir(const struct uvh_static_publish *publish)
{
    struct uvh_file_facts held;
    struct uvh_file_facts found;
    uvh_static_settings_follow_roots(publish->settings);
    struct uvh_file_root root = first_root(publish);
    return uvh_file_facts_of(publish->store->directory, &held) == 0 &&
           uvh_file_facts_read(&root, publish->directory, &found) == 0 &&
           held.device == found.device && held.inode == found.inode;
}

static void raise_version(const struct uvh_static_publish *publish, const char *name)
{
    char path[PATH_MAX];
    if (write_path(publish, name, path))
        uvh_path_versions_raise(publish->versions, uvh_slice(path));
}

static void give_name(struct uvh_static_publish *publish, struct uvh_static_part *part)
{
    bool keep = !publish->settings->upload_overwrite || must_be_new(publish);
    int error = uvh_store_publish(publish->store, part->file.name, part->name, keep, false,
                                  &part->file.created);
    if (error == -EEXIST && must_be_new(publish)) {
        refuse(publish, 412, "a file with that name already exists");
        return;
    }
    publish->error = error;
    if (error != 0)
        return;
    part->file.name[0] = '\0';
    raise_version(publish, part->name);
    struct uvh_file_facts facts;
    if (uvh_file_facts_read_in(publish->store->directory, part->name, &facts) == 0)
        uvh_file_entry_format_etag(&facts, publish->etag);
}

void uvh_static_publish_run(struct uvh_static_publish *publish)
{
    if (!uvh_body_digest_end(&publish->digest)) {
        refuse(publish, 400, UVH_BODY_DIGEST_WRONG);
        return;
    }
    if (!is_same_dir(publish)) {
        refuse(publish, 409, "the directory was replaced during the upload");
        return;
    }
    uvh_lock_acquire(publish->lock);
    for (struct uvh_static_part *part = publish->parts; part != NULL && !failed(publish);
         part = part->next)
        check_name(publish, part->name);
    for (struct uvh_static_part *part = publish->parts; part != NULL && !failed(publish);
         part = part->next)
        give_name(publish, part);
    uvh_lock_release(publish->lock);
    if (!failed(publish) && publish->settings->upload_sync)
        publish->error = uvh_store_sync(publish->store);
    /* nothing is left to remove: the end of the exchange needs no job */
    if (!failed(publish))
        uvh_store_close(publish->store);
}
