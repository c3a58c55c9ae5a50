/* CRC-32 of ISO 3309, as in gzip and zip. */
#ifndef UVH_BASE_CRC32_H
#define UVH_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of bytes that follow others with the checksum `before` (0: there are none). */
uint32_t uvh_crc32(uint32_t before, const void *data, size_t length);

#endif
