/* Content codings by name, and the one that suits a client best (RFC 9110 section 12.5.3).
 *
 * The same rules as uvhttp_negotiate_encoding, for a set of codings that is known by number: in one
 * walk over the field, and for what browsers usually send by one comparison. Called for files with
 * coded variants and by what compresses. */
#ifndef UVH_CODEC_FIELDS_CODING_H
#define UVH_CODEC_FIELDS_CODING_H

#include <uvhttp/types.h>

#include "base/coding.h"

/* As in Content-Encoding: "gzip", "br", "zstd"; "identity". */
const char *uvh_coding_name(enum uvh_coding coding);

/* What the name of a coded file ends with: ".gz", ".br", ".zst"; "" for identity. */
const char *uvh_coding_suffix(enum uvh_coding coding);

/* The coding of that name, whatever its case ("x-gzip" is gzip); -1 for one that is not known.
 * "identity" is known. */
int uvh_coding_find(uvhttp_slice_t name);

/* What a client takes, read from the lines of its Accept-Encoding in wire order. */
struct uvh_coding_wishes {
    int quality[UVH_CODING_COUNT]; /* thousandths; -1: not named */
    int others;                    /* that of "*"; -1: not named */
    bool any;                      /* there is an element that is well-formed */
};

void uvh_coding_wishes_init(struct uvh_coding_wishes *wishes);
void uvh_coding_wishes_read(struct uvh_coding_wishes *wishes, uvhttp_slice_t line);

/* One of `available` (UVH_CODING_BIT each) or UVH_CODING_IDENTITY. Where the client has no
 * preference: br before zstd before gzip before identity. Identity also when nothing that is
 * available is accepted, then with `*acceptable` false: send it uncoded, or 406 or 415.
 * `acceptable` may be NULL. */
enum uvh_coding uvh_coding_choose(const struct uvh_coding_wishes *wishes, unsigned available,
                                  bool *acceptable);

/* All three for a field as one line; base NULL when it is absent, which accepts identity alone. */
enum uvh_coding uvh_coding_of_field(uvhttp_slice_t accept_encoding, unsigned available,
                                    bool *acceptable);

#endif
