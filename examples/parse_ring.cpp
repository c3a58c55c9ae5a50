/* The parser alone, in C++20: requests are received into a small ring buffer and printed as they
 * become complete. A head may wrap around the end of the ring, and a body may be larger than the
 * ring.
 *
 *     c++ -std=c++20 parse_ring.cpp -o parse_ring $(pkg-config --cflags --libs uvhttp_parser)
 *     printf %b 'GET /a?x=1%2B1 HTTP/1.1\r\nHost: a\r\n' \
 *         'Cookie: id=7; theme=dark\r\n\r\nGET /b HTTP/1.1\r\nHost: b\r\n' \
 *         '\r\n' | ./parse_ring
 *     printf %b 'POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n' \
 *         '\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n' | ./parse_ring
 *     printf 'GET / HTTP/1.1\r\n\r\n' | ./parse_ring
 *
 * Usage: parse_ring [FILE [RING_SIZE]]. The exit code is 1 when a request is refused or
 * incomplete. */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

#include <uvhttp.hpp>

static void print(const uvhttp::HttpRequest &request)
{
    std::cout << request.method() << " " << request.path() << " from " << request.authority()
              << "\n";
    for (auto [name, value] : uvhttp::Form(request.query()))
        std::cout << "  query: " << name << " = " << value << "\n";
    for (auto [name, value] : request.fields())
        std::cout << "  field: " << name << " = " << value << "\n";
    for (auto [name, value] : uvhttp::Cookies(request.field("cookie").value_or("")))
        std::cout << "  cookie: " << name << " = " << value << "\n";
    if (request.bodySize() > 0)
        std::cout << "  body: " << request.body() << "\n";
    for (auto [name, value] : request.trailers())
        std::cout << "  trailer: " << name << " = " << value << "\n";
}

static int fail(const uvhttp::Error &error)
{
    std::cerr << "byte " << error.offset() << ": " << error.text() << " (status " << error.status()
              << ")\n";
    return 1;
}

int main(int argc, char **argv)
{
    const int fd = argc > 1 ? open(argv[1], O_RDONLY) : STDIN_FILENO;
    const unsigned long size = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 4096;
    if (fd < 0) {
        std::perror(argv[1]);
        return 1;
    }
    uvhttp::RingBuffer ring(size);
    /* Refuses a head that does not fit into the ring, which would never be complete. */
    uvhttp::HttpRequest request({.maxHead = static_cast<std::uint32_t>(size)});
    for (;;) {
        const auto space = ring.getWriteIovecs();
        const ssize_t received = readv(fd, space.data(), space.count());
        if (received <= 0)
            break;
        ring.commit(static_cast<std::size_t>(received));

        while (ring.size() > 0) {
            auto [error, consumed] = request.fromIOVec(ring.getReadIovecs());
            if (error)
                return fail(error);
            /* the bytes remain valid until the ring receives more */
            ring.consume(consumed);
            if (!request.isComplete())
                break;
            print(request);
            request.reset();
        }
    }
    if (auto error = request.finish())
        return fail(error);
    return 0;
}
