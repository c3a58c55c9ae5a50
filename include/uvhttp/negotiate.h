/* Content negotiation (RFC 9110 section 12): which of several representations suits a client best.
 *
 * Part of uvhttp_parser: no I/O, no allocation. A field's value and a list of what the server has
 * go in, an index comes out:
 *
 *     static const char *const offers[] = {"text/html", "application/json"};
 *     ptrdiff_t best = uvhttp_negotiate_type(accept, offers, 2);
 *     if (best < 0) ... 406, or the first one all the same (RFC 9110 section 12.4.1)
 *
 * In all functions the field's value has base NULL when the request has no such field; several
 * lines of one field are to be joined by ", ". An element that is malformed is skipped, one with
 * q=0 refuses. Among offers that suit the client equally well, the one that stands first wins. An
 * offer that is NULL is never accepted. Time is proportional to the field's length times what is
 * offered. An answer that depends on a field says so in Vary. Any thread. */
#ifndef UVHTTP_NEGOTIATE_H
#define UVHTTP_NEGOTIATE_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accept (section 12.5.1): `offers` are media types, with parameters if need be
 * ("text/html;charset=utf-8"). The most specific range that holds an offer counts for it:
 * type/subtype before any subtype of a type before anything, and among those the one with more
 * parameters, all of which the offer must have. Case does not matter, in values of parameters
 * neither. A field that is absent, or has no element that is well-formed, accepts everything. The
 * index, or -1 when nothing is accepted. */
UVHTTP_EXPORT ptrdiff_t uvhttp_negotiate_type(uvhttp_slice_t accept, const char *const *offers,
                                              size_t count);

/* Accept-Encoding (section 12.5.3): `offers` are content codings, and "identity" for the
 * representation as it is:
 *
 *     static const char *const codings[] = {"br", "zstd", "gzip", "identity"};
 *
 * identity is accepted, as the last choice, unless "identity;q=0" or "*;q=0" refuses it; x-gzip and
 * x-compress are gzip and compress. A field that is absent accepts identity alone: it allows
 * everything by the letter, but those who do not send it mostly can undo nothing. So does one
 * without an element that is well-formed. The index, or -1 when nothing is accepted: send it
 * uncoded, or 406 or 415. */
UVHTTP_EXPORT ptrdiff_t uvhttp_negotiate_encoding(uvhttp_slice_t accept_encoding,
                                                  const char *const *offers, size_t count);

/* Accept-Language (section 12.5.4): `offers` are language tags. The range that is nearest to an
 * offer counts for it: the same tag, else the longest that the tag begins with ("en" takes "en-GB",
 * RFC 4647 section 3.3.1), else the shortest that begins with the tag ("en-GB" is content with
 * "en", section 3.4, but "en-GB;q=0" does not refuse it), else "*". A field that is absent, or has
 * no element that is well-formed, accepts everything. The index, or -1 when nothing is accepted:
 * answer in the server's own language. */
UVHTTP_EXPORT ptrdiff_t uvhttp_negotiate_language(uvhttp_slice_t accept_language,
                                                  const char *const *offers, size_t count);

/* How much one offer is wanted, by the same rules, in thousandths: 0 (not accepted) to 1000;
 * identity that is accepted without being named is 1. For choices that depend on more than the
 * client's wishes. */
UVHTTP_EXPORT int uvhttp_negotiate_type_quality(uvhttp_slice_t accept, const char *offer);
UVHTTP_EXPORT int uvhttp_negotiate_encoding_quality(uvhttp_slice_t accept_encoding,
                                                    const char *offer);
UVHTTP_EXPORT int uvhttp_negotiate_language_quality(uvhttp_slice_t accept_language,
                                                    const char *offer);

#ifdef __cplusplus
}
#endif

#endif
