/* The load generator of `./dev bench overload`: requests at a constant mean rate, whatever the
 * server does. Their times are random (Poisson), and each takes a free connection; without one it
 * waits. A latency counts from the time at which its request was due.
 *
 *     open_load PORT PATH --rate R [--connections N] [--seconds S] [--warm-up S]
 *
 * Prints one line of JSON about the requests that were due after the warm-up: the number of
 * responses 200 (`served`) and 503 (`shed`), and of requests without one at the end (`late`). The
 * latencies are those of `served` and `late`, of the latter so far. `completed` are all responses
 * 200 after the warm-up. */
#include <math.h>

#include "load.h"

struct slot {
    int fd;
    uint64_t due; /* of its request; 0: none */
};

static struct {
    int port;
    const char *path;
    double rate, seconds, warm_up;
    size_t connections;
} options;

#define COUNTERS(X) X(due) X(completed) X(served) X(shed) X(late) X(errors)

static struct {
    COUNTERS(COUNTER)
} result;

static struct slot *slots;
static struct slot **idle; /* a stack */
static size_t idle_count;
static uint64_t counts_from, end_at;
static char request[1024];
static size_t request_size;
static int epoll;

static double next_random(void)
{
    static uint64_t state = 88172645463325252ull; /* xorshift */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)((state >> 11) + 1) / 9007199254740993.0;
}

static uint64_t next_gap(void)
{
    return (uint64_t)(-log(next_random()) / options.rate * 1e9);
}

static void connect_slot(struct slot *slot)
{
    slot->fd = connect_to(options.port);
    if (slot->fd < 0 || !add_events(epoll, slot->fd, EPOLLIN, slot))
        err(1, "cannot connect");
    fcntl(slot->fd, F_SETFL, O_NONBLOCK);
    idle[idle_count++] = slot;
}

static void send_request(uint64_t due)
{
    struct slot *slot = idle[--idle_count];
    slot->due = due;
    if (send(slot->fd, request, request_size, MSG_NOSIGNAL) != (ssize_t)request_size)
        result.errors++;
}

/* Responses have no body that could be split from its head: both come in one packet. */
static void read_response(struct slot *slot)
{
    char input[4096];
    ssize_t count = recv(slot->fd, input, sizeof(input), 0);
    if (count <= 0 && errno == EAGAIN)
        return;
    if (count < 13 || memcmp(input, "HTTP/1.1 ", 9) != 0)
        errx(1, "a response is malformed, or the connection was closed");
    bool served = memcmp(input + 9, "200", 3) == 0;
    uint64_t now = now_ns(), due = slot->due;
    idle[idle_count++] = slot;
    slot->due = 0;
    result.errors += !served && memcmp(input + 9, "503", 3) != 0;
    result.completed += served && now >= counts_from;
    if (due < counts_from)
        return;
    if (served)
        record_latency(now - due);
    *(served ? &result.served : &result.shed) += 1;
}

static void add_late(uint64_t due)
{
    if (due < counts_from)
        return;
    record_latency(end_at - due);
    result.late++;
}

/* Requests that are due while no connection is free wait in order. */
static void run(void)
{
    uint64_t now = now_ns(), next = now + next_gap();
    counts_from = now + (uint64_t)(options.warm_up * 1e9);
    end_at = counts_from + (uint64_t)(options.seconds * 1e9);
    while ((now = now_ns()) < end_at) {
        for (; next <= now && idle_count > 0; next += next_gap()) {
            send_request(next);
            result.due += next >= counts_from;
        }
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, 0); /* never sleeps: the times are exact */
        for (int i = 0; i < count; i++)
            read_response(events[i].data.ptr);
    }
    for (size_t i = 0; i < options.connections; i++)
        add_late(slots[i].due);
    for (; next < end_at; next += next_gap()) {
        add_late(next);
        result.due += next >= counts_from;
    }
}

static bool read_options(int argc, char **argv)
{
    options.rate = take_double("--rate", &argc, argv, 0);
    options.connections = (size_t)take_double("--connections", &argc, argv, 1000);
    options.seconds = take_double("--seconds", &argc, argv, 4);
    options.warm_up = take_double("--warm-up", &argc, argv, 1);
    if (argc != 3)
        return false;
    options.port = (int)strtol(argv[1], NULL, 10);
    options.path = argv[2];
    return options.rate > 0 && options.connections > 0;
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv))
        errx(2, "usage: open_load PORT PATH --rate R [--connections N] [--seconds S] "
                "[--warm-up S]");
    request_size = (size_t)snprintf(request, sizeof(request),
                                    "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", options.path);
    slots = calloc(options.connections, sizeof(*slots));
    idle = calloc(options.connections, sizeof(struct slot *));
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (slots == NULL || idle == NULL || epoll < 0)
        err(1, "cannot start");
    for (size_t i = 0; i < options.connections; i++)
        connect_slot(&slots[i]);
    run();
    printf("{");
    COUNTERS(PRINT_COUNTER)
    print_latency((uint64_t)(options.seconds * 1e9), result.served + result.late);
    return 0;
}
