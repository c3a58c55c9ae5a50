/* B3-HttpParser [ITERATIONS] [--rounds N]: CPU time of the parser, in nanoseconds per operation.
 *
 * Seven scenarios: whole, split, wrapped and pipelined messages, a response, and a message byte by
 * byte. The last row parses that message whole, for comparison. An operation is a whole message:
 * head, framing, and the body as a slice, so no body is copied or read. Messages, random numbers
 * and buffers are made before the clock starts. The clock is read before and after a whole round.
 * Every operation adds to a checksum with a known result; another result ends the program with 1.
 * The program refuses to run unless it is a Release build. It links uvhttp_parser only. */
#include "measuring.h"

#include <stdnoreturn.h>

#include <uvhttp/parser.h>
#include <uvhttp/ring.h>

enum {
    HEAD_MAX = 16384,
    SPLITS = 1024, /* variants of scenario 2 */
    CHUNKS_MAX = 17,
    RING_SIZE = 256,
    RING_OFFSET = 200
};

struct input {
    char *bytes;
    size_t size;
    uint64_t sum; /* expected checksum */
};

struct scenario {
    const char *title, *head;
    size_t size;   /* of the message: head and body */
    size_t copies; /* in one input */
    uint64_t (*run)(const struct input *input, uint64_t iterations);
};

static const uvhttp_head_limits_t limits = {
    .max_size = HEAD_MAX, .max_target = 8192, .max_fields = 256};

static uint8_t splits[SPLITS][CHUNKS_MAX];
static uvhttp_ring_t offset_ring; /* holds one byte, the one before RING_OFFSET */
static char ring_memory[RING_SIZE], gather[HEAD_MAX];
static const char *current; /* scenario, for error messages */

static noreturn void fail_parse(void)
{
    errx(1, "%s: parsed incorrectly (back end %s)", current, uvhttp_parser_backend());
}

/* The end of a message, after its body. `head` is parsed. */
static inline uint64_t end_of_message(const uvhttp_head_t *head, bool response)
{
    uvhttp_framing_t framing;
    uvhttp_reason_t reason = response ? uvhttp_response_framing(head, UVHTTP_METHOD_GET, &framing)
                                      : uvhttp_request_framing(head, &framing);
    if (reason != UVHTTP_REASON_NONE || framing.body > UVHTTP_BODY_LENGTH ||
        (response && head->status != 200))
        fail_parse();
    return head->size + framing.content_length;
}

/* What a message adds to the checksum. `last` is its last byte. */
static inline uint64_t checksum(uint64_t size, size_t fields, char last)
{
    return size + fields + (unsigned char)last;
}

static inline uint64_t run_whole(const struct input *input, uint64_t iterations, bool response)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        const char *at = input->bytes;
        for (size_t left = input->size; left > 0;) {
            uvhttp_head_t head;
            uvhttp_head_init(&head, NULL, 0);
            if ((response
                     ? uvhttp_response_head_parse(&head, at, left, &limits)
                     : uvhttp_request_head_parse(&head, at, left, &limits)) != UVHTTP_PARSE_DONE)
                fail_parse();
            uint64_t end = end_of_message(&head, response);
            if (end > left)
                fail_parse();
            sum += checksum(end, head.field_count, at[end - 1]);
            at += end;
            left -= (size_t)end;
        }
    }
    return sum;
}

static uint64_t run_requests(const struct input *input, uint64_t iterations)
{
    return run_whole(input, iterations, false);
}

static uint64_t run_response(const struct input *input, uint64_t iterations)
{
    return run_whole(input, iterations, true);
}

/* Parses a message in chunks of the sizes in `splits`, or byte by byte. */
static inline uint64_t run_split(const struct input *input, uint64_t iterations, bool bytes)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        const uint8_t *sizes = splits[iterations % SPLITS];
        uvhttp_head_t head;
        size_t have = 0;
        uint64_t end = 0;
        uvhttp_head_init(&head, NULL, 0);
        while (have < input->size && (end == 0 || have < end)) {
            have += bytes ? 1 : *sizes++;
            if (end > 0)
                continue;
            uvhttp_parse_result_t result =
                uvhttp_request_head_parse(&head, input->bytes, have, &limits);
            if (result == UVHTTP_PARSE_BAD)
                fail_parse();
            if (result == UVHTTP_PARSE_DONE)
                end = end_of_message(&head, false);
        }
        if (end == 0 || have != end)
            fail_parse();
        sum += checksum(end, head.field_count, input->bytes[end - 1]);
    }
    return sum;
}

static uint64_t run_chunks(const struct input *input, uint64_t iterations)
{
    return run_split(input, iterations, false);
}

static uint64_t run_bytes(const struct input *input, uint64_t iterations)
{
    return run_split(input, iterations, true);
}

/* The message is at RING_OFFSET and wraps around the end of the ring. One byte before it keeps the
 * ring non-empty until the message is written, because an empty ring restarts at offset 0. */
static uint64_t run_ring(const struct input *input, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        uvhttp_ring_t ring = offset_ring;
        uvhttp_slice_t slices[2];
        uvhttp_head_t head;
        if (uvhttp_ring_write(&ring, input->bytes, input->size) != input->size)
            fail_parse();
        uvhttp_ring_consume(&ring, 1);
        size_t count = uvhttp_ring_readable(&ring, slices);
        uvhttp_head_init(&head, NULL, 0);
        if (count != 2 || uvhttp_request_head_parse_slices(&head, slices, count, gather, &limits) !=
                              UVHTTP_PARSE_DONE)
            fail_parse();
        uint64_t end = end_of_message(&head, false);
        if (end != ring.length)
            fail_parse();
        sum += checksum(end, head.field_count, slices[1].base[slices[1].length - 1]);
        uvhttp_ring_consume(&ring, (size_t)end);
    }
    return sum;
}

#define UPLOAD "POST /upload HTTP/1.1\r\nHost: example.com\r\nContent-Length: "
#define STRESS "GET /stress HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"

static const struct scenario scenarios[] = {
    {"1 whole request, 189 bytes",
     "GET /api/users/12345?page=1&limit=10 HTTP/1.1\r\nHost: example.com\r\n"
     "User-Agent: Mozilla/5.0\r\nAccept: application/json\r\nContent-Length: 50\r\n\r\n",
     189, 1, run_requests},
    {"2 in chunks of 10 to 30, 167 bytes",
     "POST /api/data HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100\r\n\r\n", 167, 1,
     run_chunks},
    {"3 across the end of a ring, 79 bytes",
     "GET /wrap HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n", 79, 1, run_ring},
    {"4 body of 1 KB", UPLOAD "1024\r\n\r\n", 1090, 1, run_requests},
    {"4 body of 10 KB", UPLOAD "10240\r\n\r\n", 10307, 1, run_requests},
    {"4 body of 100 KB", UPLOAD "102400\r\n\r\n", 102468, 1, run_requests},
    {"5 batch of ten, 45 bytes each", "GET /api/item HTTP/1.1\r\nHost: example.com\r\n\r\n", 45, 10,
     run_requests},
    {"6 response, 172 bytes",
     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n", 172, 1,
     run_response},
    {"7 byte by byte, 71 bytes", STRESS, 71, 1, run_bytes},
    {"  the same at once", STRESS, 71, 1, run_requests},
};
enum { SCENARIOS = sizeof(scenarios) / sizeof(*scenarios) };

static struct input inputs[SCENARIOS];
static struct rounds rounds[SCENARIOS];

/* Makes the copies of a message: its head, followed by digits. */
static void make_input(const struct scenario *scenario, struct input *input)
{
    size_t head_size = strlen(scenario->head), fields = 0;
    input->size = scenario->copies * scenario->size;
    input->bytes = malloc(input->size);
    if (input->bytes == NULL)
        errx(1, "out of memory");
    for (size_t i = 0; i < input->size; i++) {
        size_t at = i % scenario->size;
        input->bytes[i] =
            at < head_size ? scenario->head[at] : (char)('0' + (at - head_size + 1) % 10);
        fields += input->bytes[i] == '\n';
    }
    fields -= 2 * scenario->copies; /* start lines and empty lines */
    input->sum =
        scenario->copies * checksum(scenario->size, 0, input->bytes[input->size - 1]) + fields;
}

/* Splits `left` bytes into chunks of 10 to 30. The random numbers are the same in every run. */
static void random_split(uint8_t *sizes, size_t left)
{
    static uint32_t state = 20261121; /* xorshift */
    for (; left > 30; left -= *sizes++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        size_t chunk = 10 + state % 21;
        *sizes = (uint8_t)(left - chunk < 10 ? left - 10 : chunk);
    }
    *sizes = (uint8_t)left;
}

static void set_up(void)
{
    for (size_t i = 0; i < SCENARIOS; i++)
        make_input(&scenarios[i], &inputs[i]);
    for (size_t i = 0; i < SPLITS; i++)
        random_split(splits[i], scenarios[1].size);
    uvhttp_ring_init(&offset_ring, ring_memory, sizeof(ring_memory));
    uvhttp_ring_commit(&offset_ring, RING_OFFSET);
    uvhttp_ring_consume(&offset_ring, RING_OFFSET - 1);
}

static void run_scenario(size_t index, uint64_t iterations, bool counted)
{
    const struct input *input = &inputs[index];
    current = scenarios[index].title;
    uint64_t start = now_ns();
    uint64_t sum = scenarios[index].run(input, iterations);
    uint64_t elapsed = now_ns() - start;
    if (sum != iterations * input->sum)
        errx(1, "%s: the checksum is %" PRIu64 " instead of %" PRIu64, current, sum,
             iterations * input->sum);
    if (counted)
        add_round(&rounds[index], elapsed, iterations * scenarios[index].copies);
}

static void print_scenario(size_t index, uint64_t iterations)
{
    double median = sort_rounds(&rounds[index]);
    const double *ns = rounds[index].ns;
    char spread[64];
    snprintf(spread, sizeof(spread), "%.1f-%.1f", ns[0], ns[rounds[index].count - 1]);
    printf("%-38s %10" PRIu64 " %13" PRIu64 " %13.0f %11.1f %9.1f %19s  %" PRIu64 "\n",
           scenarios[index].title, iterations, iterations * inputs[index].size, 1e9 / median,
           1e3 * (double)scenarios[index].size / median, median, spread,
           iterations * inputs[index].sum);
}

int main(int argc, char **argv)
{
    uint64_t iterations = 100000, count = 9;
    if (!take_number("--rounds", ROUNDS_MAX, &argc, argv, &count) || argc > 2 ||
        (argc == 2 && !read_number(argv[1], 1000000000, &iterations))) {
        fprintf(stderr,
                "usage: B3-HttpParser [ITERATIONS] [--rounds N]\n"
                "  ITERATIONS   of each scenario in each round, 1 to 1000000000 (default: 100000)\n"
                "  --rounds N   1 to %d; figures are medians of them (default: 9)\n",
                ROUNDS_MAX);
        return 2;
    }
    require_release();
    printf("B3-HttpParser: uvhttp_parser %s (%s), back end %s\n", BUILD, UVH_FLAGS,
           uvhttp_parser_backend());
    printf("%" PRIu64 " rounds; ns per operation: median and spread; an operation is a whole "
           "message: head, framing, body taken as a slice\n",
           count);
    set_up();
    /* Runs all scenarios in each round, so that a slow period affects all of them. The first round
     * warms up and does not count. */
    for (uint64_t round = 0; round <= count; round++)
        for (size_t i = 0; i < SCENARIOS; i++)
            run_scenario(i, iterations, round > 0);
    printf("\n%-38s %10s %13s %13s %11s %9s %19s  %s\n", "scenario", "iterations", "bytes", "ops/s",
           "MB/s", "ns/op", "spread", "checksum");
    for (size_t i = 0; i < SCENARIOS; i++)
        print_scenario(i, iterations);
    return 0;
}
