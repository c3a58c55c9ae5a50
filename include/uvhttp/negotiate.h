/* Content negotiation (RFC 9110 section 12): selects the representation that the client prefers.
 *
 * Part of uvhttp_parser: no I/O, no allocation. Input is a field value and a list of offers; the
 * result is an index:
 *
 *     static const char *const offers[] = {"text/html", "application/json"};
 *     ptrdiff_t best = uvhttp_negotiate_type(accept, offers, 2);
 *     if (best < 0)
 *         best = 0; // or 406 (RFC 9110 section 12.4.1)
 *
 * The field value has base NULL if the request has no such field; join several field lines with
 * ", ". A malformed element is skipped; q=0 rejects. Of offers with equal quality the first one
 * is selected. A NULL offer is never accepted. Time is proportional to the field's length times
 * the number of offers. A response that depends on a field must name it in Vary. Any thread. */
#ifndef UVHTTP_NEGOTIATE_H
#define UVHTTP_NEGOTIATE_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accept (section 12.5.1): `offers` are media types, optionally with parameters
 * ("text/html;charset=utf-8"). The most specific matching range applies to an offer:
 * type/subtype before type with any subtype before any type; of these, the one with more
 * parameters, all of which the offer must have. Case-insensitive, also for parameter values. An
 * absent field, or one without a well-formed element, accepts everything. Returns the index, or
 * -1 if nothing is accepted. */
UVHTTP_EXPORT ptrdiff_t uvhttp_negotiate_type(uvhttp_slice_t accept, const char *const *offers,
                                              size_t count);

/* Accept-Encoding (section 12.5.3): `offers` are content codings, and "identity" for no coding:
 *
 *     static const char *const codings[] = {"br", "zstd", "gzip", "identity"};
 *
 * identity is accepted, with the lowest preference, unless "identity;q=0" or "*;q=0" rejects it;
 * x-gzip and x-compress are gzip and compress. An absent field accepts identity only: formally
 * it allows everything, but clients that do not send it usually cannot decode. The same for a
 * field without a well-formed element. Returns the index, or -1 if nothing is accepted: send it
 * without coding, or 406 or 415. */
UVHTTP_EXPORT ptrdiff_t uvhttp_negotiate_encoding(uvhttp_slice_t accept_encoding,
                                                  const char *const *offers, size_t count);

/* Accept-Language (section 12.5.4): `offers` are language tags. The nearest range applies to an
 * offer: the same tag; else the longest prefix of the tag ("en" matches "en-GB", RFC 4647
 * section 3.3.1); else the shortest range that the tag is a prefix of ("en-GB" accepts "en",
 * section 3.4, but "en-GB;q=0" does not reject it); else "*". An absent field, or one without a
 * well-formed element, accepts everything. Returns the index, or -1 if nothing is accepted: use
 * the server's default language. */
UVHTTP_EXPORT ptrdiff_t uvhttp_negotiate_language(uvhttp_slice_t accept_language,
                                                  const char *const *offers, size_t count);

/* The quality of one offer by the same rules, in thousandths: 0 (not accepted) to 1000; identity
 * that is accepted without being named has 1. For choices with additional criteria. */
UVHTTP_EXPORT int uvhttp_negotiate_type_quality(uvhttp_slice_t accept, const char *offer);
UVHTTP_EXPORT int uvhttp_negotiate_encoding_quality(uvhttp_slice_t accept_encoding,
                                                    const char *offer);
UVHTTP_EXPORT int uvhttp_negotiate_language_quality(uvhttp_slice_t accept_language,
                                                    const char *offer);

#ifdef __cplusplus
}
#endif

#endif
