/* A file that is unreadable, or in another encoding, is not shown; the table lists it anyway. */
#include "files/dir_readme.h"

#include <limits.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "codec/text/utf8_sequence.h"
#include "files/static_path.h"

enum { LONGEST_CHARACTER = 4 };

/* Removes a truncated character at the end. */
static void drop_partial(struct uvh_dir_readme *readme)
{
    struct uvh_bytes *text = &readme->text;
    for (size_t i = 1; i < LONGEST_CHARACTER && i <= text->length; i++) {
        unsigned char byte = (unsigned char)text->data[text->length - i];
        if ((byte & 0xC0) == 0x80)
            continue;
        if (byte >= 0xC0 && uvh_utf8_sequence_valid_length(text->data + text->length - i, i) == 0)
            text->length -= i;
        return;
    }
}

/* True when the text can be shown. */
static bool fill(struct uvh_dir_readme *readme, int descriptor, const struct uvh_file_facts *facts)
{
    struct uvh_bytes *text = &readme->text;
    readme->cut = facts->size > UVH_DIR_README_MAX;
    size_t size = readme->cut ? UVH_DIR_README_MAX : (size_t)facts->size;
    text->data = uvh_alloc(text->allocator, size + 1);
    if (text->data == NULL) {
        text->failed = true;
        return false;
    }
    text->capacity = size + 1;
    int64_t count = uvh_file_read(descriptor, text->data, size, 0);
    text->length = count > 0 ? (size_t)count : 0;
    if (readme->cut)
        drop_partial(readme);
    text->data[text->length] = '\0'; /* md4c reads up to it */
    return text->length > 0 && memchr(text->data, '\0', text->length) == NULL &&
           uvh_utf8_sequence_is_valid_text(text->data, text->length);
}

/* Returns 0, UVHTTP_ENOMEM, or 1: it is not shown. */
static int read_one(struct uvh_dir_readme *readme, const struct uvh_file_root *root,
                    const char *directory, const char *name, const char *const *hide)
{
    char path[PATH_MAX];
    struct uvh_file_facts facts;
    int descriptor;
    size_t length = strlen(directory), name_length = strlen(name);
    if (length + name_length >= sizeof(path))
        return 1;
    memcpy(path, directory, length);
    memcpy(path + length, name, name_length + 1);
    if (uvh_static_path_matches(path, hide))
        return 1;
    int result = uvh_file_facts_read(root, path, &facts);
    if (result != 0 || facts.kind != UVH_FILE_REGULAR)
        return 1;
    result = uvh_file_open(root, path, &descriptor, &facts);
    if (result != 0)
        return 1;
    bool shown = facts.kind == UVH_FILE_REGULAR && fill(readme, descriptor, &facts);
    uvh_file_close(descriptor);
    if (readme->text.failed)
        return UVHTTP_ENOMEM;
    readme->name = shown ? name : NULL;
    readme->markdown = name_length > 3 && strcmp(name + name_length - 3, ".md") == 0;
    return shown ? 0 : 1;
}

int uvh_dir_readme_read(struct uvh_dir_readme *readme, const uvhttp_allocator_t *allocator,
                        const struct uvh_file_root *root, const char *directory,
                        const char *const *hide)
{
    static const char *const names[] = {"README.md", "README.txt", "README"};
    *readme = (struct uvh_dir_readme){0};
    uvh_bytes_init(&readme->text, allocator, UVH_DIR_README_MAX + 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int result = read_one(readme, root, directory, names[i], hide);
        if (result <= 0)
            return result;
        uvh_dir_readme_release(readme);
    }
    return 0;
}

void uvh_dir_readme_release(struct uvh_dir_readme *readme)
{
    uvh_bytes_release(&readme->text);
    readme->name = NULL;
    readme->cut = false;
}
