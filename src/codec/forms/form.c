/* Iterates over a form and decodes it (application/x-www-form-urlencoded, URL standard section
 * 5.1), into the caller's memory or in place. Pairs are split before they are decoded, so that an
 * encoded '&' or '=' remains data. Called by users of the parser library. */
#include <uvhttp/parser.h>

int uvhttp_form_next(uvhttp_slice_t *rest, char *scratch, uvhttp_slice_t *name,
                     uvhttp_slice_t *value)
{
    uvhttp_slice_t raw_name;
    uvhttp_slice_t raw_value;
    uvhttp_slice_t ignored;
    name = name != NULL ? name : &ignored;
    value = value != NULL ? value : &ignored;
    *name = *value = (uvhttp_slice_t){NULL, 0};
    if (!uvhttp_query_next(rest, &raw_name, &raw_value))
        return 0;
    if (scratch == NULL)
        return -1;
    /* In place the decoded name overwrites the encoded one and the value follows: writing never
     * passes the read position. */
    ptrdiff_t name_length = uvhttp_percent_decode(raw_name, scratch, true);
    if (name_length < 0)
        return -1;
    char *after = scratch + name_length;
    ptrdiff_t value_length =
        raw_value.length > 0 ? uvhttp_percent_decode(raw_value, after, true) : 0;
    if (value_length < 0)
        return -1;
    *name = (uvhttp_slice_t){scratch, (size_t)name_length};
    *value = (uvhttp_slice_t){after, (size_t)value_length};
    return 1;
}
