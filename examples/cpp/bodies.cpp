/* Streamed bodies. One handler generates a download while it is sent, one processes an upload while
 * it arrives, and one does both at once. No body is in memory as a whole, however slow the client
 * is.
 *
 *     curl "http://127.0.0.1:8080/count?to=5"
 *     curl -T FILE http://127.0.0.1:8080/sum
 *     curl --data-binary hello http://127.0.0.1:8080/upper
 *
 * Usage: bodies [PORT] */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

/* Download: the server pulls the next lines when the socket is writable. */
static Result count_lines(Request req, Response res)
{
    const std::string to(req.query("to").value_or("10"));
    auto pull_lines = [next = 1UL,
                       last = std::strtoul(to.c_str(), nullptr, 10)](std::span<char> out) mutable {
        std::size_t length = 0;
        while (next <= last && out.size() >= 24) {
            const int size = std::snprintf(out.data(), 24, "%lu\n", next++);
            out = out.subspan(static_cast<std::size_t>(size));
            length += static_cast<std::size_t>(size);
        }
        return uvhttp::Pulled(length, next > last ? uvhttp::end : Result());
    };
    return res.sendPulled(200, "text/plain", pull_lines);
}

/* Upload: the callback gets each chunk as it arrives, and an empty one at the end. */
static Result sum_bytes(Request req, Response)
{
    return req.onBody([bytes = std::uint64_t{0},
                       total = std::uint64_t{0}](Response res, std::string_view chunk) mutable {
        for (char byte : chunk)
            total += static_cast<unsigned char>(byte);
        bytes += chunk.size();
        if (!chunk.empty())
            return Result();
        return res.sendText(200,
                            std::to_string(bytes) + " bytes, sum " + std::to_string(total) + "\n");
    });
}

/* Both: a response that is not writable pauses the request body. */
struct Chunk {
    std::string text;
    bool last = false;

    Result send(Response res)
    {
        Result error = res.write(text);
        if (error == UVHTTP_EFULL) { /* called again by onDrain */
            res.request().pauseBody();
            return 0;
        }
        text.clear();
        res.request().resumeBody();
        return error || !last ? error : res.end();
    }
};

static Result convert(Request req, Response res)
{
    auto *chunk = req.attach<Chunk>(); /* lives as long as the exchange */
    if (chunk == nullptr)
        return UVHTTP_ENOMEM;
    Result error = res.begin(200, "text/plain");
    if (!error)
        error = res.onDrain([chunk](Response out) { return chunk->send(out); });
    if (error)
        return error;
    return req.onBody([chunk](Response out, std::string_view data) {
        chunk->last = data.empty();
        if (chunk->last && !chunk->text.empty())
            return Result();
        chunk->text = data;
        for (char &c : chunk->text)
            c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        return chunk->send(out);
    });
}

int main(int argc, char **argv)
{
    uvhttp::Server server;
    server.get("/count", count_lines);
    server.put("/sum", sum_bytes, {.stream = true});
    server.post("/upper", convert, {.stream = true});
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
