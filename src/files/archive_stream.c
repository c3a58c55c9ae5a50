/* A file is opened before its head is written, so the head describes the open file. */
#include "files/archive_stream.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/crc32.h"

enum {
    CHUNK = 32 * 1024,
    CENTRAL_MAX = 1024 * 1024 * 1024, /* bytes; about 100 for each member */
};

/* Computes the total size, by a stat of each file. */
static int measure(struct uvh_archive_stream *stream)
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

static int begin_walk(struct uvh_archive_stream *stream, const uvhttp_allocator_t *allocator)
{
    const struct uvh_archive_stream_options *options = &stream->options;
    return uvh_dir_walk_begin(&stream->walk, allocator, stream->roots, options->directory,
                              options->hidden, options->hide, options->most_entries);
}

int uvh_archive_stream_open(struct uvh_archive_stream *stream, const uvhttp_allocator_t *allocator,
                            const struct uvh_archive_stream_options *options)
{
    *stream = (struct uvh_archive_stream){
        .options = *options, .bytes_left = options->most_bytes, .descriptor = -1};
    uvh_bytes_init(&stream->central, allocator, CENTRAL_MAX);
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
        uvh_archive_stream_close(stream);
    return result;
}

void uvh_archive_stream_close(struct uvh_archive_stream *stream)
{
    const uvhttp_allocator_t *allocator = stream->walk.allocator;
    uvh_file_close(stream->descriptor);
    stream->descriptor = -1;
    uvh_bytes_release(&stream->central);
    uvh_dir_walk_release(&stream->walk);
    uvh_file_roots_free(stream->roots, allocator);
    stream->roots = NULL;
}

/* ---- heads ---- */

/* The path of a member called `name` below the archive's directory. Returns its length; 0 when it
 * is too long. */
static size_t write_path(const struct uvh_archive_stream *stream, const char *name,
                         char path[UVH_TAR_PATH_MAX + 1])
{
    size_t directory = strlen(stream->options.name), length = strlen(name);
    if (directory + 1 + length > UVH_TAR_PATH_MAX)
        return 0;
    memcpy(path, stream->options.name, directory);
    path[directory] = '/';
    memcpy(path + directory + 1, name, length);
    return directory + 1 + length;
}

static uint64_t position(const struct uvh_archive_stream *stream, const struct uvh_bytes *slice)
{
    return stream->sent + slice->length - stream->slice_begin;
}

static void append_central(struct uvh_archive_stream *stream)
{
    char head[UVH_ZIP_HEAD_MAX];
    uvh_bytes_append(&stream->central, head, uvh_zip_central_write(&stream->member, head));
    stream->entries++;
}

static bool append_zip_head(struct uvh_archive_stream *stream, const struct uvh_tar_member *member,
                            struct uvh_bytes *slice)
{
    char head[UVH_ZIP_HEAD_MAX];
    stream->member = (struct uvh_zip_member){
        .path = member->path,
        .path_length = member->path_length,
        .size = member->size,
        .offset = position(stream, slice),
        .modified = member->modified,
        .directory = member->directory,
    };
    size_t size = uvh_zip_local_write(&stream->member, head);
    uvh_bytes_append(slice, head, size);
    if (member->directory && size > 0)
        append_central(stream);
    return size > 0;
}

/* Appends the head of a member called `name`. False when no head can hold that name. */
static bool append_head(struct uvh_archive_stream *stream, const char *name,
                        struct uvh_tar_member *member, struct uvh_bytes *slice)
{
    char head[UVH_TAR_HEAD_MAX];
    member->path = stream->path;
    member->path_length = write_path(stream, name, stream->path);
    if (member->path_length == 0)
        return false;
    if (stream->options.zip)
        return append_zip_head(stream, member, slice);
    size_t size = uvh_tar_head_write(member, head);
    uvh_bytes_append(slice, head, size);
    return size > 0;
}

/* Opens a member that is still a readable file. Returns 0, or the error of a resource shortage. */
static int open_file(struct uvh_archive_stream *stream, const struct uvh_dir_walk_member *member,
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

static int begin_file(struct uvh_archive_stream *stream, const struct uvh_dir_walk_member *member,
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
static int begin_archive(struct uvh_archive_stream *stream, struct uvh_bytes *slice)
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

/* What follows the files of a zip archive. Returns 0 or UVHTTP_ENOMEM. */
static int begin_tail(struct uvh_archive_stream *stream, const struct uvh_bytes *slice)
{
    char end[UVH_ZIP_END_MAX];
    size_t size =
        uvh_zip_end_write(stream->entries, stream->central.length, position(stream, slice), end);
    stream->tail = true;
    return uvh_bytes_append(&stream->central, end, size) == 0 ? 0 : UVHTTP_ENOMEM;
}

/* Returns 0, or 1 with the last bytes. */
static int append_tail(struct uvh_archive_stream *stream, struct uvh_bytes *slice)
{
    size_t left = stream->central.length - stream->tail_sent;
    size_t size = left < CHUNK ? left : CHUNK;
    uvh_bytes_append(slice, stream->central.data + stream->tail_sent, size);
    stream->tail_sent += size;
    return size == left ? 1 : 0;
}

/* Returns 0; 1 after the last member; or an error. */
static int begin_member(struct uvh_archive_stream *stream, struct uvh_bytes *slice)
{
    static const char zeros[UVH_TAR_END];
    struct uvh_dir_walk_member member;
    if (!stream->begun)
        return begin_archive(stream, slice);
    int result = uvh_dir_walk_next(&stream->walk, &member);
    if (result < 0)
        return result;
    if (result == 0 && stream->options.zip)
        return begin_tail(stream, slice);
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

/* After the last bytes of a file: the zeros that fill the block of a tar archive, or the checksum
 * and sizes of a zip archive. */
static void end_file(struct uvh_archive_stream *stream, struct uvh_bytes *slice)
{
    static const char zeros[UVH_TAR_BLOCK];
    char descriptor[UVH_ZIP_DESCRIPTOR_MAX];
    if (stream->options.zip) {
        uvh_bytes_append(slice, descriptor, uvh_zip_descriptor_write(&stream->member, descriptor));
        append_central(stream);
    } else {
        uvh_bytes_append(slice, zeros, uvh_tar_padding(stream->size));
    }
    uvh_file_close(stream->descriptor);
    stream->descriptor = -1;
}

/* Appends the next bytes of the open file. */
static int copy_chunk(struct uvh_archive_stream *stream, struct uvh_bytes *slice)
{
    char chunk[CHUNK];
    uint64_t left = stream->size - stream->offset;
    size_t size = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
    int64_t count = uvh_file_read(stream->descriptor, chunk, size, stream->offset);
    if (count < 0)
        return (int)count;
    if ((size_t)count < size)
        return UVHTTP_ELENGTH;
    if (stream->options.zip) {
        char head[UVH_ZIP_BLOCK_HEAD];
        uvh_zip_block_write(size, size == left, head);
        uvh_bytes_append(slice, head, sizeof(head));
        stream->member.packed += sizeof(head) + size;
        stream->member.crc = uvh_crc32(stream->member.crc, chunk, size);
    }
    uvh_bytes_append(slice, chunk, size);
    stream->offset += size;
    if (stream->offset == stream->size)
        end_file(stream, slice);
    return 0;
}

static int make_part(struct uvh_archive_stream *stream, struct uvh_bytes *slice)
{
    if (stream->tail)
        return append_tail(stream, slice);
    return stream->descriptor >= 0 ? copy_chunk(stream, slice) : begin_member(stream, slice);
}

int uvh_archive_stream_make(struct uvh_archive_stream *stream, struct uvh_bytes *slice)
{
    int result = 0;
    stream->slice_begin = slice->length;
    while (result == 0 && slice->length < UVH_ARCHIVE_STREAM_SLICE && !slice->failed &&
           !stream->central.failed)
        result = make_part(stream, slice);
    stream->sent = position(stream, slice);
    return slice->failed || stream->central.failed ? UVHTTP_ENOMEM : result;
}
