/* Numbers of the content codings that uvhttp produces. codec/fields/coding.h names and negotiates
 * them, platform/compress.h produces them. */
#ifndef UVH_BASE_CODING_H
#define UVH_BASE_CODING_H

enum uvh_coding {
    UVH_CODING_IDENTITY = 0, /* uncompressed */
    UVH_CODING_GZIP,         /* RFC 1952 */
    UVH_CODING_BROTLI,       /* RFC 7932 */
    UVH_CODING_ZSTD,         /* RFC 8878 */
    UVH_CODING_COUNT,
};

/* A set of content codings has one bit for each; identity has none, because it is always
 * allowed. */
#define UVH_CODING_BIT(coding) (1U << (coding))

/* All content codings. */
#define UVH_CODING_ALL                                                     \
    (UVH_CODING_BIT(UVH_CODING_GZIP) | UVH_CODING_BIT(UVH_CODING_BROTLI) | \
     UVH_CODING_BIT(UVH_CODING_ZSTD))

#endif
