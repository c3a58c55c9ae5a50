/* See accepted_coding.h. */
#include "modules/accepted_coding.h"

#include "codec/field.h"

enum uvh_coding uvh_accepted_coding(uvhttp_request_t *request, unsigned available, bool *acceptable)
{
    static const uvhttp_slice_t wanted = {"accept-encoding", 15};
    uvhttp_slice_t name, value, first = {NULL, 0};
    struct uvh_coding_wishes wishes;
    unsigned lines = 0;
    for (size_t i = 0; uvhttp_request_header_at(request, i, &name, &value), name.base != NULL; i++) {
        if (!uvh_field_name_is(name, wanted))
            continue;
        if (++lines == 1) {
            first = value;
            continue;
        }
        if (lines == 2) {
            uvh_coding_wishes_init(&wishes);
            uvh_coding_wishes_read(&wishes, first);
        }
        uvh_coding_wishes_read(&wishes, value);
    }
    if (lines < 2)
        return uvh_coding_of_field(first, available, acceptable);
    return uvh_coding_choose(&wishes, available, acceptable);
}
