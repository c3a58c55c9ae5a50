/* B3-HttpParser [ITERATIONS] [--rounds N]: what the parser costs, alone, in nanoseconds.
 *
 * Seven scenarios of whole, cut, wrapped and pipelined messages, and messages that arrive byte by
 * byte; what the last of these is fed at once comes after it, to compare with. An operation is a
 * whole message: head, framing, and the body taken as a slice (so nothing moves or reads a body's
 * bytes). Messages, random numbers and buffers are made before the clock starts; it is read before
 * and after a whole round. Every operation adds to a checksum that is known beforehand, and a wrong
 * one ends the program with 1. Builds other than Release are refused. Links uvhttp_parser and
 * nothing else. */
#include "b3_messages.h"
#include "measuring.h"

#include <uvhttp/parser.h>
#include <uvhttp/ring.h>

enum {
    DEFAULT_ITERATIONS = 100000,
    DEFAULT_ROUNDS = 9,
    SPLITS = 1024, /* ways to cut the message of scenario 2 */
    MOST_PIECES = 17,
    RING_SIZE = 256,
    RING_OFFSET = 200
};

static const uvhttp_head_limits_t limits = {
    .max_size = MOST_HEAD, .max_target = 8192, .max_fields = 256};

static struct message whole_request, cut_request, ring_request, upload_1k, upload_10k, upload_100k,
    batch, response, slow_request;
static uint8_t splits[SPLITS][MOST_PIECES];
static uvhttp_ring_t offset_ring; /* holds one byte, the one before RING_OFFSET */
static char ring_memory[RING_SIZE], gather[MOST_HEAD];
static const char *current = "set-up"; /* what is being run, for messages */

static noreturn void fail_parse(void)
{
    fail("%s: not parsed as it should be (back end %s)", current, uvhttp_parser_backend());
}

/* What one message adds to the checksum, and what it should. `last` is the message's last byte. */
static inline uint64_t mark(size_t head_size, size_t fields, uint64_t body_size, char last)
{
    return head_size + fields + body_size + (unsigned char)last;
}

static uint64_t known_mark(const struct message *message)
{
    return mark(message->head_size, message->fields, message->body_size,
                message->bytes[message->size - 1]);
}

/* The end of a message whose head is parsed: behind its body. */
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
    return mark(head.size, head.field_count, framing.content_length, message->bytes[end - 1]);
}

/* Feeds chunks of the given sizes, or single bytes when `sizes` is NULL, as if each had just been
 * received after the others. */
static inline uint64_t parse_fed(const struct message *message, const uint8_t *sizes)
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
    return mark(head.size, head.field_count, framing.content_length, message->bytes[end - 1]);
}

static uint64_t run_whole(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_whole(message);
    return sum;
}

static uint64_t run_cut(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_fed(message, splits[iterations % SPLITS]);
    return sum;
}

static uint64_t run_bytes(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_fed(message, NULL);
    return sum;
}

/* The message stands at RING_OFFSET and goes across the end. The byte before it, as of a message
 * before, is dropped when this one is there: an empty ring would start at its memory's beginning
 * again. */
static uint64_t run_ring(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        uvhttp_ring_t ring = offset_ring;
        uvhttp_slice_t pieces[2];
        uvhttp_head_t head;
        uvhttp_framing_t framing;
        if (uvhttp_ring_write(&ring, message->bytes, message->size) != message->size)
            fail_parse();
        uvhttp_ring_consume(&ring, 1);
        size_t count = uvhttp_ring_readable(&ring, pieces);
        uvhttp_head_init(&head, NULL, 0);
        if (count != 2 || uvhttp_request_head_parse_slices(&head, pieces, count, gather, &limits) !=
                              UVHTTP_PARSE_DONE)
            fail_parse();
        uint64_t end = end_of_request(&head, &framing);
        if (end != ring.length)
            fail_parse();
        sum += mark(head.size, head.field_count, framing.content_length,
                    pieces[1].base[pieces[1].length - 1]);
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
            sum += mark(head.size, head.field_count, framing.content_length, at[end - 1]);
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
        sum += mark(head.size, head.field_count, framing.content_length,
                    message->bytes[head.size + framing.content_length - 1]);
    }
    return sum;
}

struct scenario {
    const char *title;
    const struct message *message;
    uint64_t (*run)(const struct message *message, uint64_t iterations);
    size_t messages; /* an iteration has */
};

static const struct scenario scenarios[] = {
    {"1 whole request, 189 bytes", &whole_request, run_whole, 1},
    {"2 in pieces of 10 to 30, 167 bytes", &cut_request, run_cut, 1},
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
static uint64_t checksums[SCENARIOS]; /* of a round */

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Cuts `size` bytes into pieces of 10 to 30. */
static void draw_split(uint8_t *sizes, size_t size, uint32_t *state)
{
    size_t left = size;
    while (left > 30) {
        size_t piece = 10 + next_random(state) % 21;
        if (left - piece < 10)
            piece = left - 10;
        *sizes++ = (uint8_t)piece;
        left -= piece;
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
    cut_request = make_message(
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

    uint32_t state = 20261121; /* the same cuts in every run */
    for (size_t i = 0; i < SPLITS; i++)
        draw_split(splits[i], cut_request.size, &state);
    uvhttp_ring_init(&offset_ring, ring_memory, sizeof(ring_memory));
    uvhttp_ring_commit(&offset_ring, RING_OFFSET);
    uvhttp_ring_consume(&offset_ring, RING_OFFSET - 1);
}

static void run_scenario(size_t which, uint64_t iterations, bool counts)
{
    const struct scenario *scenario = &scenarios[which];
    uint64_t operations = iterations * scenario->messages;
    current = scenario->title;
    uint64_t start = now_ns();
    uint64_t sum = scenario->run(scenario->message, iterations);
    uint64_t elapsed = now_ns() - start;
    uint64_t expected = operations * known_mark(scenario->message);
    if (sum != expected)
        fail("%s: the checksum is %" PRIu64 " instead of %" PRIu64, current, sum, expected);
    checksums[which] = sum;
    if (counts)
        add_round(&scenario_rounds[which], elapsed, operations);
}

/* Everything takes turns, so that a slow moment meets all; the first round warms up and does not
 * count. */
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

static noreturn void refuse_arguments(const char *fault)
{
    fprintf(stderr,
            "B3-HttpParser: %s\n"
            "usage: B3-HttpParser [ITERATIONS] [--rounds N]\n"
            "  ITERATIONS   of each scenario in each round, 1 to 1000000000 (default: %d)\n"
            "  --rounds N   1 to %d; figures are medians of them (default: %d)\n",
            fault, DEFAULT_ITERATIONS, MOST_ROUNDS, DEFAULT_ROUNDS);
    exit(2);
}

int main(int argc, char **argv)
{
    uint64_t iterations = 0, rounds = DEFAULT_ROUNDS;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rounds") == 0) {
            if (++i == argc || !read_number(argv[i], 1, MOST_ROUNDS, &rounds))
                refuse_arguments("the number of rounds is not one that is allowed");
        } else if (argv[i][0] == '-') {
            refuse_arguments("there is no such option");
        } else if (iterations != 0) {
            refuse_arguments("there is more than one number of iterations");
        } else if (!read_number(argv[i], 1, 1000000000, &iterations)) {
            refuse_arguments("the number of iterations is not one that is allowed");
        }
    }
    if (iterations == 0)
        iterations = DEFAULT_ITERATIONS;
    if (!is_release("B3-HttpParser"))
        return 1;
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
