/* B3-HttpParser [ITERATIONS] [--rounds N]: CPU time of the parser, in nanoseconds per operation.
 *
 * Seven scenarios: whole, split, wrapped and pipelined messages, a response, and a message byte by
 * byte. The last row parses that message whole, for comparison. An operation is a whole message:
 * head, framing, and the body as a slice, so no body is copied or read. Messages, random numbers
 * and buffers are made before the clock starts. The clock is read before and after a whole round.
 * Every operation adds to a checksum with a known result; another result ends the program with 1.
 * The program refuses to run unless it is a Release build. It links uvhttp_parser only. */
#include "b3_messages.h"
#include "measuring.h"

#include <stdnoreturn.h>

#include <uvhttp/parser.h>
#include <uvhttp/ring.h>

enum {
    DEFAULT_ITERATIONS = 100000,
    DEFAULT_ROUNDS = 9,
    SPLITS = 1024, /* variants of scenario 2 */
    CHUNKS_MAX = 17,
    RING_SIZE = 256,
    RING_OFFSET = 200
};

static const uvhttp_head_limits_t limits = {
    .max_size = HEAD_MAX, .max_target = 8192, .max_fields = 256};

static struct message whole_request, split_request, ring_request, upload_1k, upload_10k,
    upload_100k, batch, response, slow_request;
static uint8_t splits[SPLITS][CHUNKS_MAX];
static uvhttp_ring_t offset_ring; /* holds one byte, the one before RING_OFFSET */
static char ring_memory[RING_SIZE], gather[HEAD_MAX];
static const char *current = "set-up"; /* scenario, for error messages */

static noreturn void fail_parse(void)
{
    errx(1, "%s: parsed incorrectly (back end %s)", current, uvhttp_parser_backend());
}

/* What a message adds to the checksum. `last` is its last byte. */
static inline uint64_t checksum(size_t head_size, size_t fields, uint64_t body_size, char last)
{
    return head_size + fields + body_size + (unsigned char)last;
}

static uint64_t expected_checksum(const struct message *message)
{
    return checksum(message->head_size, message->fields, message->body_size,
                    message->bytes[message->size - 1]);
}

/* The end of a message, after its body. `head` is parsed. */
static inline uint64_t end_of_request(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    if (uvhttp_request_framing(head, framing) != UVHTTP_REASON_NONE ||
        framing->body > UVHTTP_BODY_LENGTH)
        fail_parse();
    return head->size + framing->content_length;
}

static inline uint64_t parse_whole(const struct message *message)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    uvhttp_head_init(&head, NULL, 0);
    if (uvhttp_request_head_parse(&head, message->bytes, message->size, &limits) !=
        UVHTTP_PARSE_DONE)
        fail_parse();
    uint64_t end = end_of_request(&head, &framing);
    if (end > message->size)
        fail_parse();
    return checksum(head.size, head.field_count, framing.content_length, message->bytes[end - 1]);
}

/* Parses a message in chunks of the given sizes, or byte by byte if `sizes` is NULL. */
static inline uint64_t parse_chunks(const struct message *message, const uint8_t *sizes)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    size_t have = 0;
    uint64_t end = 0;
    uvhttp_head_init(&head, NULL, 0);
    for (size_t i = 0; have < message->size; i++) {
        have += sizes != NULL ? sizes[i] : 1;
        if (end == 0) {
            uvhttp_parse_result_t result =
                uvhttp_request_head_parse(&head, message->bytes, have, &limits);
            if (result == UVHTTP_PARSE_BAD)
                fail_parse();
            if (result == UVHTTP_PARSE_DONE)
                end = end_of_request(&head, &framing);
        }
        if (end != 0 && have >= end)
            break;
    }
    if (end == 0 || have != end)
        fail_parse();
    return checksum(head.size, head.field_count, framing.content_length, message->bytes[end - 1]);
}

static uint64_t run_whole(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_whole(message);
    return sum;
}

static uint64_t run_chunks(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_chunks(message, splits[iterations % SPLITS]);
    return sum;
}

static uint64_t run_bytes(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_chunks(message, NULL);
    return sum;
}

/* The message is at RING_OFFSET and wraps around the end of the ring. One byte before it keeps the
 * ring non-empty until the message is written, because an empty ring restarts at offset 0. */
static uint64_t run_ring(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        uvhttp_ring_t ring = offset_ring;
        uvhttp_slice_t slices[2];
        uvhttp_head_t head;
        uvhttp_framing_t framing;
        if (uvhttp_ring_write(&ring, message->bytes, message->size) != message->size)
            fail_parse();
        uvhttp_ring_consume(&ring, 1);
        size_t count = uvhttp_ring_readable(&ring, slices);
        uvhttp_head_init(&head, NULL, 0);
        if (count != 2 || uvhttp_request_head_parse_slices(&head, slices, count, gather, &limits) !=
                              UVHTTP_PARSE_DONE)
            fail_parse();
        uint64_t end = end_of_request(&head, &framing);
        if (end != ring.length)
            fail_parse();
        sum += checksum(head.size, head.field_count, framing.content_length,
                        slices[1].base[slices[1].length - 1]);
        uvhttp_ring_consume(&ring, (size_t)end);
    }
    return sum;
}

static uint64_t run_batch(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        const char *at = message->bytes;
        for (size_t left = message->size; left > 0;) {
            uvhttp_head_t head;
            uvhttp_framing_t framing;
            uvhttp_head_init(&head, NULL, 0);
            if (uvhttp_request_head_parse(&head, at, left, &limits) != UVHTTP_PARSE_DONE)
                fail_parse();
            uint64_t end = end_of_request(&head, &framing);
            if (end > left)
                fail_parse();
            sum += checksum(head.size, head.field_count, framing.content_length, at[end - 1]);
            at += end;
            left -= (size_t)end;
        }
    }
    return sum;
}

static uint64_t run_response(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        uvhttp_head_t head;
        uvhttp_framing_t framing;
        uvhttp_head_init(&head, NULL, 0);
        if (uvhttp_response_head_parse(&head, message->bytes, message->size, &limits) !=
                UVHTTP_PARSE_DONE ||
            uvhttp_response_framing(&head, UVHTTP_METHOD_GET, &framing) != UVHTTP_REASON_NONE ||
            head.status != 200 || head.size + framing.content_length > message->size)
            fail_parse();
        sum += checksum(head.size, head.field_count, framing.content_length,
                        message->bytes[head.size + framing.content_length - 1]);
    }
    return sum;
}

struct scenario {
    const char *title;
    const struct message *message;
    uint64_t (*run)(const struct message *message, uint64_t iterations);
    size_t messages; /* per iteration */
};

static const struct scenario scenarios[] = {
    {"1 whole request, 189 bytes", &whole_request, run_whole, 1},
    {"2 in chunks of 10 to 30, 167 bytes", &split_request, run_chunks, 1},
    {"3 across the end of a ring, 79 bytes", &ring_request, run_ring, 1},
    {"4 body of 1 KB", &upload_1k, run_whole, 1},
    {"4 body of 10 KB", &upload_10k, run_whole, 1},
    {"4 body of 100 KB", &upload_100k, run_whole, 1},
    {"5 batch of ten, 45 bytes each", &batch, run_batch, BATCH},
    {"6 response, 172 bytes", &response, run_response, 1},
    {"7 byte by byte, 71 bytes", &slow_request, run_bytes, 1},
    {"  the same at once", &slow_request, run_whole, 1},
};
enum { SCENARIOS = sizeof(scenarios) / sizeof(*scenarios) };

static struct rounds scenario_rounds[SCENARIOS];
static uint64_t checksums[SCENARIOS]; /* per round */

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Splits `size` bytes into chunks of 10 to 30. */
static void random_split(uint8_t *sizes, size_t size, uint32_t *state)
{
    size_t left = size;
    while (left > 30) {
        size_t chunk = 10 + next_random(state) % 21;
        if (left - chunk < 10)
            chunk = left - 10;
        *sizes++ = (uint8_t)chunk;
        left -= chunk;
    }
    *sizes = (uint8_t)left;
}

static void set_up(void)
{
    whole_request =
        make_message("GET /api/users/12345?page=1&limit=10 HTTP/1.1\r\nHost: example.com\r\n"
                     "User-Agent: Mozilla/5.0\r\nAccept: application/json\r\n"
                     "Content-Length: 50\r\n\r\n",
                     50, 189);
    split_request = make_message(
        "POST /api/data HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100\r\n\r\n", 100, 167);
    ring_request =
        make_message("GET /wrap HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n", 20, 79);
    upload_1k = make_upload(1024);
    upload_10k = make_upload((size_t)10 * 1024);
    upload_100k = make_upload((size_t)100 * 1024);
    batch = make_batch();
    response = make_message(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n", 100,
        172);
    slow_request = make_message(
        "GET /stress HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n", 10, 71);

    uint32_t state = 20261121; /* the same splits in every run */
    for (size_t i = 0; i < SPLITS; i++)
        random_split(splits[i], split_request.size, &state);
    uvhttp_ring_init(&offset_ring, ring_memory, sizeof(ring_memory));
    uvhttp_ring_commit(&offset_ring, RING_OFFSET);
    uvhttp_ring_consume(&offset_ring, RING_OFFSET - 1);
}

static void run_scenario(size_t index, uint64_t iterations, bool counted)
{
    const struct scenario *scenario = &scenarios[index];
    uint64_t operations = iterations * scenario->messages;
    current = scenario->title;
    uint64_t start = now_ns();
    uint64_t sum = scenario->run(scenario->message, iterations);
    uint64_t elapsed = now_ns() - start;
    uint64_t expected = operations * expected_checksum(scenario->message);
    if (sum != expected)
        errx(1, "%s: the checksum is %" PRIu64 " instead of %" PRIu64, current, sum, expected);
    checksums[index] = sum;
    if (counted)
        add_round(&scenario_rounds[index], elapsed, operations);
}

/* Runs all scenarios in each round, so that a slow period affects all of them. The first round
 * warms up and does not count. */
static void measure(uint64_t iterations, uint64_t rounds)
{
    for (uint64_t round = 0; round <= rounds; round++) {
        for (size_t i = 0; i < SCENARIOS; i++)
            run_scenario(i, iterations, round > 0);
    }
}

static void print_scenarios(uint64_t iterations)
{
    printf("\n%-38s %10s %13s %13s %11s %9s %19s  %s\n", "scenario", "iterations", "bytes", "ops/s",
           "MB/s", "ns/op", "spread", "checksum");
    for (size_t i = 0; i < SCENARIOS; i++) {
        const struct scenario *scenario = &scenarios[i];
        double median, low, high;
        char spread[64];
        summarize(&scenario_rounds[i], &median, &low, &high);
        snprintf(spread, sizeof(spread), "%.1f-%.1f", low, high);
        printf("%-38s %10" PRIu64 " %13" PRIu64 " %13.0f %11.1f %9.1f %19s  %" PRIu64 "\n",
               scenario->title, iterations, iterations * scenario->message->size, 1e9 / median,
               1e3 * (double)scenario->message->size / (double)scenario->messages / median, median,
               spread, checksums[i]);
    }
}

static noreturn void fail_usage(const char *reason)
{
    fprintf(stderr,
            "B3-HttpParser: %s\n"
            "usage: B3-HttpParser [ITERATIONS] [--rounds N]\n"
            "  ITERATIONS   of each scenario in each round, 1 to 1000000000 (default: %d)\n"
            "  --rounds N   1 to %d; figures are medians of them (default: %d)\n",
            reason, DEFAULT_ITERATIONS, ROUNDS_MAX, DEFAULT_ROUNDS);
    exit(2);
}

int main(int argc, char **argv)
{
    uint64_t iterations = 0, rounds = DEFAULT_ROUNDS;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rounds") == 0) {
            if (++i == argc || !read_number(argv[i], 1, ROUNDS_MAX, &rounds))
                fail_usage("the number of rounds is out of range");
        } else if (argv[i][0] == '-') {
            fail_usage("unknown option");
        } else if (iterations != 0) {
            fail_usage("more than one number of iterations");
        } else if (!read_number(argv[i], 1, 1000000000, &iterations)) {
            fail_usage("the number of iterations is out of range");
        }
    }
    if (iterations == 0)
        iterations = DEFAULT_ITERATIONS;
    require_release();
    printf("B3-HttpParser: uvhttp_parser %s (%s), back end %s\n", BUILD, UVH_FLAGS,
           uvhttp_parser_backend());
    printf("%" PRIu64 " rounds; ns per operation: median and spread; an operation is a whole "
           "message: head, framing, body taken as a slice\n",
           rounds);
    set_up();
    measure(iterations, rounds);
    print_scenarios(iterations);
    return 0;
}
