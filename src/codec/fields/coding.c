/* See coding.h. */
#include "codec/fields/coding.h"

#include <string.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/fields/weighted.h"

static const struct {
    uvhttp_slice_t name;
    const char *suffix;
} codings[UVH_CODING_COUNT] = {
    [UVH_CODING_IDENTITY] = {{"identity", 8}, ""},
    [UVH_CODING_GZIP] = {{"gzip", 4}, ".gz"},
    [UVH_CODING_BROTLI] = {{"br", 2}, ".br"},
    [UVH_CODING_ZSTD] = {{"zstd", 4}, ".zst"},
};

/* The server's order of preference. */
static const unsigned char preference[] = {UVH_CODING_BROTLI, UVH_CODING_ZSTD, UVH_CODING_GZIP};

/* Values that browsers and clients send with nearly every request, and their codings. */
static const struct {
    uvhttp_slice_t value;
    unsigned accepted;
} usual[] = {
    {{"gzip, deflate, br, zstd", 23}, UVH_CODING_ALL},
    {{"gzip, deflate, br", 17},
     UVH_CODING_BIT(UVH_CODING_GZIP) | UVH_CODING_BIT(UVH_CODING_BROTLI)},
    {{"gzip, deflate", 13}, UVH_CODING_BIT(UVH_CODING_GZIP)},
    {{"gzip", 4}, UVH_CODING_BIT(UVH_CODING_GZIP)},
    {{"identity", 8}, 0},
};

const char *uvh_coding_name(enum uvh_coding coding)
{
    return codings[coding].name.base;
}

const char *uvh_coding_suffix(enum uvh_coding coding)
{
    return codings[coding].suffix;
}

int uvh_coding_find(uvhttp_slice_t name)
{
    name = uvh_weighted_coding(name);
    for (int coding = 0; coding < UVH_CODING_COUNT; coding++) {
        if (uvh_field_name_equal(name, codings[coding].name))
            return coding;
    }
    return -1;
}

void uvh_accepted_codings_init(struct uvh_accepted_codings *accepted)
{
    *accepted = (struct uvh_accepted_codings){.quality = {-1, -1, -1, -1}, .others = -1};
}

/* If an element occurs twice the first one counts. */
static void accept(int *quality, int value)
{
    if (*quality < 0)
        *quality = value;
}

void uvh_accepted_codings_read(struct uvh_accepted_codings *accepted, uvhttp_slice_t line)
{
    struct uvh_weighted element;
    while (uvh_weighted_next(&line, &element)) {
        if (!uvh_field_name_valid(element.range) || element.parameter_count > 0)
            continue;
        accepted->any = true;
        int coding = uvh_coding_find(element.range);
        if (coding >= 0)
            accept(&accepted->quality[coding], element.quality);
        else if (element.range.length == 1 && element.range.base[0] == '*')
            accept(&accepted->others, element.quality);
    }
}

static int quality_of(const struct uvh_accepted_codings *accepted, enum uvh_coding coding)
{
    if (accepted->quality[coding] >= 0)
        return accepted->quality[coding];
    if (accepted->others >= 0)
        return accepted->others;
    if (coding != UVH_CODING_IDENTITY)
        return 0;
    /* Identity need not be listed, and is the last choice then. */
    return accepted->any ? UVH_WEIGHT_MIN : UVH_WEIGHT_MAX;
}

enum uvh_coding uvh_coding_choose(const struct uvh_accepted_codings *accepted, unsigned available,
                                  bool *acceptable)
{
    enum uvh_coding best = UVH_CODING_IDENTITY;
    int best_quality = 0;
    for (size_t i = 0; i < UVH_COUNT_OF(preference); i++) {
        enum uvh_coding coding = (enum uvh_coding)preference[i];
        if ((available & UVH_CODING_BIT(coding)) == 0)
            continue;
        int quality = quality_of(accepted, coding);
        if (quality > best_quality) {
            best = coding;
            best_quality = quality;
        }
    }
    int identity = quality_of(accepted, UVH_CODING_IDENTITY);
    if (identity > best_quality)
        best = UVH_CODING_IDENTITY;
    if (acceptable != NULL)
        *acceptable = best_quality > 0 || identity > 0;
    return best;
}

enum uvh_coding uvh_coding_of_field(uvhttp_slice_t accept_encoding, unsigned available,
                                    bool *acceptable)
{
    for (size_t i = 0; i < UVH_COUNT_OF(usual); i++) {
        if (accept_encoding.length != usual[i].value.length ||
            memcmp(accept_encoding.base, usual[i].value.base, accept_encoding.length) != 0)
            continue;
        if (acceptable != NULL)
            *acceptable = true;
        for (size_t k = 0; k < UVH_COUNT_OF(preference); k++) {
            if ((usual[i].accepted & available & UVH_CODING_BIT(preference[k])) != 0)
                return (enum uvh_coding)preference[k];
        }
        return UVH_CODING_IDENTITY;
    }
    struct uvh_accepted_codings accepted;
    uvh_accepted_codings_init(&accepted);
    uvh_accepted_codings_read(&accepted, accept_encoding);
    return uvh_coding_choose(&accepted, available, acceptable);
}
