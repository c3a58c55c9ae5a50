/* Monitoring: counters and latencies for Prometheus at /metrics, the same for people as a live page
 * at /status, and an access log that SIGHUP reopens after logrotate has renamed it.
 *
 *     curl http://127.0.0.1:8080/
 *     curl http://127.0.0.1:8080/work
 *     curl http://127.0.0.1:8080/metrics
 *     curl 'http://127.0.0.1:8080/status?format=json'
 *
 * Usage: metrics [PORT [LOG]] (LOG: a file; default: standard output) */
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result;
using namespace std::chrono_literals;

/* Blocks the loop for 20 ms, which uvhttp_loop_delay_seconds shows. */
static Result work(Response res)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    while (std::chrono::steady_clock::now() < end)
        ;
    return res.sendText(200, "Done\n");
}

int main(int argc, char **argv)
{
    const uvhttp::AccessLogOptions options = {
        .path = argc > 2 ? argv[2] : "-", .format = UVHTTP_ACCESS_COMBINED, .flush = 100ms};
    uvhttp::AccessLog log(options, [](uvhttp_log_level_t, std::string_view message) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
    });
    uvhttp::Server server;
    server.onFinished(log);
    server.get("/", [](Response res) { return res.sendText(200, "Hello\n"); });
    server.get("/work", work);
    server.metrics("/metrics").status("/status");
    server.stopOnSignals().onSignal(SIGHUP, [&log] { log.reopen(); });
    server.listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    if (server.error()) {
        std::fprintf(stderr, "%s\n", server.details().text);
        return 1;
    }

    std::printf("listening on http://127.0.0.1:%d/\n", server.port());
    std::fflush(stdout);
    return server.run() ? 1 : 0;
}
