/* Tests of handlers, without a port and a second thread: uvhttp_test_request (testRequest in C++)
 * sends one request to the server and returns its response. Each line of the table is a test.
 *
 * Usage: testing */
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <uvhttp.hpp>
#include <uvhttp/test.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result, uvhttp::TestRequest;

/* ---- the application ---- */

static Result double_number(Request req, Response res)
{
    const long long number = std::stoll(std::string(req.param("number")));
    return res.sendJson(200, "{\"result\":" + std::to_string(2 * number) + "}");
}

static Result add_note(Request req, Response res)
{
    if (!uvhttp::isMediaType(req.header("Content-Type").value_or(""), "text/plain"))
        return res.sendStatus(415);
    if (Result error = res.setHeader("Location", "/notes/1"))
        return error;
    return res.sendStatus(201);
}

static void add_routes(uvhttp::Server &server)
{
    server.get("/double/:number(int)", double_number);
    server.post("/notes", add_note);
}

/* ---- its tests ---- */

struct Test {
    TestRequest request;
    int status;
    std::optional<std::string_view> body = {}; /* omitted: any */
    std::optional<std::string_view> location = {};
};

int main()
{
    const Test tests[] = {
        {{.target = "/double/21"}, 200, "{\"result\":42}"},
        {{.target = "/double/many"}, 404},
        {{.method = "DELETE", .target = "/double/21"}, 405},
        {{.target = "/notes",
          .headers = {"Content-Type: text/plain; charset=utf-8"},
          .body = "Milk"},
         201,
         {},
         "/notes/1"},
        {{.target = "/notes", .body = "{}"}, 415},
    };
    uvhttp::Server server;
    add_routes(server);
    std::size_t passed = 0;
    for (const Test &test : tests) {
        const uvhttp::TestResponse response = uvhttp::testRequest(server, test.request);
        const bool good = response.status() == test.status &&
                          response.header("Location") == test.location &&
                          (!test.body || response.body() == *test.body);
        if (!good)
            std::printf("%s: unexpected response: %s\n%s%s\n",
                        std::string(test.request.target).c_str(), response.error().text(),
                        std::string(response.head()).c_str(), std::string(response.body()).c_str());
        passed += good;
    }
    std::printf("%zu of %zu tests passed\n", passed, std::size(tests));
    return passed == std::size(tests) ? 0 : 1;
}
