#include "files/dir_icons.h"

#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "codec/fields/compressible.h"
#include "codec/fields/mime.h"

enum icon { DIRECTORY, PLAIN_FILE, TEXT, IMAGE, AUDIO, VIDEO, ARCHIVE };

/* Paths in a square of 16 units, drawn as lines. */
static const char *const shapes[] = {
    [DIRECTORY] = "M1.5 13.5v-11h4.5l2 2.5h6.5v8.5z",
    [PLAIN_FILE] = "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3",
    [TEXT] = "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3M5.5 8h5M5.5 11h5",
    [IMAGE] = "M1.5 2.5h13v11h-13zM1.5 11.5l4-4 4 4 2-2 3 3M10 5.5h1",
    [AUDIO] =
        "M6 12V3l7-1.5v9M6 12a2 2 0 1 1-4 0a2 2 0 1 1 4 0zM13 10.5a2 2 0 1 1-4 0a2 2 0 1 1 4 0z",
    [VIDEO] = "M1.5 3.5h13v9h-13zM6.5 6v4l3.5-2z",
    [ARCHIVE] = "M2.5 5.5h11v8h-11zM1.5 2.5h13v3h-13zM6.5 8.5h3",
};

void uvh_dir_icons_append_shapes(struct uvh_bytes *page)
{
    uvh_bytes_append_text(page, "<svg class=\"shapes\" aria-hidden=\"true\">");
    for (size_t i = 0; i < UVH_COUNT_OF(shapes); i++)
        uvh_bytes_append_format(
            page, "<symbol id=\"i%zu\" viewBox=\"0 0 16 16\"><path d=\"%s\"/></symbol>", i,
            shapes[i]);
    uvh_bytes_append_text(page, "</svg>\n");
}

static bool is_archive(const char *type)
{
    static const char *const types[] = {
        "application/zip",    "application/gzip",    "application/x-tar",
        "application/zstd",   "application/vnd.rar", "application/x-7z-compressed",
        "application/x-bzip", "application/x-bzip2", "application/x-xz",
    };
    for (size_t i = 0; i < UVH_COUNT_OF(types); i++) {
        if (strcmp(types[i], type) == 0)
            return true;
    }
    return false;
}

static enum icon icon_of(const char *name)
{
    static const struct {
        const char *prefix;
        enum icon icon;
    } prefixes[] = {{"image/", IMAGE}, {"audio/", AUDIO}, {"video/", VIDEO}, {"text/", TEXT}};
    const char *type = uvh_mime_known_type(uvh_slice(name));
    if (type == NULL)
        return PLAIN_FILE;
    for (size_t i = 0; i < UVH_COUNT_OF(prefixes); i++) {
        if (strncmp(prefixes[i].prefix, type, strlen(prefixes[i].prefix)) == 0)
            return prefixes[i].icon;
    }
    if (is_archive(type))
        return ARCHIVE;
    return strcmp(type, "application/pdf") == 0 || uvh_compressible_type(uvh_slice(type))
               ? TEXT
               : PLAIN_FILE;
}

void uvh_dir_icons_append(const char *name, bool directory, struct uvh_bytes *page)
{
    uvh_bytes_append_format(page, "<svg aria-hidden=\"true\"><use href=\"#i%d\"/></svg>",
                            directory ? DIRECTORY : icon_of(name));
}
