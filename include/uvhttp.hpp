/* uvhttp for C++20: header-only, over the C headers. Every class has native(), so both interfaces
 * can be mixed.
 *
 *     #include <uvhttp.hpp>
 *
 *     int main()
 *     {
 *         uvhttp::Server server;
 *         server.get("/", [](uvhttp::Response res) {
 *             return res.sendText(200, "Hello, world\n");
 *         });
 *         server.listen("127.0.0.1", 8080);
 *         if (uvhttp::Result error = server.run()) {
 *             std::fprintf(stderr, "%s\n", server.details().text);
 *             return 1;
 *         }
 *     }
 *
 * Headers: server.hpp (server lifecycle, configuration), router.hpp (routes, groups, middleware),
 * request.hpp, response.hpp, stream.hpp (upgrades), tls.hpp, uploads.hpp (file uploads),
 * middleware.hpp (limits, authentication, CORS, compression, ...), modules.hpp (files, logs, signed
 * cookies, templates), event_hub.hpp (server-sent events), websocket.hpp, topics.hpp (publish and
 * subscribe), text.hpp (encoders, numbers, media types), file.hpp, secret.h, result.hpp (errors),
 * parser.hpp (the parser alone). The C header of the same name has the details; see docs/cpp.md.
 *
 * A program that uses only parser.hpp links uvhttp_parser, any other one uvhttp. Exceptions and
 * RTTI may be disabled (-fno-exceptions, -fno-rtti), but then for all files of a program. */
#ifndef UVHTTP_HPP
#define UVHTTP_HPP

/* Without the headers below, in which older compilers report many other errors. */
#if __cplusplus < 202002L
#error "uvhttp.hpp needs C++20 (-std=c++20)"
#else

#include <uvhttp/event_hub.hpp>
#include <uvhttp/file.hpp>
#include <uvhttp/middleware.hpp>
#include <uvhttp/modules.hpp>
#include <uvhttp/parser.hpp>
#include <uvhttp/request.hpp>
#include <uvhttp/response.hpp>
#include <uvhttp/result.hpp>
#include <uvhttp/router.hpp>
#include <uvhttp/secret.h>
#include <uvhttp/server.hpp>
#include <uvhttp/stream.hpp>
#include <uvhttp/text.hpp>
#include <uvhttp/tls.hpp>
#include <uvhttp/tls_client.hpp>
#include <uvhttp/topics.hpp>
#include <uvhttp/uploads.hpp>
#include <uvhttp/websocket.hpp>

#endif

#endif
