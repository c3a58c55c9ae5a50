/* uvhttp for C++20: header only, over the C headers. Nothing is hidden: every class has native(),
 * and both interfaces may be used side by side.
 *
 *     #include <uvhttp.hpp>
 *
 *     int main()
 *     { uvhttp::Server server; server.get("/", [](uvhttp::Response res) { return res.sendText(200,
 *         "Hello, world\n"); }); server.listen("127.0.0.1", 8080); if (uvhttp::Result error =
 *         server.run()) { std::fprintf(stderr, "%s: %s\n", server.where(), error.text()); return 1;
 *         }
 *     }
 *
 * Where to read on: server.hpp (life of a server, configuration), router.hpp (routes, groups,
 * middleware), request.hpp, response.hpp, stream.hpp (upgrades), tls.hpp, uploads.hpp (bodies that
 * go to files), middleware.hpp (limits, authentication, CORS, compression, ...), modules.hpp
 * (files, logs, signed cookies), event_hub.hpp (one event for many browsers), websocket.hpp and
 * topics.hpp (messages both ways, and for all who have subscribed), result.hpp (errors), parser.hpp
 * (the parser alone). What a call does in detail stands in the C header of the same name;
 * docs/cpp.md is a tour.
 *
 * A program that uses nothing but parser.hpp links uvhttp_parser, any other one uvhttp. Exceptions
 * and RTTI may be switched off (-fno-exceptions, -fno-rtti), for all files of a program alike. */
#ifndef UVHTTP_HPP
#define UVHTTP_HPP

#include <uvhttp/event_hub.hpp>
#include <uvhttp/middleware.hpp>
#include <uvhttp/modules.hpp>
#include <uvhttp/parser.hpp>
#include <uvhttp/request.hpp>
#include <uvhttp/response.hpp>
#include <uvhttp/result.hpp>
#include <uvhttp/router.hpp>
#include <uvhttp/server.hpp>
#include <uvhttp/stream.hpp>
#include <uvhttp/tls.hpp>
#include <uvhttp/tls_client.hpp>
#include <uvhttp/topics.hpp>
#include <uvhttp/uploads.hpp>
#include <uvhttp/websocket.hpp>

#endif
