/* The interface of a parser that parser_corpus compares with, a shared library
 * (bench/peers/parser). The library contains the loop over the iterations, so that no indirect call
 * is measured. */
#ifndef UVH_BENCH_PARSER_PEERS_H
#define UVH_BENCH_PARSER_PEERS_H

#include <stddef.h>
#include <stdint.h>

/* The result of parsing a message. It is compared with the expected one before the measurement. */
struct peer_result {
    uint64_t head_size; /* 0: the parser does not report it */
    uint64_t fields;
    uint64_t status; /* responses */
    /* FNV-1a, 64 bits: method and target, or the reason phrase, then name and value of each field,
     * with a line feed after each of them. */
    uint64_t hash;
};

/* int peer_parse(...): returns 1 and fills `result`, or 0 if the parser refuses the message or
 * finds it incomplete. */
typedef int (*peer_parse_fn)(const char *data, size_t length, int response,
                             struct peer_result *result);

/* uint64_t peer_run(...): parses `iterations` times. Returns a sum of values of the results, or 0
 * after a failure. */
typedef uint64_t (*peer_run_fn)(const char *data, size_t length, int response, uint64_t iterations);

#endif
