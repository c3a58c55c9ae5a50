/* A form with files. The pull parser (codec/forms/multipart.c) finds the parts. The spool (spool.c)
 * holds the bytes of a part in its blocks until the part ends, then copies them into one buffer. A
 * part that grows large goes to a file instead. */
#include <uvhttp/error.h>
#include <uvhttp/form_data.h>
#include <uvhttp/multipart.h>

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "uploads/spool.h"
#include "uploads/upload_name.h"

enum {
    DEFAULT_MEMORY_PART = 65536,
    DEFAULT_MEMORY = 1048576,
    DEFAULT_PARTS = 100,
};

struct form;

struct part {
    uvhttp_form_part_t facts;
    struct uvh_spool_file file;
    struct form *form;
    bool kept;
};

struct form {
    struct uvh_spool spool;
    uvhttp_form_options_t options;
    uvhttp_form_data_t facts;
    struct part *last;
    uint64_t received; /* bytes of the body */
    size_t in_memory;  /* bytes of the parts kept in memory */
    uvhttp_form_cb done;
    void *arg;
    uvhttp_multipart_t parser;
};

/* ---- the head of a part ---- */

static const char *copy_text(uvhttp_request_t *request, uvhttp_slice_t text)
{
    char *copy = uvhttp_request_allocate(request, text.length + 1);
    if (copy == NULL)
        return NULL;
    if (text.length > 0)
        memcpy(copy, text.base, text.length);
    copy[text.length] = '\0';
    return copy;
}

static int begin_part(struct form *form)
{
    uvhttp_request_t *request = form->spool.request;
    const uvhttp_multipart_part_t *head = &form->parser.part;
    struct part *part = uvhttp_request_allocate(request, sizeof(*part));
    if (part == NULL)
        return UVHTTP_ENOMEM;
    *part = (struct part){.form = form};
    part->facts.name = copy_text(request, head->name);
    bool copied = part->facts.name != NULL;
    if (copied && head->filename.base != NULL) {
        part->facts.raw_filename = copy_text(request, head->filename);
        if (part->facts.raw_filename != NULL)
            part->facts.filename = uvh_upload_name_from(request, head->filename);
        copied = part->facts.filename != NULL;
    }
    if (copied && head->type.base != NULL)
        copied = (part->facts.type = copy_text(request, head->type)) != NULL;
    if (!copied)
        return UVHTTP_ENOMEM;
    if (form->last != NULL)
        form->last->facts.next = &part->facts;
    else
        form->facts.parts = &part->facts;
    form->last = part;
    form->facts.count++;
    return 0;
}

/* ---- the data of a part ---- */

static int add_data(struct form *form, uvhttp_slice_t data)
{
    struct part *part = form->last;
    const uvhttp_form_options_t *options = &form->options;
    uint64_t size = part->file.size + data.length;
    bool fits = size <= options->memory_part_size && size <= options->memory_size - form->in_memory;
    if (!part->file.on_disk && !fits) {
        if (options->directory == NULL)
            return uvh_spool_refuse(form->spool.response, 413,
                                    "the form is too large for this resource");
        int err = uvh_spool_to_disk(&form->spool, &part->file);
        if (err != 0)
            return err;
    }
    return uvh_spool_put(&form->spool, &part->file, data.base, data.length);
}

static int end_part(struct form *form)
{
    struct part *part = form->last;
    part->facts.size = part->file.size;
    if (part->file.on_disk)
        return uvh_spool_end_file(&form->spool, &part->file);
    form->in_memory += (size_t)part->file.size;
    part->facts.data = uvh_spool_collect(&form->spool, &part->file);
    return part->facts.data == NULL ? UVHTTP_ENOMEM : 0;
}

static int refuse_form(struct form *form)
{
    uvhttp_multipart_error_t error = form->parser.error;
    return uvh_spool_refuse(form->spool.response, uvhttp_multipart_error_status(error),
                            uvhttp_multipart_error_text(error));
}

static int take_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                      size_t size, void *arg)
{
    struct form *form = arg;
    uvhttp_slice_t chunk = {data, size};
    uvhttp_slice_t bytes;
    int err = 0;
    (void)request;
    if (size > form->options.max_size - form->received)
        return uvh_spool_refuse(response, 413, "the body is too large for this resource");
    form->received += size;
    if (size == 0)
        return uvhttp_multipart_finish(&form->parser) ? uvh_spool_end(&form->spool)
                                                      : refuse_form(form);
    while (err == 0 && uvhttp_response_open(response)) {
        switch (uvhttp_multipart_next(&form->parser, &chunk, &bytes)) {
        case UVHTTP_MULTIPART_PART:
            err = begin_part(form);
            break;
        case UVHTTP_MULTIPART_DATA:
            err = add_data(form, bytes);
            break;
        case UVHTTP_MULTIPART_PART_END:
            err = end_part(form);
            break;
        case UVHTTP_MULTIPART_END:
            break;
        case UVHTTP_MULTIPART_BAD:
            return refuse_form(form);
        case UVHTTP_MULTIPART_MORE:
            return 0;
        }
    }
    return err;
}

static int written(struct uvh_spool *spool, int err)
{
    struct form *form = UVH_CONTAINER_OF(spool, struct form, spool);
    if (err != 0)
        return uvh_spool_respond_error(spool, err);
    const uvhttp_form_part_t *next = form->facts.parts;
    for (uint32_t i = 0; i < form->facts.count; i++) { /* the files have no names before this */
        struct part *part =
            UVH_CONTAINER_OF((uvhttp_form_part_t *)(uintptr_t)next, struct part, facts);
        next = part->facts.next;
        if (!part->file.on_disk)
            continue;
        size_t size = strlen(spool->directory) + 1 + sizeof(part->file.name);
        char *path = uvhttp_request_allocate(spool->request, size);
        if (path == NULL)
            return UVHTTP_ENOMEM;
        snprintf(path, size, "%s/%s", spool->directory, part->file.name);
        part->facts.path = path;
    }
    return form->done(spool->request, spool->response, &form->facts, form->arg);
}

/* ---- the public functions ---- */

static void use_defaults(uvhttp_form_options_t *options)
{
    if (options->memory_part_size == 0)
        options->memory_part_size = DEFAULT_MEMORY_PART;
    if (options->memory_size == 0)
        options->memory_size = DEFAULT_MEMORY;
    if (options->max_size == 0)
        options->max_size = UINT64_MAX;
    if (options->max_parts == 0)
        options->max_parts = DEFAULT_PARTS;
}

static struct form *new_form(uvhttp_request_t *request, const uvhttp_form_options_t *options)
{
    struct form *form = uvhttp_request_allocate(request, sizeof(*form));
    if (form == NULL)
        return NULL;
    /* the parser is large and clears its own fields */
    memset(form, 0, offsetof(struct form, parser));
    if (options != NULL)
        form->options = *options;
    use_defaults(&form->options);
    const char *directory = form->options.directory;
    if (directory != NULL) {
        directory = copy_text(request, uvh_slice(directory));
        if (directory == NULL)
            return NULL;
        form->options.directory = directory;
    }
    form->spool.request = request;
    form->spool.response = uvhttp_request_response(request);
    form->spool.directory = directory;
    form->spool.mode = form->options.mode;
    form->spool.written_cb = written;
    return form;
}

int uvhttp_form_data_read(uvhttp_request_t *request, const uvhttp_form_options_t *options,
                          uvhttp_form_cb done, void *arg)
{
    uvhttp_response_t *response = uvhttp_request_response(request);
    uvhttp_slice_t boundary;
    if (done == NULL)
        return UVHTTP_EINVAL;
    if (!uvhttp_multipart_boundary(uvhttp_request_field(request, UVHTTP_FIELD_CONTENT_TYPE),
                                   &boundary))
        return uvh_spool_refuse(response, 415, "the body is not multipart/form-data");
    struct form *form = new_form(request, options);
    if (form == NULL)
        return UVHTTP_ENOMEM;
    form->done = done;
    form->arg = arg;
    if (uvh_spool_exceeds(request, form->options.max_size))
        return uvh_spool_refuse(response, 413, "the body is too large for this resource");
    uvhttp_multipart_limits_t limits = {.max_part_size = form->options.max_part_size,
                                        .max_parts = form->options.max_parts,
                                        .max_header_size = form->options.max_header_size};
    uvhttp_multipart_init(&form->parser, boundary, &limits);
    int err = uvh_spool_begin(&form->spool);
    return err != 0 ? err : uvhttp_request_on_body(request, take_chunk, form);
}

const uvhttp_form_part_t *uvhttp_form_data_part(const uvhttp_form_data_t *form, const char *name)
{
    if (form == NULL || name == NULL)
        return NULL;
    const uvhttp_form_part_t *part = form->parts;
    while (part != NULL && (part->name == NULL || strcmp(part->name, name) != 0))
        part = part->next;
    return part;
}

int uvhttp_form_part_keep(const uvhttp_form_part_t *facts, const char *path)
{
    if (facts == NULL || path == NULL || path[0] == '\0')
        return UVHTTP_EINVAL;
    struct part *part =
        UVH_CONTAINER_OF((uvhttp_form_part_t *)(uintptr_t)facts, struct part, facts);
    struct form *form = part->form;
    if (part->kept)
        return UVHTTP_EINVAL;
    int err;
    if (part->file.on_disk)
        err = uvh_store_move(&form->spool.store, part->file.name, path);
    else
        err = uvh_store_write_new(path, facts->data, (size_t)facts->size, form->options.mode);
    if (err != 0)
        return err;
    part->kept = true;
    part->file.name[0] = '\0';
    part->facts.path = NULL;
    return 0;
}
