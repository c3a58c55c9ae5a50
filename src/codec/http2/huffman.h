/* The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B). Called by the HPACK decoder and
 * encoder. */
#ifndef UVH_CODEC_HTTP2_HUFFMAN_H
#define UVH_CODEC_HTTP2_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the encoded text. */
size_t uvh_huffman_size(const char *text, size_t length);

/* Writes the encoded text, uvh_huffman_size bytes; returns its end. */
char *uvh_huffman_encode(char *out, const char *text, size_t length);

enum { UVH_HUFFMAN_BAD = -1, UVH_HUFFMAN_SPACE = -2 };

/* Decodes `length` bytes to at most `space`; bytes after the text, within `space`, are undefined.
 * Returns the length of the text, or
 *   UVH_HUFFMAN_BAD    the end-of-string symbol, or padding other than its first 0 to 7 bits
 *   UVH_HUFFMAN_SPACE  the text is longer than `space` */
ptrdiff_t uvh_huffman_decode(const char *in, size_t length, char *out, size_t space);

#endif
