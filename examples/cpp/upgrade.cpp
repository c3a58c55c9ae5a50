/* Leaving HTTP: a protocol of your own behind an upgrade, here one that sends every line back in
 * capitals.
 *
 *     curl -sS -i http://127.0.0.1:8080/shout
 *     printf %b 'GET /shout HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n' \
 *         'Upgrade: shout\r\n\r\nhello\n' | nc -q 1 127.0.0.1 8080
 *
 * The first asks without offering the protocol and gets 426. For messages in a browser there is
 * WebSocket.
 *
 * Usage: upgrade [PORT] */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result, uvhttp::Stream;

/* One for each stream, destroyed when that is over. A function is enough for those who want nothing
 * but the data. */
struct Shout {
    void data(Stream stream, std::string_view bytes)
    {
        if (bytes.empty()) { /* the client has said all it had to say */
            stream.end();
            return;
        }
        std::string loud(bytes);
        for (char &c : loud)
            c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        if (stream.write(loud)) /* it reads nothing, and we keep nothing for it */
            stream.close();
    }
    void closed()
    {
        std::puts("one has left");
        std::fflush(stdout);
    }
};

int main(int argc, char **argv)
{
    uvhttp::Server server;
    server.get("/shout", [](Response res) { return res.upgrade("shout", Shout()); },
               {.upgrade = "shout"});
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
