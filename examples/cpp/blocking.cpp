/* Handlers that block run on threads of their own, chosen by a route flag. The loop serves other
 * requests meanwhile. One handler computes for long, one writes a report as fast as its client
 * reads.
 *
 *     curl 'http://127.0.0.1:8080/primes?below=2000000'
 *     curl -s 'http://127.0.0.1:8080/report?lines=3'
 *
 * Usage: blocking [PORT] */
#include <algorithm>
#include <cstdlib>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

static unsigned long read_number(Request req, const char *name, unsigned long maximum)
{
    const std::string text(req.query(name).value_or("0"));
    return std::min(std::strtoul(text.c_str(), nullptr, 10), maximum);
}

static Result count_primes(Request req, Response res)
{
    const unsigned long below = read_number(req, "below", 50000000);
    unsigned long count = 0;
    for (unsigned long i = 2; i < below; i++) {
        unsigned long divisor = 2;
        while (divisor * divisor <= i && i % divisor != 0)
            divisor++;
        count += divisor * divisor > i;
        if (count % 4096 == 0 && !res.isOpen())
            return UVHTTP_EDISCONNECTED; /* the client has disconnected */
    }
    return res.sendText(200,
                        std::to_string(count) + " primes below " + std::to_string(below) + "\n");
}

static Result write_report(Request req, Response res)
{
    const unsigned long lines = read_number(req, "lines", 100000000);
    Result error = res.begin(200, "text/plain");
    for (unsigned long i = 1; !error && i <= lines; i++)
        error = res.write("line " + std::to_string(i) + "\n"); /* waits until the client reads */
    return error ? error : res.end();
}

int main(int argc, char **argv)
{
    uvhttp::Server server;
    server.get("/primes", count_primes, {.blocking = true, .handlerTimeout = 30});
    server.get("/report", write_report, {.blocking = true});
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
