/* Responds from an application thread. The handler keeps the response and the number of its worker.
 * The thread posts the result to that worker, and only the worker's thread uses the response. When
 * the client disconnects first, the abort callback clears the response on the same thread. Each
 * thread has a reference to the server, which does not end before it is released.
 *
 *     curl 'http://127.0.0.1:8080/sum?to=100000000'
 *
 * Usage: answer_from_thread [PORT] */
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

struct Job {
    /* False after the client has disconnected. Only the worker's thread uses it. */
    uvhttp::Later later;
    std::size_t worker;
    unsigned long long to, sum = 0;

    /* Runs on the worker's thread. */
    void operator()(std::size_t number) const
    {
        if (later)
            later->sendText(200,
                            std::to_string(sum) + " (worker " + std::to_string(number) + ")\n");
    }
};

static void compute(const uvhttp::ServerRef &server, std::unique_ptr<Job> job)
{
    for (unsigned long long i = 1; i <= job->to; i++)
        job->sum += i;
    /* memory may be available again later */
    while (server.postTo(job->worker, job) == UVHTTP_ENOMEM)
        std::this_thread::yield();
}

int main(int argc, char **argv)
{
    uvhttp::Config config;
    config->workers = uvhttp_core_count();
    uvhttp::Server server(std::move(config));
    server.get("/sum", [&server](Request req, Response res) {
        const std::string to(req.query("to").value_or(""));
        std::unique_ptr<Job> job(
            new Job{res.later(), req.worker(), std::strtoull(to.c_str(), nullptr, 10)});
        if (!job->later)
            return Result(UVHTTP_ENOMEM); /* the client gets 503 */
        std::thread(compute, server.ref(), std::move(job)).detach();
        return Result(); /* the response follows later */
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
