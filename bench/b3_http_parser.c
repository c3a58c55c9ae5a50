/* B3-HttpParser [ITERATIONS] [--rounds N] [--json FILE]: what the parser costs, alone, in
 * nanoseconds.
 *
 * Seven scenarios of whole, cut, wrapped and pipelined messages, then what feeding byte by byte
 * costs beside feeding at once. An operation is a whole message: head, framing, and the body taken
 * as a slice (so nothing moves or reads a body's bytes). Messages, random numbers and buffers are
 * made before the clock starts; it is read before and after a whole round. Every operation adds to
 * a checksum that is known beforehand, and a wrong one ends the program with 1. Builds other than
 * Release are refused. Links uvhttp_parser and nothing else. */
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
    RING_OFFSET = 200,
    MOST_FIELDS = 256
};

static const uvhttp_head_limits_t limits = {
    .max_size = MOST_HEAD, .max_target = 8192, .max_fields = MOST_FIELDS};

static struct message whole_request, cut_request, ring_request, upload_1k, upload_10k, upload_100k,
    batch, response, slow_request;
static uint8_t splits[SPLITS][MOST_PIECES];
static uvhttp_ring_t offset_ring; /* holds one byte, the one before RING_OFFSET */
static char ring_memory[RING_SIZE], gather[MOST_HEAD];
static uvhttp_field_t field_table[MOST_FIELDS];
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

static inline uint64_t parse_whole(const struct message *message, uvhttp_field_t *fields,
                                   uint16_t capacity)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    uvhttp_head_init(&head, fields, capacity);
    if (uvhttp_request_head_parse(&head, message->bytes, message->size, &limits) !=
        UVHTTP_PARSE_DONE)
        fail_parse();
    uint64_t end = end_of_request(&head, &framing);
    if (end > message->size)
        fail_parse();
    return mark(head.size, head.field_count, framing.content_length, message->bytes[end - 1]);
}

/* Feeds pieces of the given sizes, or single bytes when `sizes` is NULL, as if each had just been
 * received behind the others. */
static inline uint64_t parse_fed(const struct message *message, const uint8_t *sizes,
                                 uvhttp_field_t *fields, uint16_t capacity)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    size_t have = 0;
    uint64_t end = 0;
    uvhttp_head_init(&head, fields, capacity);
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
        sum += parse_whole(message, NULL, 0);
    return sum;
}

static uint64_t run_cut(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_fed(message, splits[iterations % SPLITS], NULL, 0);
    return sum;
}

static uint64_t run_bytes(const struct message *message, uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0)
        sum += parse_fed(message, NULL, NULL, 0);
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
    const char *name, *title;
    const struct message *message;
    uint64_t (*run)(const struct message *message, uint64_t iterations);
    size_t messages; /* an iteration has */
};

static const struct scenario scenarios[] = {
    {"whole", "1 whole request, 189 bytes", &whole_request, run_whole, 1},
    {"pieces", "2 in pieces of 10 to 30, 167 bytes", &cut_request, run_cut, 1},
    {"ring", "3 across the end of a ring, 79 bytes", &ring_request, run_ring, 1},
    {"body-1k", "4 body of 1 KB", &upload_1k, run_whole, 1},
    {"body-10k", "4 body of 10 KB", &upload_10k, run_whole, 1},
    {"body-100k", "4 body of 100 KB", &upload_100k, run_whole, 1},
    {"batch", "5 batch of ten, 45 bytes each", &batch, run_batch, BATCH},
    {"response", "6 response, 172 bytes", &response, run_response, 1},
    {"bytes", "7 byte by byte, 71 bytes", &slow_request, run_bytes, 1},
};
enum { SCENARIOS = sizeof(scenarios) / sizeof(*scenarios) };

static struct rounds scenario_rounds[SCENARIOS];
static uint64_t checksums[SCENARIOS]; /* of a round */

/* A message at once and byte by byte. The heads of one kind grow, so that a cost above linear
 * shows. */
struct feeding {
    const char *name, *title;
    size_t size;
    bool one_line; /* one field takes the room, instead of fields of 64 bytes each */
};

static const struct feeding feedings[] = {
    {"message-71", "message of 71 bytes", 71, false},
    {"fields-1k", "head of 1 KB, fields of 64 bytes", 1024, false},
    {"fields-2k", "head of 2 KB, fields of 64 bytes", 2048, false},
    {"fields-4k", "head of 4 KB, fields of 64 bytes", 4096, false},
    {"fields-8k", "head of 8 KB, fields of 64 bytes", 8192, false},
    {"field-1k", "head of 1 KB, one long field", 1024, true},
    {"field-2k", "head of 2 KB, one long field", 2048, true},
    {"field-4k", "head of 4 KB, one long field", 4096, true},
    {"field-8k", "head of 8 KB, one long field", 8192, true},
};
enum { FEEDINGS = sizeof(feedings) / sizeof(*feedings) };

static struct message fed[FEEDINGS];
static struct rounds fed_at_once[FEEDINGS], fed_by_bytes[FEEDINGS];

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
    fed[0] = slow_request;
    for (size_t i = 1; i < FEEDINGS; i++)
        fed[i] = make_head(feedings[i].size, feedings[i].one_line);
}

static void check_sum(uint64_t sum, uint64_t expected)
{
    if (sum != expected)
        fail("%s: the checksum is %" PRIu64 " instead of %" PRIu64, current, sum, expected);
}

static void run_scenario(size_t which, uint64_t iterations, bool counts)
{
    const struct scenario *scenario = &scenarios[which];
    uint64_t operations = iterations * scenario->messages;
    current = scenario->title;
    uint64_t start = now_ns();
    uint64_t sum = scenario->run(scenario->message, iterations);
    uint64_t elapsed = now_ns() - start;
    check_sum(sum, operations * known_mark(scenario->message));
    checksums[which] = sum;
    if (counts)
        add_round(&scenario_rounds[which], elapsed, operations);
}

static void run_feeding(size_t which, uint64_t iterations, bool counts)
{
    const struct message *message = &fed[which];
    /* As many bytes as an eighth of scenario 1's, at once and again byte by byte. */
    uint64_t number = iterations * whole_request.size / 8 / message->size + 1;
    uvhttp_field_t *fields = message->fields > UVHTTP_HEAD_INLINE_FIELDS ? field_table : NULL;
    uint16_t capacity = fields != NULL ? MOST_FIELDS : 0;
    current = feedings[which].title;
    uint64_t sum = 0, start = now_ns();
    for (uint64_t i = 0; i < number; i++)
        sum += parse_whole(message, fields, capacity);
    uint64_t middle = now_ns();
    for (uint64_t i = 0; i < number; i++)
        sum += parse_fed(message, NULL, fields, capacity);
    uint64_t end = now_ns();
    check_sum(sum, 2 * number * known_mark(message));
    if (counts) {
        add_round(&fed_at_once[which], middle - start, number);
        add_round(&fed_by_bytes[which], end - middle, number);
    }
}

/* Everything takes turns, so that a slow moment meets all; the first round warms up and does not
 * count. */
static void measure(uint64_t iterations, uint64_t rounds)
{
    for (uint64_t round = 0; round <= rounds; round++) {
        for (size_t i = 0; i < SCENARIOS; i++)
            run_scenario(i, iterations, round > 0);
        for (size_t i = 0; i < FEEDINGS; i++)
            run_feeding(i, iterations, round > 0);
    }
}

struct figures {
    double median, low, high, operations_per_second, megabytes_per_second;
    uint64_t operations, bytes;
};

static struct figures figures_of(size_t which, uint64_t iterations)
{
    const struct scenario *scenario = &scenarios[which];
    struct figures figures = {.operations = iterations * scenario->messages,
                              .bytes = iterations * scenario->message->size};
    summarize(&scenario_rounds[which], &figures.median, &figures.low, &figures.high);
    figures.operations_per_second = 1e9 / figures.median;
    figures.megabytes_per_second =
        (double)figures.bytes / (double)figures.operations / figures.median * 1e3;
    return figures;
}

static void print_scenarios(uint64_t iterations)
{
    printf("\n%-38s %10s %13s %13s %11s %9s %19s  %s\n", "scenario", "iterations", "bytes", "ops/s",
           "MB/s", "ns/op", "spread", "checksum");
    for (size_t i = 0; i < SCENARIOS; i++) {
        struct figures f = figures_of(i, iterations);
        char spread[64];
        snprintf(spread, sizeof(spread), "%.1f-%.1f", f.low, f.high);
        printf("%-38s %10" PRIu64 " %13" PRIu64 " %13.0f %11.1f %9.1f %19s  %" PRIu64 "\n",
               scenarios[i].title, iterations, f.bytes, f.operations_per_second,
               f.megabytes_per_second, f.median, spread, checksums[i]);
    }
}

static void print_feedings(void)
{
    double first = 0; /* byte by byte, of the smallest head of the kind */
    printf("\n%-38s %12s %12s %8s %9s %10s\n", "byte by byte beside at once", "at once ns",
           "bytes ns", "ratio", "ns/byte", "x smallest");
    for (size_t i = 0; i < FEEDINGS; i++) {
        double whole, bytes, low, high;
        summarize(&fed_at_once[i], &whole, &low, &high);
        summarize(&fed_by_bytes[i], &bytes, &low, &high);
        printf("%-38s %12.1f %12.1f %8.2f %9.2f", feedings[i].title, whole, bytes, bytes / whole,
               bytes / (double)feedings[i].size);
        if (feedings[i].size == 1024)
            first = bytes;
        if (first > 0)
            printf(" %10.2f", bytes / first);
        putchar('\n');
    }
}

static void write_scenario(FILE *file, size_t which, uint64_t iterations)
{
    struct figures f = figures_of(which, iterations);
    fprintf(file,
            "    {\"name\": \"%s\", \"title\": \"%s\", \"iterations\": %" PRIu64
            ", \"operations\": %" PRIu64 ", \"bytes\": %" PRIu64
            ", \"ops_per_second\": %.0f, \"mb_per_second\": %.1f, \"ns\": %.3f, "
            "\"ns_low\": %.3f, \"ns_high\": %.3f, \"checksum\": %" PRIu64 ", \"rounds\": ",
            scenarios[which].name, scenarios[which].title, iterations, f.operations, f.bytes,
            f.operations_per_second, f.megabytes_per_second, f.median, f.low, f.high,
            checksums[which]);
    write_rounds(file, &scenario_rounds[which]);
    fputc('}', file);
}

static void write_feeding(FILE *file, size_t which)
{
    const struct feeding *feeding = &feedings[which];
    double whole, bytes, low, high;
    summarize(&fed_at_once[which], &whole, &low, &high);
    summarize(&fed_by_bytes[which], &bytes, &low, &high);
    fprintf(file,
            "    {\"name\": \"%s\", \"title\": \"%s\", \"size\": %zu, \"whole_ns\": %.3f, "
            "\"bytes_ns\": %.3f, "
            "\"ratio\": %.3f, \"whole_rounds\": ",
            feeding->name, feeding->title, feeding->size, whole, bytes, bytes / whole);
    write_rounds(file, &fed_at_once[which]);
    fputs(", \"bytes_rounds\": ", file);
    write_rounds(file, &fed_by_bytes[which]);
    fputc('}', file);
}

static void write_json(FILE *file, uint64_t iterations, uint64_t rounds)
{
    fprintf(file,
            "{\n  \"build\": \"%s\",\n  \"flags\": \"%s\",\n  \"backend\": \"%s\",\n  "
            "\"iterations\": %" PRIu64 ",\n  \"rounds\": %" PRIu64 ",\n  \"scenarios\": [\n",
            BUILD, UVH_FLAGS, uvhttp_parser_backend(), iterations, rounds);
    for (size_t i = 0; i < SCENARIOS; i++) {
        write_scenario(file, i, iterations);
        fputs(i + 1 < SCENARIOS ? ",\n" : "\n  ],\n  \"feeding\": [\n", file);
    }
    for (size_t i = 0; i < FEEDINGS; i++) {
        write_feeding(file, i);
        fputs(i + 1 < FEEDINGS ? ",\n" : "\n  ]\n}\n", file);
    }
}

static noreturn void refuse_arguments(const char *fault)
{
    fprintf(stderr,
            "B3-HttpParser: %s\n"
            "usage: B3-HttpParser [ITERATIONS] [--rounds N] [--json FILE]\n"
            "  ITERATIONS   of each scenario in each round, 1 to 1000000000 (default: %d)\n"
            "  --rounds N   1 to %d; figures are medians of them (default: %d)\n"
            "  --json FILE  also writes the figures to FILE\n",
            fault, DEFAULT_ITERATIONS, MOST_ROUNDS, DEFAULT_ROUNDS);
    exit(2);
}

int main(int argc, char **argv)
{
    uint64_t iterations = 0, rounds = DEFAULT_ROUNDS;
    const char *json = NULL;
    for (int i = 1; i < argc; i++) {
        bool is_rounds = strcmp(argv[i], "--rounds") == 0;
        if (is_rounds || strcmp(argv[i], "--json") == 0) {
            if (++i == argc)
                refuse_arguments("the last option has no value");
            if (!is_rounds)
                json = argv[i];
            else if (!read_number(argv[i], 1, MOST_ROUNDS, &rounds))
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
    FILE *file = json != NULL ? fopen(json, "w") : NULL;
    if (json != NULL && file == NULL)
        fail("%s cannot be written", json);

    printf("B3-HttpParser: uvhttp_parser %s (%s), back end %s\n", BUILD, UVH_FLAGS,
           uvhttp_parser_backend());
    printf("%" PRIu64 " rounds; ns per operation: median and spread; an operation is a whole "
           "message: head, framing, body "
           "taken as a slice\n",
           rounds);
    set_up();
    measure(iterations, rounds);
    print_scenarios(iterations);
    print_feedings();
    if (file != NULL) {
        write_json(file, iterations, rounds);
        if (fclose(file) != 0)
            fail("%s could not be written", json);
    }
    return 0;
}
