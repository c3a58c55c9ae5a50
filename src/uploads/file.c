/* Loads a file, and saves one as an upload is stored; see uvhttp/file.h. */
#include <uvhttp/error.h>
#include <uvhttp/file.h>

#include <string.h>

#include "base/alloc.h"
#include "platform/file.h"
#include "platform/store.h"

/* The file may grow or shrink meanwhile; it has at most its first size then. */
static int read_whole(int descriptor, const struct uvh_file_facts *facts, char **data, size_t *size)
{
    if (facts->kind != UVH_FILE_REGULAR)
        return UVHTTP_ENOTREG;
    if (facts->size >= SIZE_MAX)
        return UVHTTP_ENOMEM;
    char *memory = uvh_alloc(uvh_alloc_default(), (size_t)facts->size + 1);
    if (memory == NULL)
        return UVHTTP_ENOMEM;
    int64_t count = uvh_file_read(descriptor, memory, (size_t)facts->size, 0);
    if (count < 0) {
        uvh_free(uvh_alloc_default(), memory);
        return (int)count;
    }
    memory[count] = '\0';
    *data = memory;
    if (size != NULL)
        *size = (size_t)count;
    return 0;
}

int uvhttp_file_load(const char *path, char **data, size_t *size)
{
    struct uvh_file_facts facts;
    int descriptor;
    if (data == NULL)
        return UVHTTP_EINVAL;
    *data = NULL;
    if (size != NULL)
        *size = 0;
    int err = path == NULL ? UVHTTP_EINVAL : uvh_file_open_anywhere(path, &descriptor, &facts);
    if (err != 0)
        return err;
    err = read_whole(descriptor, &facts, data, size);
    uvh_file_close(descriptor);
    return err;
}

void uvhttp_file_release(char *data)
{
    uvh_free(uvh_alloc_default(), data);
}

/* Writes the file, whose name is `name`; the directory is open. */
static int save(struct uvh_store *store, const char *name, uvhttp_slice_t bytes, unsigned mode)
{
    char part[UVH_STORE_NAME_SIZE];
    bool created;
    int err = uvh_store_begin(store, mode, part);
    if (err != 0)
        return err;
    err = uvh_store_write(store, &bytes, 1);
    int end = uvh_store_end(store, mode, err == 0);
    err = err != 0 ? err : end;
    if (err == 0)
        err = uvh_store_publish(store, part, name, false, true, &created);
    if (err != 0)
        uvh_store_remove(store, part);
    return err;
}

int uvhttp_file_save(const char *path, const void *data, size_t size, unsigned mode)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (path == NULL || *name == '\0' || (data == NULL && size > 0))
        return UVHTTP_EINVAL;
    /* with the slash, which may be the root directory */
    size_t length = (size_t)(name - path);
    char *directory = uvh_alloc(uvh_alloc_default(), length + 2);
    if (directory == NULL)
        return UVHTTP_ENOMEM;
    memcpy(directory, length == 0 ? "." : path, length == 0 ? 1 : length);
    directory[length == 0 ? 1 : length] = '\0';
    struct uvh_store store;
    uvh_store_init(&store);
    int err = uvh_store_open(&store, directory, false);
    uvh_free(uvh_alloc_default(), directory);
    if (err == 0)
        err = save(&store, name, (uvhttp_slice_t){data, size}, mode);
    uvh_store_close(&store);
    return err;
}
