/* The content codings that uvhttp makes, by number: what codec/fields/coding.h names and chooses,
 * and platform/compress.h makes. */
#ifndef UVH_BASE_CODING_H
#define UVH_BASE_CODING_H

enum uvh_coding {
    UVH_CODING_IDENTITY = 0, /* as it is */
    UVH_CODING_GZIP,         /* RFC 1952 */
    UVH_CODING_BROTLI,       /* RFC 7932 */
    UVH_CODING_ZSTD,         /* RFC 8878 */
    UVH_CODING_COUNT,
};

/* Sets of codings have this bit for each; identity has none, since it is always there. */
#define UVH_CODING_BIT(coding) (1U << (coding))

/* All of them. */
#define UVH_CODING_ALL                                                     \
    (UVH_CODING_BIT(UVH_CODING_GZIP) | UVH_CODING_BIT(UVH_CODING_BROTLI) | \
     UVH_CODING_BIT(UVH_CODING_ZSTD))

#endif
