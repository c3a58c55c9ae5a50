/* For tests of handlers, see test.h: sends one request to a server and returns its response,
 * without a port and a second thread.
 *
 *     const uvhttp::TestResponse response = uvhttp::testRequest(
 *         server, {.target = "/notes", .headers = {"Content-Type: text/plain"}, .body = "Milk"});
 *     if (response.status() != 201)
 *         std::printf("%s\n", response.error().text());
 *
 * Not included by uvhttp.hpp. */
#ifndef UVHTTP_TEST_HPP
#define UVHTTP_TEST_HPP

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <uvhttp/callback.hpp>
#include <uvhttp/server.hpp>
#include <uvhttp/test.h>

namespace uvhttp
{

/* A request; omitted fields take their defaults. */
struct TestRequest {
    std::string_view method = {};          /* omitted: GET, or POST with a body */
    std::string_view target = {};          /* omitted: "/" */
    std::vector<std::string> headers = {}; /* "Name: value" */
    std::optional<std::string_view> body = {};
    std::size_t stopAfter = 0; /* bytes of the body after which the client disconnects; 0: never */
    /* for the complete response, then UV_ETIMEDOUT; uvhttp::never: no limit */
    std::chrono::milliseconds timeout = std::chrono::minutes(2);
};

/* A response; after an error its status is 0. */
class TestResponse
{
public:
    TestResponse(Result error, uvhttp_test_response_t *response) noexcept
        : error_(error), response_(response)
    {
    }

    /* Why there is no response. */
    Result error() const noexcept { return error_; }
    int status() const noexcept { return response_ ? response_->status : 0; }
    /* Status line and fields, as sent. */
    std::string_view head() const noexcept { return response_ ? response_->head : ""; }
    std::string_view body() const noexcept
    {
        return response_ ? std::string_view(response_->body, response_->body_size)
                         : std::string_view();
    }
    /* The first field of that name. */
    std::optional<std::string_view> header(const Text &name) const noexcept
    {
        const char *value = uvhttp_test_response_header(response_.get(), name.c_str());
        return value != nullptr ? std::optional<std::string_view>(value) : std::nullopt;
    }

private:
    Result error_;
    std::unique_ptr<uvhttp_test_response_t, detail::Freer<uvhttp_test_response_free>> response_;
};

/* Sends a request and runs the server's loop until the response is complete. */
inline TestResponse testRequest(Server &server, const TestRequest &request = {})
{
    const detail::Option method(request.method), target(request.target);
    std::vector<const char *> headers;
    for (const std::string &header : request.headers)
        headers.push_back(header.c_str());
    uvhttp_test_request_t raw = {};
    raw.method = method.c_str();
    raw.target = target.c_str();
    raw.headers = detail::dataOf(headers);
    raw.header_count = headers.size();
    if (request.body) {
        raw.body = request.body->data() != nullptr ? request.body->data() : "";
        raw.body_size = request.body->size();
    }
    raw.stop_after = request.stopAfter;
    raw.timeout_ms = detail::toMs(request.timeout);
    uvhttp_test_response_t *response = nullptr;
    int error = server.error() ? server.error().code() : detail::errorOf(method, target);
    if (error == 0)
        error = uvhttp_test_request(server.native(), &raw, &response);
    return {error, response};
}

} // namespace uvhttp

#endif
