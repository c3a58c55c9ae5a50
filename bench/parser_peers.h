/* The interface between parser_corpus and the parsers it is compared with, which come as shared
 * libraries (bench/peers/parser).
 *
 * A library has several parsers, numbered from 0. The loop over the iterations is the library's, so
 * that no call through a pointer is between the clock and a parser. Strings stay the library's. */
#ifndef UVH_BENCH_PARSER_PEERS_H
#define UVH_BENCH_PARSER_PEERS_H

#include <stddef.h>
#include <stdint.h>

/* What a parser made of a message; compared with what the message says before anything is timed. */
struct peer_answer {
    uint64_t head_size; /* 0: the parser does not tell */
    uint64_t fields;
    uint64_t status; /* responses */
    /* FNV-1a, 64 bits: method and target, or the reason phrase, then name and value of each field,
     * a line feed behind each of them. */
    uint64_t hash;
};

/* uint32_t peers_interface(void): PEERS_INTERFACE of this header. */
enum { PEERS_INTERFACE = 1 };
typedef uint32_t (*peers_interface_fn)(void);

/* const char *peer_name(size_t number), NULL behind the last one; const char *peer_version(size_t
 * number). */
typedef const char *(*peer_text_fn)(size_t number);

/* int peer_answer(...): 1 and `answer` filled, or 0 when the parser refuses the message or finds it
 * incomplete. */
typedef int (*peer_answer_fn)(size_t number, const char *data, size_t length, int response,
                              struct peer_answer *answer);

/* uint64_t peer_run(...): parses so many times; the sum of something that the result has, 0 after a
 * failure. */
typedef uint64_t (*peer_run_fn)(size_t number, const char *data, size_t length, int response,
                                uint64_t iterations);

#endif
