/* Numbers as decimal digits. Called by the HTTP/1.1 encoder, for fields and for the access log. */
#ifndef UVH_CODEC_TEXT_NUMBER_H
#define UVH_CODEC_TEXT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { UVH_NUMBER_SIZE = 20 /* digits of the largest uint64_t */ };

/* Writes the digits without a NUL and returns their number. */
size_t uvh_number_write(char out[UVH_NUMBER_SIZE], uint64_t number);

#endif
