/* topics_server: the server program of tests/wire/test_topics.py and test_redis.py: one endpoint,
 * /ws, whose text messages are commands on topics, and some routes. Usage: topics_server WORKERS.
 * Prints "listening on 127.0.0.1:PORT"; SIGTERM stops it. Exit codes: 0 regular stop, 1 could not
 * start, 4 memory leak. Environment variables set the options: UVHTTP_SLOW, UVHTTP_MAX_QUEUE,
 * UVHTTP_MAX_SUBSCRIPTIONS, UVHTTP_COMPRESS, UVHTTP_PRESENCE (changes are published to "presence"),
 * UVHTTP_LISTEN_PORT, and for Redis UVHTTP_REDIS_HOST, _PORT, _PATH, _USER, _PASSWORD, _QUEUE,
 * _PING. The program resolves names itself: the lookup of "slow.test" never ends, and "two.test"
 * has two addresses, the first of which has no listener.
 *
 * Commands: "sub P", "unsub P", "pub T TEXT", "many T N" (N messages "0", "1", ...), "count P",
 * "worker", "memory" (of the endpoint), "kick T" (publishes "bye", and then unsubscribes all
 * members of this worker), "bin T TEXT". All but pub, many and bin get a reply. */
#include <uvhttp.h>
#include <uvhttp/topics.h>
#include <uvhttp/websocket.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if UVHTTP_TESTS_REDIS
#include <uvhttp/redis.h>
static uvhttp_redis_t *redis; /* NULL without one */
#endif

enum { EXIT_NOT_STARTED = 1, EXIT_LEFT = 4, LINE_SIZE = 512, MOST_MEMBERS = 64 };

static atomic_long live; /* allocated blocks */
static uvhttp_topics_t *topics;
static atomic_long changes; /* of presence */

/* ---- the heap ---- */

static void *allocate(size_t size, void *context)
{
    void *memory = malloc(size);
    (void)context;
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

static void *reallocate(void *memory, size_t size, void *context)
{
    void *moved = realloc(memory, size);
    (void)context;
    atomic_fetch_add(&live, memory == NULL && moved != NULL);
    return moved;
}

static void release(void *memory, void *context)
{
    (void)context;
    free(memory);
    atomic_fetch_sub(&live, 1);
}

static const uvhttp_allocator_t allocator = {allocate, reallocate, release, NULL};

/* ---- names ---- */

/* otherwise libraries would use the system's function */
#define EXPORTED __attribute__((visibility("default")))

static struct addrinfo *make_address(uint32_t address, const char *service, struct addrinfo *next)
{
    struct addrinfo *made = calloc(1, sizeof *made + sizeof(struct sockaddr_in));
    if (made == NULL)
        return NULL;
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)(made + 1);
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)(service == NULL ? 0 : strtol(service, NULL, 10)));
    in->sin_addr.s_addr = address;
    *made = (struct addrinfo){.ai_family = AF_INET,
                              .ai_socktype = SOCK_STREAM,
                              .ai_addr = (struct sockaddr *)(void *)in,
                              .ai_addrlen = sizeof *in,
                              .ai_next = next};
    return made;
}

EXPORTED int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                         struct addrinfo **found)
{
    struct in_addr numeric;
    (void)hints;
    *found = NULL;
    while (strcmp(name, "slow.test") == 0)
        (void)pause();
    if (inet_pton(AF_INET, name, &numeric) == 1)
        *found = make_address(numeric.s_addr, service, NULL);
    if (strcmp(name, "localhost") == 0 || strcmp(name, "two.test") == 0)
        *found = make_address(htonl(INADDR_LOOPBACK), service, NULL);
    if (strcmp(name, "two.test") == 0)
        *found = make_address(htonl(INADDR_LOOPBACK + 1), service, *found);
    return *found == NULL ? EAI_NONAME : 0;
}

EXPORTED void freeaddrinfo(struct addrinfo *found)
{
    while (found != NULL) {
        struct addrinfo *next = found->ai_next;
        free(found);
        found = next;
    }
}

/* ---- commands ---- */

/* open connections of this worker, as many as fit */
static _Thread_local uvhttp_websocket_t *here[MOST_MEMBERS];

static void reply(uvhttp_websocket_t *ws, const char *command, int err)
{
    char text[LINE_SIZE];
    (void)snprintf(text, sizeof text, "%s %s", err == 0 ? "ok" : uvhttp_error_name(err), command);
    (void)uvhttp_websocket_send_text(ws, text);
}

static void publish_many(uvhttp_websocket_t *ws, const char *topic, long count)
{
    char text[LINE_SIZE];
    for (long i = 0; i < count; i++) {
        int size = snprintf(text, sizeof text, "%s %ld", topic, i);
        (void)uvhttp_websocket_publish(ws, topics, topic, UVHTTP_WEBSOCKET_TEXT, text,
                                       (size_t)size);
    }
}

static void kick(uvhttp_websocket_t *ws, const char *topic)
{
    (void)uvhttp_websocket_publish(ws, topics, topic, UVHTTP_WEBSOCKET_TEXT, "bye", 3);
    for (size_t i = 0; i < MOST_MEMBERS; i++) {
        if (here[i] != NULL)
            (void)uvhttp_websocket_unsubscribe(here[i], topics, topic);
    }
}

/* "verb topic rest" */
static void run_command(uvhttp_websocket_t *ws, const char *verb, const char *topic,
                        const char *rest)
{
    char text[LINE_SIZE];
    if (strcmp(verb, "sub") == 0) {
        reply(ws, topic, uvhttp_websocket_subscribe(ws, topics, topic));
    } else if (strcmp(verb, "unsub") == 0) {
        reply(ws, topic, uvhttp_websocket_unsubscribe(ws, topics, topic));
    } else if (strcmp(verb, "pub") == 0 || strcmp(verb, "bin") == 0) {
        int err = uvhttp_websocket_publish(
            ws, topics, topic, verb[0] == 'b' ? UVHTTP_WEBSOCKET_BINARY : UVHTTP_WEBSOCKET_TEXT,
            rest, strlen(rest));
        if (err != 0)
            reply(ws, topic, err);
    } else if (strcmp(verb, "many") == 0) {
        publish_many(ws, topic, strtol(rest, NULL, 10));
    } else if (strcmp(verb, "kick") == 0) {
        kick(ws, topic);
        reply(ws, topic, 0);
    } else if (strcmp(verb, "count") == 0) {
        (void)snprintf(text, sizeof text, "%zu %s", uvhttp_topics_count(topics, topic), topic);
        (void)uvhttp_websocket_send_text(ws, text);
    } else if (strcmp(verb, "memory") == 0) {
        uvhttp_websocket_stats_t stats;
        uvhttp_websocket_read_stats(uvhttp_websocket_endpoint_of(ws), &stats);
        (void)snprintf(text, sizeof text, "%llu memory", (unsigned long long)stats.memory);
        (void)uvhttp_websocket_send_text(ws, text);
    } else if (strcmp(verb, "worker") == 0) {
        (void)snprintf(text, sizeof text, "%zu worker", uvhttp_websocket_worker(ws));
        (void)uvhttp_websocket_send_text(ws, text);
    }
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    char line[LINE_SIZE];
    (void)kind, (void)arg;
    (void)snprintf(line, sizeof line, "%.*s", (int)size, data);
    char *topic = line + strcspn(line, " ");
    if (*topic != '\0')
        *topic++ = '\0';
    char *rest = topic + strcspn(topic, " ");
    if (*rest != '\0')
        *rest++ = '\0';
    run_command(ws, line, topic, rest);
}

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < MOST_MEMBERS; i++) {
        if (here[i] == NULL) {
            here[i] = ws;
            break;
        }
    }
}

/* Each closed member publishes this to the others. For the queue of a slow member this happens
 * within a flush. */
static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    char text[LINE_SIZE];
    (void)reason, (void)arg;
    int size = snprintf(text, sizeof text, "left %u", code);
    (void)uvhttp_websocket_publish(ws, topics, "left", UVHTTP_WEBSOCKET_TEXT, text, (size_t)size);
    for (size_t i = 0; i < MOST_MEMBERS; i++) {
        if (here[i] == ws)
            here[i] = NULL;
    }
}

/* ---- presence ---- */

static void on_presence(uvhttp_topics_t *of, const char *pattern, size_t count, void *arg)
{
    char text[LINE_SIZE];
    (void)arg;
    atomic_fetch_add(&changes, 1);
    int size = snprintf(text, sizeof text, "%s %zu", pattern, count);
    (void)uvhttp_topics_publish(of, "presence", UVHTTP_WEBSOCKET_TEXT, text, (size_t)size);
}

/* ---- requests ---- */

/* POST /publish?topic=T[&times=N] */
static int publish(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    const char *topic = uvhttp_request_query(req, "topic");
    const char *times = uvhttp_request_query(req, "times");
    long left = times == NULL ? 1 : strtol(times, NULL, 10);
    int err = topic == NULL ? UVHTTP_EINVAL : 0;
    (void)arg;
    for (; err == 0 && left > 0; left--)
        err = uvhttp_topics_publish(topics, topic, UVHTTP_WEBSOCKET_TEXT, body.base, body.length);
    return uvhttp_response_send_text(res, err == 0 ? 200 : 400,
                                     err == 0 ? "ok" : uvhttp_error_name(err));
}

/* GET /count?topic=T: the number of subscriptions, and of changes of presence. */
static int count(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[LINE_SIZE];
    const char *topic = uvhttp_request_query(req, "topic");
    (void)arg;
    (void)snprintf(text, sizeof text, "%zu %ld",
                   topic == NULL ? 0 : uvhttp_topics_count(topics, topic), atomic_load(&changes));
    return uvhttp_response_send_text(res, 200, text);
}

#if UVHTTP_TESTS_REDIS
/* GET /redis: its counters. */
static int redis_stats(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[LINE_SIZE];
    uvhttp_redis_stats_t stats = {0};
    (void)req, (void)arg;
    if (redis != NULL)
        uvhttp_redis_read_stats(redis, &stats);
    (void)snprintf(
        text, sizeof text,
        "{\"connected\":%d,\"published\":%llu,\"received\":%llu,\"dropped\":%llu,\"waiting\":%llu,"
        "\"attempts\":%llu}",
        stats.connected, (unsigned long long)stats.published, (unsigned long long)stats.received,
        (unsigned long long)stats.dropped, (unsigned long long)stats.waiting,
        (unsigned long long)stats.attempts);
    return uvhttp_response_send_json(res, 200, text);
}
#endif

/* ---- start and end ---- */

static size_t number(const char *variable)
{
    const char *text = getenv(variable);
    return text == NULL ? 0 : strtoul(text, NULL, 10);
}

static void log_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)level, (void)arg;
    (void)fprintf(stderr, "%s\n", message);
}

static int add_routes(uvhttp_server_t *server)
{
    uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = on_message, .close = on_close},
        .slow = (uvhttp_websocket_slow_t)number("UVHTTP_SLOW"),
        .max_queue_size = number("UVHTTP_MAX_QUEUE"),
        .compression = (uvhttp_websocket_compression_t)number("UVHTTP_COMPRESS"),
        .allocator = &allocator,
    };
    uvhttp_topics_options_t sizes = {.max_subscriptions = number("UVHTTP_MAX_SUBSCRIPTIONS"),
                                     .allocator = &allocator};
    int err = uvhttp_topics_new(&topics, server, &sizes, NULL);
    if (err == 0)
        err = uvhttp_websocket_route(server, "/ws", &options, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/publish", publish, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/count", count, NULL);
    if (err == 0 && number("UVHTTP_PRESENCE") != 0)
        uvhttp_topics_on_presence(topics, on_presence, NULL);
    return err;
}

static int carry(uvhttp_server_t *server)
{
#if UVHTTP_TESTS_REDIS
    uvhttp_redis_options_t options = {.host = getenv("UVHTTP_REDIS_HOST"),
                                      .port = (int)number("UVHTTP_REDIS_PORT"),
                                      .path = getenv("UVHTTP_REDIS_PATH"),
                                      .user = getenv("UVHTTP_REDIS_USER"),
                                      .password = getenv("UVHTTP_REDIS_PASSWORD"),
                                      .max_queue_size = number("UVHTTP_REDIS_QUEUE"),
                                      .ping_interval_ms =
                                          1000 * (uint32_t)number("UVHTTP_REDIS_PING"),
                                      .allocator = &allocator};
    int err = uvhttp_server_route(server, "GET", "/redis", redis_stats, NULL);
    if (err != 0)
        return err;
    if (options.port != 0 || options.path != NULL)
        return uvhttp_redis_new(&redis, topics, server, &options, NULL);
#endif
    (void)server;
    return 0;
}

static int serve(uvhttp_server_t *server)
{
    int err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", (int)number("UVHTTP_LISTEN_PORT"));
    if (err == 0) {
        (void)printf("listening on 127.0.0.1:%d\n", uvhttp_server_port(server));
        (void)fflush(stdout);
        err = uvhttp_server_run(server);
    }
    return err;
}

int main(int argc, char **argv)
{
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL || argc != 2)
        return EXIT_NOT_STARTED;
    config->workers = strtoul(argv[1], NULL, 10);
    config->max_connections = 4096;
    config->allocator = &allocator;
    config->log = log_line;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    int err = add_routes(server);
    if (err == 0)
        err = carry(server);
    if (err == 0)
        err = serve(server);
    if (err != 0)
        (void)fprintf(stderr, "topics_server: %s\n", uvhttp_error_name(err));
    uvhttp_server_free(server);
    if (atomic_load(&live) != 0)
        (void)fprintf(stderr, "topics_server: %ld blocks are left\n", atomic_load(&live));
    return atomic_load(&live) != 0 ? EXIT_LEFT : (err == 0 ? 0 : EXIT_NOT_STARTED);
}
