/* A custom protocol after an HTTP upgrade: the server sends each line back in capitals.
 *
 *     curl -sS -i http://127.0.0.1:8080/shout
 *     printf %b 'GET /shout HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n' \
 *         'Upgrade: shout\r\n\r\nhello\n' | nc -q 1 127.0.0.1 8080
 *
 * The first command does not offer the protocol and gets 426. For messages in a browser there is
 * WebSocket.
 *
 * Usage: upgrade [PORT] */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result, uvhttp::Stream;

/* One object for each stream, destroyed with it. A protocol that needs only the data can use a
 * function. */
struct Shout {
    void data(Stream stream, std::string_view bytes)
    {
        if (bytes.empty()) { /* the client has ended its side */
            stream.end();
            return;
        }
        std::string capitals(bytes);
        for (char &c : capitals)
            c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        if (stream.write(capitals)) /* the client does not read */
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
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
