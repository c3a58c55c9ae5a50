/* What shortens programs in C++: temporary middleware, lists in options, numbers, errors as
 * exceptions, error pages, main, files and texts. The C twins are tested in test_set_up.c and
 * test_error_form.c. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <uv.h>

#include <uvhttp.hpp>
#include <uvhttp/test.hpp>

/* Last, because cmocka defines macros named skip and fail. */
extern "C" {
#include <cmocka.h>
}

using namespace std::string_literals;
using uvhttp::HttpError;
using uvhttp::Request;
using uvhttp::Response;
using uvhttp::Result;
using uvhttp::Server;
using uvhttp::testRequest;
using uvhttp::TestResponse;

static std::string directory()
{
    std::string path = "/tmp/uvhttp-hpp-XXXXXX";
    assert_non_null(mkdtemp(path.data()));
    return path;
}

static void temporary_middleware_is_owned(void **)
{
    const std::string path = directory();
    std::ofstream(path + "/a.css") << "b";
    {
        Server server;
        server.onFinished(uvhttp::AccessLog({.path = path + "/log"}));
        server.use(uvhttp::RequestIds()).use(uvhttp::Cors({.origins = "https://app.example"}));
        server.group("/inside")
            .use(uvhttp::Auth({.realm = "inside", .users = {{"anna", "a"}, {"ben", "b"}}}))
            .get("", [](Request req, Response res) { return res.sendText(200, *req.user()); });
        server.group("/token").use(uvhttp::Auth({.token = "secret"})).get("", [](Response res) {
            return res.sendStatus(204);
        });
        server.files("/files/", uvhttp::Files({.root = path,
                                               .types = {"css=text/x-css"},
                                               .rules = {{"*.css", "X-Rule", "yes"},
                                                         {"*.css", "X-Other", "no"}}}));
        assert_false(bool(server.error()));
        const TestResponse user = testRequest(
            server, {.target = "/inside", .headers = {"Authorization: Basic YmVuOmI="}});
        assert_true(user.status() == 200 && user.body() == "ben");
        assert_true(user.header("X-Request-Id").has_value());
        assert_int_equal(
            testRequest(server, {.target = "/token", .headers = {"Authorization: Bearer secret"}})
                .status(),
            204);
        assert_int_equal(testRequest(server, {.target = "/token"}).status(), 401);
        const TestResponse file = testRequest(server, {.target = "/files/a.css"});
        assert_true(file.header("Content-Type") == "text/x-css");
        assert_true(file.header("X-Rule") == "yes" && file.header("X-Other") == "no");
    }
    assert_true(std::filesystem::file_size(path + "/log") > 0);
    std::filesystem::remove_all(path);
}

static void invalid_temporary_middleware_is_an_error_of_the_server(void **)
{
    Server server;
    server.use(uvhttp::Cors({.origins = "no origin"}));
    assert_true(server.error() == UVHTTP_ECONFIG);
    assert_string_equal(server.details().field, "origins");
    Server other;
    other.onFinished(uvhttp::AccessLog({.path = "/nowhere/at/all"}));
    assert_true(bool(other.error()));
    Server third;
    third.files("/", uvhttp::Files({.root = "/nowhere/at/all"}));
    assert_true(bool(third.error()));
}

static void objects_are_kept_after_an_error(void **)
{
    Server server;
    server.set("nothing", "1");
    const Result error = server.error();
    assert_true(bool(error));
    const std::string text = "kept";
    assert_true(*server.own(text) == text && *server.keep(text) == text);
    assert_true(server.error() == error);
}

static void empty_list_of_origins_admits_no_browser(void **)
{
    const auto ignore = [](uvhttp::WebSocket, std::string_view) {};
    const char *const listed[] = {"https://a.example"};
    Server server;
    server.webSocket("/any", ignore).webSocket("/none", ignore, {.origins = std::span(listed, 0)});
    server.webSocket("/listed", ignore, {.origins = listed});
    server.webSocket("/braces", ignore, {.origins = {}});
    const std::vector<const char *> empty, one = {listed[0]};
    server.webSocket("/no-item", ignore, {.origins = empty});
    server.webSocket("/one", ignore, {.origins = one});
    const auto status = [&](const char *target, const char *origin) {
        return testRequest(server,
                           {.target = target,
                            .headers = {"Connection: Upgrade", "Upgrade: websocket",
                                        "Sec-WebSocket-Version: 13",
                                        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", origin}})
            .status();
    };
    assert_int_equal(status("/any", "Origin: https://a.example"), 101);
    assert_int_equal(status("/none", "Origin: https://a.example"), 403);
    assert_int_equal(status("/braces", "Origin: https://a.example"), 403);
    assert_int_equal(status("/no-item", "Origin: https://a.example"), 403);
    assert_int_equal(status("/one", "Origin: https://a.example"), 101);
    assert_int_equal(status("/none", "X-No-Origin: 1"), 101);
    assert_int_equal(status("/listed", "Origin: https://a.example"), 101);
    assert_int_equal(status("/listed", "Origin: https://b.example"), 403);
}

static void lists_are_copied_from_any_sequence(void **)
{
    const std::vector<const char *> vector = {"a", "b"};
    const char *array[] = {"a", "b", "c"};
    const uvhttp::List<const char *> none, inplace = {"a"}, of_vector = vector, of_array = array,
                                           of_span = std::span(array, 2), copy = of_array;
    assert_true(none.size() == 0 && none.data() == nullptr);
    assert_true(uvhttp::List<const char *>(std::span(array, 0)).data() == nullptr);
    assert_true(inplace.size() == 1 && of_vector.size() == 2 && of_span.size() == 2);
    assert_true(copy.size() == 3 && copy.data() != of_array.data());
    assert_string_equal(copy.data()[2], "c");
    assert_null(copy.data()[3]); /* ends with an empty one */
}

static void numbers_are_typed_with_ranges(void **)
{
    Server server;
    server.post("/:id", [](Request req, Response res) {
        const auto text = [](auto number) { return number ? std::to_string(*number) : "none"s; };
        return res.sendText(200, text(req.param<int>("id")) + " " +
                                     text(req.query<unsigned>("n", {.max = 9, .otherwise = 5})) +
                                     " " + text(req.form<std::int64_t>("f", {.min = -1})));
    });
    const auto body = [&server](std::string_view target, std::string_view form) {
        const TestResponse response =
            testRequest(server, {.target = target,
                                 .headers = {"Content-Type: application/x-www-form-urlencoded"},
                                 .body = form});
        return std::string(response.body());
    };
    assert_true(body("/7", "") == "7 5 none");
    assert_true(body("/-8?n=9", "f=-1") == "-8 9 -1");
    assert_true(body("/2147483648?n=10", "f=-2") == "none none none");
    assert_true(body("/x?n=", "f=9223372036854775807") == "none none 9223372036854775807");
    assert_true(uvhttp::parseNumber<int>("12", {.min = 1, .max = 12}) == 12);
    assert_false(uvhttp::parseNumber<int>("13", {.min = 1, .max = 12}).has_value());
    assert_false(uvhttp::parseNumber<std::uint8_t>("256").has_value());
    assert_false(uvhttp::parseNumber<int>(std::string_view("1\0", 2)).has_value());
    assert_false(uvhttp::parseNumber<int>(nullptr).has_value());
}

static void http_error_is_sent(void **)
{
    Server server;
    server.get("/a", [](Response) -> Result { throw HttpError(422, "title: is \"long\""); });
    server.get("/b", [](Response res) {
        res.setHeader("X-Kept", "yes");
        throw HttpError(404);
    });
    server.get("/c", [](Response res) {
        res.sendText(200, "sent");
        throw HttpError(404);
    });
    server.group("/d")
        .use([](Response) -> Result { throw HttpError(403, "no"); })
        .get("", [](Response res) { return res.sendText(200, "not reached"); });
    server.get("/e", [](Response res) { return res.sendError(409, "taken"); });
    const auto is = [&server](std::string_view target, int status, std::string_view body) {
        const TestResponse response = testRequest(server, {.target = target});
        return response.status() == status && response.body() == body;
    };
    assert_true(is("/a", 422, "422 Unprocessable Content\ntitle: is \"long\"\n"));
    assert_true(is("/b", 404, "404 Not Found\nNot Found\n"));
    assert_true(is("/c", 200, "sent"));
    assert_true(is("/d", 403, "403 Forbidden\nno\n"));
    assert_true(is("/e", 409, "409 Conflict\ntaken\n"));
}

static void http_error_that_cannot_be_sent_is_logged(void **)
{
    std::string log;
    Server server(std::move(uvhttp::Config().onLog(
        [&log](uvhttp_log_level_t, std::string_view line) { log.append(line) += '\n'; })));
    server.get("/status", [](Response) { throw HttpError(200, "all is well"); });
    server.get("/begun", [](Response res) {
        if (Result error = res.begin(200, "text/plain"))
            return error;
        throw HttpError(409, "too late");
    });
    server.get("/empty", [](Response res) { return res.sendError(400, ""); });
    assert_int_equal(testRequest(server, {.target = "/status"}).status(), 500);
    assert_true(log == "/status failed: HttpError 200 cannot be sent: all is well "
                       "(UVHTTP_EINVAL)\n");
    log.clear();
    assert_true(testRequest(server, {.target = "/begun"}).error() == UVHTTP_EDISCONNECTED);
    assert_true(log.find("/begun failed: HttpError 409 cannot be sent: too late (") == 0);
    assert_true(testRequest(server, {.target = "/empty"}).body() == "400 Bad Request\n");
    server = Server();
    server.onError(uvhttp::errorAsJson).get("/", [](Response res) {
        return res.sendError(400, "");
    });
    assert_true(testRequest(server).body() == "{\"error\":\"Bad Request\"}\n");
}

static void test_client_has_a_time_limit(void **)
{
    Server server;
    server.get("/", [](Response) { return Result(); });
    const TestResponse response = testRequest(server, {.timeout = std::chrono::milliseconds(1)});
    assert_true(response.error() == UV_ETIMEDOUT && response.status() == 0);
}

static void errors_have_the_form_of_the_application(void **)
{
    Server json, page;
    json.onError(uvhttp::errorAsJson).get("/", [](Response) { throw HttpError(409, "\"taken\""); });
    const TestResponse taken = testRequest(json);
    assert_true(taken.status() == 409 && taken.body() == "{\"error\":\"\\\"taken\\\"\"}\n");
    assert_true(taken.header("Content-Type") == "application/json");
    int calls = 0;
    page.onError([&calls](Response res, std::string_view reason) {
        calls++;
        res.setHeader("Content-Type", "text/html");
        return res.replaceBody("<h1>" + uvhttp::htmlEscape(reason) + "</h1>");
    });
    const TestResponse missing = testRequest(page);
    assert_true(missing.status() == 404 && missing.body() == "<h1>Not Found</h1>");
    assert_true(missing.header("Content-Type") == "text/html" && calls == 1);
    Server throwing;
    throwing.onError([](Request, Response, std::string_view) { throw std::runtime_error("x"); });
    assert_true(testRequest(throwing).body() == "404 Not Found\n");
}

static void strings_are_sent_without_a_copy(void **)
{
    Server server;
    const std::string kept(100, 'k');
    server.get("/moved", [](Response res) {
        std::string text(100'000, 'x');
        return res.with("X-A", "1").with("X-B", "2").sendJson(200, std::move(text));
    });
    server.get("/kept", [&kept](Response res) { return res.sendHtml(200, kept); });
    server.get("/sum", [](Response res) { return res.sendText(200, "a"s + "b"); });
    const TestResponse moved = testRequest(server, {.target = "/moved"});
    assert_true(moved.body() == std::string(100'000, 'x'));
    assert_true(moved.header("Content-Type") == "application/json");
    assert_true(moved.header("X-A") == "1" && moved.header("X-B") == "2");
    const TestResponse html = testRequest(server, {.target = "/kept"});
    assert_true(html.body() == kept && html.header("Content-Type") == "text/html; charset=utf-8");
    assert_true(kept.size() == 100);
    assert_true(testRequest(server, {.target = "/sum"}).body() == "ab");
}

static void event_hub_is_a_handler(void **)
{
    const uvhttp::EventHub hub({.keep = 1});
    Server server;
    server.get("/", hub);
    assert_false(bool(hub.publish({.data = "hello"})));
    const TestResponse response =
        testRequest(server, {.headers = {"Last-Event-ID: 0"}, .stopAfter = 10});
    assert_true(response.header("Content-Type") == "text/event-stream");
}

static void configuration_is_set_by_name(void **)
{
    Server server, invalid;
    server.set("max_body_size", "2").post("/", [](Response res) { return res.sendStatus(200); });
    assert_int_equal(testRequest(server, {.body = "abc"}).status(), 413);
    invalid.set("max_body_size", "x");
    assert_true(invalid.error() == UVHTTP_ECONFIG);
    assert_string_equal(invalid.details().field, "max_body_size");
}

static void main_runs_and_reports_the_first_error(void **)
{
    Server server, invalid, by_c;
    bool stopped = false;
    server.onStopped([&stopped] { stopped = true; });
    server.after(std::chrono::milliseconds(0), [&server] { server.stop(); });
    assert_int_equal(server.main("127.0.0.1", 0), 0);
    assert_true(stopped && server.native() == nullptr);
    invalid.get("no slash", [](Response res) { return res.sendStatus(200); });
    assert_int_equal(invalid.main("127.0.0.1", 0), 1);
    uvhttp_server_route(by_c.native(), "GET", "no slash", nullptr, nullptr);
    assert_int_equal(by_c.main("127.0.0.1", 0), 1);
}

static void files_are_saved_and_loaded(void **)
{
    const std::string path = directory() + "/file";
    std::string data = "old";
    assert_true(uvhttp::loadFile(path, data) == UV_ENOENT && data.empty());
    assert_true(uvhttp::saveFile(path, "a\0b"s) == 0);
    assert_true(uvhttp::loadFile(path, data) == 0 && data == "a\0b"s);
    std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

static void texts_are_strings(void **)
{
    assert_true(uvhttp::jsonQuote("a\"\n") == "\"a\\\"\\u000a\"");
    assert_true(uvhttp::utf8Count("gr\xc3\xbc") == 3);
    assert_false(uvhttp::utf8Count("\xff").has_value());
    const std::chrono::system_clock::time_point before(std::chrono::milliseconds(-1));
    assert_true(uvhttp::rfc3339Encode(before) == "1969-12-31T23:59:59Z");
    assert_true(uvhttp::rfc3339Encode().size() == 20);
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(temporary_middleware_is_owned),
        cmocka_unit_test(invalid_temporary_middleware_is_an_error_of_the_server),
        cmocka_unit_test(objects_are_kept_after_an_error),
        cmocka_unit_test(empty_list_of_origins_admits_no_browser),
        cmocka_unit_test(lists_are_copied_from_any_sequence),
        cmocka_unit_test(numbers_are_typed_with_ranges),
        cmocka_unit_test(http_error_is_sent),
        cmocka_unit_test(http_error_that_cannot_be_sent_is_logged),
        cmocka_unit_test(test_client_has_a_time_limit),
        cmocka_unit_test(errors_have_the_form_of_the_application),
        cmocka_unit_test(strings_are_sent_without_a_copy),
        cmocka_unit_test(event_hub_is_a_handler),
        cmocka_unit_test(configuration_is_set_by_name),
        cmocka_unit_test(main_runs_and_reports_the_first_error),
        cmocka_unit_test(files_are_saved_and_loaded),
        cmocka_unit_test(texts_are_strings),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
