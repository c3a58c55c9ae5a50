/* The interface between parser_corpus and a parser it is compared with, which comes as a shared
 * library (bench/peers/parser). The loop over the iterations is the library's, so that no call
 * through a pointer is between the clock and a parser. */
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
     * a line feed after each of them. */
    uint64_t hash;
};

/* int peer_answer(...): 1 and `answer` filled, or 0 when the parser refuses the message or finds it
 * incomplete. */
typedef int (*peer_answer_fn)(const char *data, size_t length, int response,
                              struct peer_answer *answer);

/* uint64_t peer_run(...): parses so many times; the sum of something that the result has, 0 after a
 * failure. */
typedef uint64_t (*peer_run_fn)(const char *data, size_t length, int response, uint64_t iterations);

#endif
