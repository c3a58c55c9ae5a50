/* Content codings by name, and their negotiation (RFC 9110 section 12.5.3).
 *
 * The same rules as uvhttp_negotiate_encoding, for a set of codings by number: one pass over the
 * field, or one comparison for the usual values of browsers. Called for files with compressed
 * variants and by the compression middleware. */
#ifndef UVH_CODEC_FIELDS_CODING_H
#define UVH_CODEC_FIELDS_CODING_H

#include <uvhttp/types.h>

#include "base/coding.h"

/* As in Content-Encoding: "gzip", "br", "zstd"; "identity". */
const char *uvh_coding_name(enum uvh_coding coding);

/* The suffix of a compressed file: ".gz", ".br", ".zst"; "" for identity. */
const char *uvh_coding_suffix(enum uvh_coding coding);

/* The coding of a name, case-insensitive ("x-gzip" is gzip); -1 if unknown. "identity" is known. */
int uvh_coding_find(uvhttp_slice_t name);

/* The codings a client accepts, from the lines of its Accept-Encoding in wire order. */
struct uvh_accepted_codings {
    int quality[UVH_CODING_COUNT]; /* thousandths; -1: not listed */
    int others;                    /* that of "*"; -1: not listed */
    bool any;                      /* there is a well-formed element */
};

void uvh_accepted_codings_init(struct uvh_accepted_codings *accepted);
void uvh_accepted_codings_read(struct uvh_accepted_codings *accepted, uvhttp_slice_t line);

/* Selects one of `available` (UVH_CODING_BIT each) or UVH_CODING_IDENTITY. Without a preference of
 * the client: br before zstd before gzip before identity. If no available coding is accepted,
 * returns identity with `*acceptable` false: send it uncompressed, or 406 or 415. `acceptable` may
 * be NULL. */
enum uvh_coding uvh_coding_choose(const struct uvh_accepted_codings *accepted, unsigned available,
                                  bool *acceptable);

/* All three for a field of one line; base NULL if it is missing, which accepts identity only. */
enum uvh_coding uvh_coding_of_field(uvhttp_slice_t accept_encoding, unsigned available,
                                    bool *acceptable);

#endif
