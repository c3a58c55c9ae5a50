/* router_lookup FILE [--rounds N] [--milliseconds N]: CPU time of a route lookup, in nanoseconds.
 *
 * FILE has the routes, one pattern per line, an empty line, and the lookups: number of the route,
 * number of its parameters, path. tools/benchlib/routes.py writes it, and the programs to compare
 * with read the same file. All routes are built and all lookups are checked before the clock
 * starts. The clock is read before and after a whole round. Each lookup adds its route and the
 * length of its parameters to a checksum with a known result; another result ends the program with
 * 1. The program refuses to run unless it is a Release build. Prints JSON. */
#include "measuring.h"

#include "base/alloc.h"
#include "route/router.h"

enum { ROUTES_MAX = 100000, LOOKUPS_MAX = 100000, LINE_SIZE = 1024, STEP = 256 };

struct lookup {
    uvhttp_slice_t path;
    uintptr_t route;
    size_t params;
};

static struct uvhttp_router *router;
static struct lookup lookups[LOOKUPS_MAX];
static size_t route_count, lookup_count;
static const uvhttp_slice_t get = {"GET", 3}, no_host;

static int handler(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)response, (void)arg;
    return 0;
}

static void log_error(const char *message, void *arg)
{
    (void)arg;
    warnx("%s", message);
}

static bool add_route(const char *pattern)
{
    uvhttp_route_t route = {.method = "GET",
                            .pattern = pattern,
                            .handler = handler,
                            .arg = (void *)(uintptr_t)++route_count};
    return route_count <= ROUTES_MAX && uvhttp_router_add(router, &route) == 0;
}

static bool add_lookup(char *line)
{
    char *end;
    struct lookup *lookup = &lookups[lookup_count++];
    if (lookup_count == LOOKUPS_MAX)
        return false;
    lookup->route = strtoul(line, &end, 10) + 1;
    lookup->params = strtoul(end, &end, 10);
    if (*end++ != ' ')
        return false;
    size_t length = strlen(end);
    char *copy = calloc(length + 1 + UVH_REQUEST_PATH_SLACK, 1);
    if (copy == NULL)
        return false;
    memcpy(copy, end, length + 1);
    lookup->path = (uvhttp_slice_t){copy, length};
    return true;
}

static bool read_set(const char *name)
{
    char line[LINE_SIZE];
    bool routes = true, ok = true;
    FILE *file = fopen(name, "r");
    if (file == NULL)
        return false;
    while (ok && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0')
            routes = false;
        else
            ok = routes ? add_route(line) : add_lookup(line);
    }
    fclose(file);
    return ok && lookup_count > 0;
}

static inline uint64_t look_up(uvhttp_slice_t path, struct uvh_match *match)
{
    uvh_router_match(uvh_router_site(router, no_host), UVHTTP_METHOD_GET, get, path, match);
    uint64_t sum = (uintptr_t)match->route->arg;
    for (size_t i = 0; i < match->param_count; i++)
        sum += match->params[i].value.length;
    return sum;
}

/* Checks each lookup once. Returns the checksum. */
static uint64_t check(struct uvh_match *match)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < lookup_count; i++) {
        uvh_router_match(uvh_router_site(router, no_host), UVHTTP_METHOD_GET, get, lookups[i].path,
                         match);
        if (match->route == NULL || (uintptr_t)match->route->arg != lookups[i].route ||
            match->param_count != lookups[i].params)
            errx(1, "%s matches a wrong route", lookups[i].path.base);
        sum += look_up(lookups[i].path, match);
    }
    return sum;
}

static void run_round(struct rounds *rounds, uint64_t duration, uint64_t expected,
                      struct uvh_match *match)
{
    uint64_t sum = 0, times = 0, elapsed;
    uint64_t start = now_ns();
    do {
        for (int step = 0; step < STEP; step++, times++) {
            for (size_t i = 0; i < lookup_count; i++)
                sum += look_up(lookups[i].path, match);
        }
        elapsed = now_ns() - start;
    } while (elapsed < duration);
    add_round(rounds, elapsed, times * lookup_count);
    if (sum != times * expected)
        errx(1, "the results of rounds differ");
}

int main(int argc, char **argv)
{
    static struct rounds rounds;
    static struct uvh_match match;
    uint64_t round_count = 5, milliseconds = 10;
    if (!take_number("--rounds", ROUNDS_MAX, &argc, argv, &round_count) ||
        !take_number("--milliseconds", MILLISECONDS_MAX, &argc, argv, &milliseconds) || argc != 2) {
        fprintf(stderr, "usage: router_lookup FILE [--rounds N] [--milliseconds N]\n");
        return 2;
    }
    require_release();
    router = uvh_router_new(uvh_alloc_default(), log_error, NULL);
    if (router == NULL || !read_set(argv[1]) || uvh_router_freeze(router) != 0)
        errx(1, "%s is no valid set", argv[1]);
    uint64_t expected = check(&match);
    for (uint64_t i = 0; i < round_count; i++)
        run_round(&rounds, milliseconds * 1000000, expected, &match);
    printf("{\"version\": \"%s\", \"flags\": \"%s\", \"routes\": %zu, \"lookups\": %zu, "
           "\"checksum\": %" PRIu64 ", \"rounds\": ",
           BUILD, UVH_FLAGS, route_count, lookup_count, expected);
    write_rounds(stdout, &rounds);
    printf("}\n");
    for (size_t i = 0; i < lookup_count; i++)
        free((char *)(uintptr_t)lookups[i].path.base);
    uvh_router_free(router);
    return 0;
}
