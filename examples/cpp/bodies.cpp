/* Bodies in pieces: a download that is made while it is sent, an upload that is summed while it
 * comes, and both at once. None of them is ever in memory as a whole, however slow the client is.
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

/* Down: the server asks for the next lines whenever there is room; nothing more ends the body. */
static Result count_up(Request req, Response res)
{
    const std::string to(req.query("to").value_or("10"));
    auto more_lines = [next = 1UL,
                       last = std::strtoul(to.c_str(), nullptr, 10)](std::span<char> room) mutable {
        std::ptrdiff_t length = 0;
        while (next <= last && room.size() >= 24) {
            const int size = std::snprintf(room.data(), 24, "%lu\n", next++);
            room = room.subspan(static_cast<std::size_t>(size));
            length += size;
        }
        return length;
    };
    return res.sendPulled(200, "text/plain", more_lines);
}

/* Up: pieces come as they arrive, and an empty one at the end. */
static Result sum_up(Request req, Response)
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

/* Both: what does not fit into the response stops the request. */
struct Piece {
    std::string text;
    bool last = false;

    Result send(Response res)
    {
        Result error = res.write(text);
        if (error == UVHTTP_EFULL) { /* called again when the client has read on */
            res.request().pauseBody();
            return 0;
        }
        text.clear();
        res.request().resumeBody();
        return error || !last ? error : res.end();
    }
};

static Result upper(Request req, Response res)
{
    auto *chunk = req.attach<Piece>(); /* lives as long as the exchange */
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
    server.get("/count", count_up);
    server.put("/sum", sum_up, {.stream = true});
    server.post("/upper", upper, {.stream = true});
    server.stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    if (!server.error()) {
        std::printf("listening on http://127.0.0.1:%d/\n", server.port());
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s: %s\n", server.where(), error.text());
        return 1;
    }
}
