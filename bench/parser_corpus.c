/* parser_corpus [OPTION...] FILE...: measures uvhttp's parser, with each back end that the
 * processor supports, and another parser, over whole messages.
 *
 *     --rounds N           measurements of each (default 15)
 *     --milliseconds N     duration of each measurement (default 5)
 *     --peer NAME=FILE     another parser, in a shared library (bench/parser_peers.h)
 *
 * All run in one process, in turn within each round, and get the same bytes: a complete message in
 * one call. An operation of uvhttp is uvhttp_head_init, the head with its known fields, and the
 * framing. Before the measurement the result of each parser is compared with that of a simple
 * reference parser; a wrong result ends the program with 1. Prints JSON: nanoseconds per message,
 * for each round. Called by tools/benchlib/run_parser.py. */
#include "measuring.h"
#include "parser_peers.h"

#include <dlfcn.h>

#include <uvhttp/parser.h>

enum { PARSERS_MAX = 32, MESSAGES_MAX = 64, MESSAGE_MAX = 1 << 20, FIELDS_MAX = 128 };

static const uvhttp_head_limits_t limits = {
    .max_size = 65536, .max_target = 8192, .max_fields = FIELDS_MAX};

struct message {
    char name[96]; /* of the file, without directory and extension */
    char *bytes;
    size_t size;
    bool response;
    struct peer_result expected;
    struct rounds rounds[PARSERS_MAX];
    uint64_t iterations[PARSERS_MAX]; /* per round */
    uint64_t sum[PARSERS_MAX];        /* of one iteration */
};

struct parser {
    char name[96];
    const char *backend; /* of uvhttp; NULL for other parsers */
    peer_parse_fn parse;
    peer_run_fn run;
};

static struct message *messages[MESSAGES_MAX];
static struct parser parsers[PARSERS_MAX];
static size_t message_count, parser_count;

static uint64_t hash_text(uint64_t hash, const char *text, size_t length)
{
    for (size_t i = 0; i <= length; i++)
        hash = (hash ^ (i < length ? (unsigned char)text[i] : '\n')) * 0x100000001b3u;
    return hash;
}

static const uint64_t hash_start = 0xcbf29ce484222325u;

/* The first `stop` in a line that ends with CR, or its end. */
static const char *find_in_line(const char *at, char stop)
{
    while (*at != stop && *at != '\r')
        at++;
    return at;
}

/* The reference parser. The bytes end with NUL, which no message contains, and every line ends with
 * CR LF. */
static bool read_message(struct message *message)
{
    const char *at = message->bytes, *end = strstr(at, "\r\n\r\n");
    if (end == NULL || memchr(at, '\0', message->size) != NULL)
        return false;
    message->response = strncmp(at, "HTTP/1.1 ", 9) == 0;
    message->expected = (struct peer_result){.head_size = (uint64_t)(end + 4 - at)};
    const char *first = find_in_line(at, ' '), *second = find_in_line(first + 1, ' ');
    if (*first != ' ' || *second != ' ')
        return false;
    uint64_t hash = hash_start;
    if (message->response) {
        message->expected.status = strtoul(first, NULL, 10);
        const char *line_end = find_in_line(second, '\r');
        hash = hash_text(hash, second + 1, (size_t)(line_end - second - 1));
    } else {
        hash = hash_text(hash, at, (size_t)(first - at));
        hash = hash_text(hash, first + 1, (size_t)(second - first - 1));
    }
    for (at = strstr(at, "\r\n") + 2; at < end; at = strstr(at, "\r\n") + 2) {
        const char *colon = find_in_line(at, ':'), *value = colon + 1;
        while (*value == ' ')
            value++;
        hash = hash_text(hash, at, (size_t)(colon - at));
        hash = hash_text(hash, value, (size_t)(find_in_line(value, '\r') - value));
        message->expected.fields++;
    }
    message->expected.hash = hash;
    return message->expected.fields <= FIELDS_MAX;
}

static struct message *load(const char *path)
{
    struct message *message = calloc(1, sizeof(*message));
    FILE *file = fopen(path, "rb");
    if (file == NULL || message == NULL)
        return NULL;
    message->bytes = calloc(1, MESSAGE_MAX + 1);
    if (message->bytes == NULL)
        return NULL;
    message->size = fread(message->bytes, 1, MESSAGE_MAX, file);
    fclose(file);
    const char *name = basename(path);
    snprintf(message->name, sizeof(message->name), "%.*s", (int)strcspn(name, "."), name);
    return read_message(message) ? message : NULL;
}

/* `large`: with a table for more than 32 fields, as the server has in its arena. */
static inline bool parse(uvhttp_head_t *head, uvhttp_framing_t *framing, const char *data,
                         size_t length, bool response, bool large)
{
    static uvhttp_field_t table[FIELDS_MAX];
    uvhttp_head_init(head, large ? table : NULL, large ? FIELDS_MAX : 0);
    if (response)
        return uvhttp_response_head_parse(head, data, length, &limits) == UVHTTP_PARSE_DONE &&
               uvhttp_response_framing(head, UVHTTP_METHOD_GET, framing) == UVHTTP_REASON_NONE;
    return uvhttp_request_head_parse(head, data, length, &limits) == UVHTTP_PARSE_DONE &&
           uvhttp_request_framing(head, framing) == UVHTTP_REASON_NONE;
}

static bool needs_large_table(const char *data, size_t length, bool response)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    return !parse(&head, &framing, data, length, response, false);
}

static int own_parse(const char *data, size_t length, int response, struct peer_result *result)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    if (!parse(&head, &framing, data, length, response, needs_large_table(data, length, response)))
        return 0;
    /* The framing must match the message: the body is everything after the head. */
    if (framing.body > UVHTTP_BODY_LENGTH || head.size + framing.content_length != length)
        return 0;
    uint64_t hash = hash_start;
    if (response) {
        hash = hash_text(hash, head.base + head.reason_phrase_offset, head.reason_phrase_length);
    } else {
        hash = hash_text(hash, head.base + head.start, head.method_length);
        hash = hash_text(hash, head.base + head.target_offset, head.target_length);
    }
    for (size_t i = 0; i < head.field_count; i++) {
        const uvhttp_field_t *field = &head.fields[i];
        hash = hash_text(hash, head.base + field->name_offset, field->name_length);
        hash = hash_text(hash, head.base + field->value_offset, field->value_length);
    }
    *result = (struct peer_result){.head_size = head.size,
                                   .fields = head.field_count,
                                   .status = response ? head.status : 0,
                                   .hash = hash};
    return 1;
}

static inline uint64_t own_loop(const char *data, size_t length, bool response, bool large,
                                uint64_t iterations)
{
    uint64_t sum = 0;
    while (iterations-- > 0) {
        uvhttp_head_t head;
        uvhttp_framing_t framing;
        if (!parse(&head, &framing, data, length, response, large))
            return 0;
        sum += head.size + head.field_count + framing.content_length + framing.body;
    }
    return sum;
}

static uint64_t own_run(const char *data, size_t length, int response, uint64_t iterations)
{
    bool large = needs_large_table(data, length, response);
    return response ? own_loop(data, length, true, large, iterations)
                    : own_loop(data, length, false, large, iterations);
}

/* Adds every back end that the processor supports, in the order in which the library prefers them.
 */
static void add_own(void)
{
    static const char *const names[] = {"avx2", "avx512", "sse42", "neon", "swar"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!uvhttp_parser_use_backend(names[i]))
            continue;
        struct parser *parser = &parsers[parser_count++];
        *parser = (struct parser){.backend = names[i], .parse = own_parse, .run = own_run};
        snprintf(parser->name, sizeof(parser->name), "uvhttp %s", names[i]);
    }
}

/* `text` is NAME=FILE. */
static void add_peer(char *text)
{
    char *file = strchr(text, '=');
    if (file == NULL || parser_count == PARSERS_MAX)
        errx(2, "%s: not NAME=FILE, or too many parsers", text);
    *file++ = '\0';
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        errx(2, "%s", dlerror());
    struct parser *parser = &parsers[parser_count++];
    /* POSIX permits this conversion of an object pointer to a function pointer. */
    *(void **)&parser->parse = dlsym(library, "peer_parse");
    *(void **)&parser->run = dlsym(library, "peer_run");
    snprintf(parser->name, sizeof(parser->name), "%s", text);
    if (parser->parse == NULL || parser->run == NULL)
        errx(2, "%s: not a parser", file);
}

static void select_backend(const struct parser *parser)
{
    if (parser->backend != NULL)
        uvhttp_parser_use_backend(parser->backend);
}

static uint64_t run_parser(const struct parser *parser, const struct message *message,
                           uint64_t iterations)
{
    return parser->run(message->bytes, message->size, message->response, iterations);
}

/* Checks the result of a parser, and stores what one iteration adds to the sum. */
static void verify(size_t index, struct message *message)
{
    const struct parser *parser = &parsers[index];
    struct peer_result result = {0};
    select_backend(parser);
    if (parser->parse(message->bytes, message->size, message->response, &result) != 1)
        errx(1, "%s refuses %s", parser->name, message->name);
    const struct peer_result *expected = &message->expected;
    if (result.fields != expected->fields || result.status != expected->status ||
        result.hash != expected->hash ||
        (result.head_size != 0 && result.head_size != expected->head_size))
        errx(1,
             "wrong result from %s for %s: %" PRIu64 " fields, status %" PRIu64 ", head of %" PRIu64
             " bytes, hash %016" PRIx64 "; expected %" PRIu64 ", %" PRIu64 ", %" PRIu64
             ", %016" PRIx64,
             parser->name, message->name, result.fields, result.status, result.head_size,
             result.hash, expected->fields, expected->status, expected->head_size, expected->hash);
    message->sum[index] = run_parser(parser, message, 1);
    if (message->sum[index] == 0)
        errx(1, "%s parses nothing", parser->name);
}

/* Measures one parser with one message. Returns the nanoseconds. */
static uint64_t time_parser(size_t index, const struct message *message, uint64_t iterations)
{
    const struct parser *parser = &parsers[index];
    select_backend(parser);
    uint64_t start = now_ns();
    uint64_t sum = run_parser(parser, message, iterations);
    uint64_t elapsed = now_ns() - start;
    if (sum != iterations * message->sum[index])
        errx(1, "%s: repeated results differ", parser->name);
    return elapsed;
}

/* Determines the iterations for the target duration, which also warms up. */
static void calibrate(size_t index, struct message *message, uint64_t target)
{
    uint64_t iterations = 64, elapsed;
    while ((elapsed = time_parser(index, message, iterations)) < target / 4)
        iterations *= 2;
    iterations = (uint64_t)((double)iterations * (double)target / (double)elapsed);
    message->iterations[index] = iterations > 0 ? iterations : 1;
}

static void measure(uint64_t rounds, uint64_t target)
{
    for (size_t i = 0; i < message_count; i++)
        for (size_t index = 0; index < parser_count; index++)
            calibrate(index, messages[i], target);
    for (uint64_t round = 1; round <= rounds; round++) {
        fprintf(stderr, "round %" PRIu64 " of %" PRIu64 "\n", round, rounds);
        for (size_t i = 0; i < message_count; i++) {
            for (size_t index = 0; index < parser_count; index++) {
                uint64_t iterations = messages[i]->iterations[index];
                add_round(&messages[i]->rounds[index], time_parser(index, messages[i], iterations),
                          iterations);
            }
        }
    }
}

static void print_message(const struct message *message)
{
    printf("{\"name\": \"%s\", \"size\": %zu, \"head_size\": %" PRIu64 ", \"fields\": %" PRIu64
           ", \"parsers\": {",
           message->name, message->size, message->expected.head_size, message->expected.fields);
    for (size_t index = 0; index < parser_count; index++) {
        printf("%s\n    \"%s\": {\"rounds\": ", index > 0 ? "," : "", parsers[index].name);
        write_rounds(stdout, &message->rounds[index]);
        putchar('}');
    }
    printf("}}");
}

static void print_json(void)
{
    printf("{\"build\": \"%s\", \"flags\": \"%s\",\n \"messages\": [", BUILD, UVH_FLAGS);
    for (size_t i = 0; i < message_count; i++) {
        printf("%s", i > 0 ? ",\n  " : "\n  ");
        print_message(messages[i]);
    }
    printf("]}\n");
}

int main(int argc, char **argv)
{
    uint64_t rounds = 15, milliseconds = 5;
    char *peer;
    add_own();
    while ((peer = take_option("--peer", &argc, argv)) != NULL)
        add_peer(peer);
    if (!take_number("--rounds", ROUNDS_MAX, &argc, argv, &rounds) ||
        !take_number("--milliseconds", MILLISECONDS_MAX, &argc, argv, &milliseconds) || argc < 2 ||
        argc > 1 + MESSAGES_MAX || argv[1][0] == '-') {
        fputs("usage: parser_corpus [--rounds N] [--milliseconds N] [--peer NAME=FILE] FILE...\n",
              stderr);
        return 2;
    }
    require_release();
    for (int i = 1; i < argc; i++) {
        messages[message_count] = load(argv[i]);
        if (messages[message_count++] == NULL)
            errx(1, "%s: not a message, or it cannot be read", argv[i]);
    }
    for (size_t index = 0; index < parser_count; index++)
        for (size_t m = 0; m < message_count; m++)
            verify(index, messages[m]);
    measure(rounds, milliseconds * 1000000);
    print_json();
    return 0;
}
