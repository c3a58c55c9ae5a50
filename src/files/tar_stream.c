/* A file is opened before its head is written, so the head describes the open file. */
#include "files/tar_stream.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>

enum { CHUNK = 32 * 1024 };

/* Computes the total size, by a stat of each file. */
static int measure(struct uvh_tar_stream *stream)
{
    struct uvh_dir_walk_member member;
    uint64_t left = stream->options.most_bytes;
    int result;
    while ((result = uvh_dir_walk_next(&stream->walk, &member)) == 1) {
        if (member.size > left)
            return UVHTTP_ETOOLARGE;
        left -= member.size;
    }
    return result;
}

static int begin_walk(struct uvh_tar_stream *stream, const uvhttp_allocator_t *allocator)
{
    const struct uvh_tar_stream_options *options = &stream->options;
    return uvh_dir_walk_begin(&stream->walk, allocator, stream->roots, options->directory,
                              options->hidden, options->most_entries);
}

int uvh_tar_stream_open(struct uvh_tar_stream *stream, const uvhttp_allocator_t *allocator,
                        const struct uvh_tar_stream_options *options)
{
    stream->options = *options;
    stream->bytes_left = options->most_bytes;
    stream->descriptor = -1;
    stream->begun = false;
    int result = uvh_file_roots_copy(options->root, allocator, &stream->roots);
    if (result != 0)
        return result;
    result = begin_walk(stream, allocator);
    if (result == 0)
        result = measure(stream);
    uvh_dir_walk_release(&stream->walk);
    if (result == 0)
        result = begin_walk(stream, allocator);
    if (result != 0)
        uvh_tar_stream_close(stream);
    return result;
}

void uvh_tar_stream_close(struct uvh_tar_stream *stream)
{
    const uvhttp_allocator_t *allocator = stream->walk.allocator;
    uvh_file_close(stream->descriptor);
    stream->descriptor = -1;
    uvh_dir_walk_release(&stream->walk);
    uvh_file_roots_free(stream->roots, allocator);
    stream->roots = NULL;
}

/* Appends the head of a member called `name` below the archive's directory. False when no head can
 * hold that name. */
static bool append_head(struct uvh_tar_stream *stream, const char *name,
                        struct uvh_tar_member *member, struct uvh_bytes *slice)
{
    char path[UVH_TAR_PATH_MAX + 1];
    char head[UVH_TAR_HEAD_MAX];
    size_t directory = strlen(stream->options.name), length = strlen(name);
    if (directory + 1 + length > UVH_TAR_PATH_MAX)
        return false;
    memcpy(path, stream->options.name, directory);
    path[directory] = '/';
    memcpy(path + directory + 1, name, length);
    member->path = path;
    member->path_length = directory + 1 + length;
    size_t size = uvh_tar_head_write(member, head);
    uvh_bytes_append(slice, head, size);
    return size > 0;
}

/* Opens a member that is still a readable file. Returns 0, or the error of a resource shortage. */
static int open_file(struct uvh_tar_stream *stream, const struct uvh_dir_walk_member *member,
                     struct uvh_file_facts *facts)
{
    int result = uvh_file_facts_read(stream->walk.root, member->path, facts);
    if (result != 0 || facts->kind != UVH_FILE_REGULAR)
        return 0;
    result = uvh_file_open(stream->walk.root, member->path, &stream->descriptor, facts);
    if (result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -EIO)
        return result;
    if (result == 0 && facts->kind != UVH_FILE_REGULAR) {
        uvh_file_close(stream->descriptor);
        stream->descriptor = -1;
    }
    return 0;
}

static int begin_file(struct uvh_tar_stream *stream, const struct uvh_dir_walk_member *member,
                      struct uvh_bytes *slice)
{
    struct uvh_file_facts facts;
    int result = open_file(stream, member, &facts);
    if (result != 0 || stream->descriptor < 0)
        return result;
    if (facts.size > stream->bytes_left)
        return UVHTTP_ETOOLARGE;
    struct uvh_tar_member head = {.size = facts.size, .modified = facts.modified_seconds};
    if (!append_head(stream, member->name, &head, slice)) {
        uvh_file_close(stream->descriptor);
        stream->descriptor = -1;
        return 0;
    }
    stream->bytes_left -= facts.size;
    stream->size = facts.size;
    stream->offset = 0;
    return 0;
}

/* The archived directory comes first. */
static int begin_archive(struct uvh_tar_stream *stream, struct uvh_bytes *slice)
{
    struct uvh_file_facts facts;
    int result = uvh_file_facts_read(stream->walk.root, stream->options.directory, &facts);
    if (result != 0)
        return result;
    struct uvh_tar_member head = {.modified = facts.modified_seconds, .directory = true};
    append_head(stream, "", &head, slice);
    stream->begun = true;
    return 0;
}

/* Returns 0; 1 after the last member; or an error. */
static int begin_member(struct uvh_tar_stream *stream, struct uvh_bytes *slice)
{
    static const char zeros[UVH_TAR_END];
    struct uvh_dir_walk_member member;
    if (!stream->begun)
        return begin_archive(stream, slice);
    int result = uvh_dir_walk_next(&stream->walk, &member);
    if (result < 0)
        return result;
    if (result == 0) {
        uvh_bytes_append(slice, zeros, sizeof(zeros));
        return 1;
    }
    if (!member.directory)
        return begin_file(stream, &member, slice);
    struct uvh_tar_member head = {.modified = member.modified, .directory = true};
    append_head(stream, member.name, &head, slice);
    return 0;
}

/* Appends the next bytes of the open file; after the last of them the zeros that fill the block. */
static int copy_chunk(struct uvh_tar_stream *stream, struct uvh_bytes *slice)
{
    static const char zeros[UVH_TAR_BLOCK];
    char chunk[CHUNK];
    uint64_t left = stream->size - stream->offset;
    size_t size = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
    int64_t count = uvh_file_read(stream->descriptor, chunk, size, stream->offset);
    if (count < 0)
        return (int)count;
    if ((size_t)count < size)
        return UVHTTP_ELENGTH;
    uvh_bytes_append(slice, chunk, size);
    stream->offset += size;
    if (stream->offset == stream->size) {
        uvh_bytes_append(slice, zeros, uvh_tar_padding(stream->size));
        uvh_file_close(stream->descriptor);
        stream->descriptor = -1;
    }
    return 0;
}

int uvh_tar_stream_make(struct uvh_tar_stream *stream, struct uvh_bytes *slice)
{
    int result = 0;
    while (result == 0 && slice->length < UVH_TAR_STREAM_SLICE && !slice->failed)
        result = stream->descriptor >= 0 ? copy_chunk(stream, slice) : begin_member(stream, slice);
    return slice->failed ? UVHTTP_ENOMEM : result;
}
