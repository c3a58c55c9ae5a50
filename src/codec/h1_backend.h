/* The back ends of the head parser: one per instruction set, of which one is chosen when the program starts.
 *
 * Chosen is the quickest that the processor has, or the one that the environment variable UVHTTP_PARSER_BACKEND names, or what
 * uvhttp_parser_use_backend says. All give the same results. */
#ifndef UVH_CODEC_H1_BACKEND_H
#define UVH_CODEC_H1_BACKEND_H

#include <uvhttp/parser.h>

/* Parses [data, end). DONE, MORE or BAD as h1_parser.h says. */
typedef uvhttp_parse_result_t (*uvh_h1_parse_fn)(uvhttp_head_t *head, const char *data, const char *end,
                                                 const uvhttp_head_limits_t *limits);

struct uvh_h1_backend {
    const char *name;
    size_t slack; /* bytes in front of `end` that must be readable, at most UVH_H1_MOST_SLACK */
    uvh_h1_parse_fn request;
    uvh_h1_parse_fn response;
    uvh_h1_parse_fn trailers;
};

enum { UVH_H1_MOST_SLACK = 32 };

extern const struct uvh_h1_backend uvh_h1_backend_swar;
#if defined(__x86_64__)
extern const struct uvh_h1_backend uvh_h1_backend_sse42;
extern const struct uvh_h1_backend uvh_h1_backend_avx2;
extern const struct uvh_h1_backend uvh_h1_backend_avx512;
#endif

/* The chosen one. */
extern const struct uvh_h1_backend *uvh_h1_backend;

#endif
