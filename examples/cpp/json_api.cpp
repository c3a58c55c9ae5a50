/* A JSON API for notes, kept in memory. cJSON parses and writes them (Debian: libcjson-dev); uvhttp
 * itself has no JSON functions.
 *
 *     curl -H "Content-Type: application/json" -d '{"title":"Milk"}' http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes/1
 *
 * Usage: json_api [PORT] */
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <cjson/cJSON.h>
#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

struct Delete {
    void operator()(cJSON *value) const { cJSON_Delete(value); }
};
using Json = std::unique_ptr<cJSON, Delete>;

static Result send_json(Response res, int status, const cJSON *value)
{
    const std::unique_ptr<char, decltype(&cJSON_free)> text(cJSON_PrintUnformatted(value),
                                                            cJSON_free);
    return text ? res.sendJson(status, text.get()) : Result(UVHTTP_ENOMEM);
}

static Result send_error(Response res, int status, const std::string &message)
{
    return res.sendJson(status, "{\"error\":\"" + message + "\"}"); /* `message` needs no escapes */
}

static Result show_note(const cJSON *notes, Request req, Response res)
{
    const std::string_view text = req.param("id");
    long id = 0;
    const char *const last = text.data() + text.size();
    const auto [end, bad] = std::from_chars(text.data(), last, id);
    const cJSON *note;
    cJSON_ArrayForEach(note, notes)
    {
        if (bad == std::errc() && end == last && cJSON_GetObjectItem(note, "id")->valueint == id)
            return send_json(res, 200, note);
    }
    return send_error(res, 404, "no such note");
}

static Result store(cJSON *notes, int id, Response res, const char *title)
{
    Json note(cJSON_CreateObject());
    if (cJSON_AddNumberToObject(note.get(), "id", id) == nullptr ||
        cJSON_AddStringToObject(note.get(), "title", title) == nullptr)
        return UVHTTP_ENOMEM; /* the client gets 503 */
    const cJSON *stored = note.get();
    cJSON_AddItemToArray(notes, note.release());
    Result error = res.setHeader("Location", "/notes/" + std::to_string(id));
    return error ? error : send_json(res, 201, stored);
}

/* Empty unless the text is one JSON value: cJSON_ParseWithLength accepts any text after it. */
static Json parse_json(std::string_view text)
{
    const char *end = nullptr;
    Json value(cJSON_ParseWithLengthOpts(text.data(), text.size(), &end, false));
    if (value &&
        text.substr(static_cast<std::size_t>(end - text.data())).find_first_not_of(" \t\r\n") !=
            text.npos)
        value.reset();
    return value;
}

/* Validates the request and copies only known fields. */
static Result add_note(cJSON *notes, Request req, Response res)
{
    if (!uvhttp::isMediaType(req.header("Content-Type").value_or(""), "application/json"))
        return send_error(res, 415, "send application/json");
    const Json parsed = parse_json(req.body()); /* larger than max_body_size: 413 */
    if (!parsed)
        return send_error(res, 400, "this is no JSON");
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(parsed.get(), "title");
    if (!cJSON_IsString(title))
        return send_error(res, 422, "title is not a text");
    return store(notes, cJSON_GetArraySize(notes) + 1, res, title->valuestring);
}

int main(int argc, char **argv)
{
    /* An array of {"id", "title"}. Handlers run on one thread, so it needs no lock. */
    const Json owned(cJSON_CreateArray());
    cJSON *const notes = owned.get();
    uvhttp::Server server;
    server.get("/notes", [notes](Response res) { return send_json(res, 200, notes); });
    server.post("/notes", [notes](Request req, Response res) { return add_note(notes, req, res); });
    server.get("/notes/:id",
               [notes](Request req, Response res) { return show_note(notes, req, res); });
    server.stopOnSignals().listen("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
    if (!server.error()) {
        std::printf("listening on http://127.0.0.1:%d/\n", server.port());
        std::fflush(stdout);
    }
    if (Result error = server.run()) {
        std::fprintf(stderr, "%s\n", server.details().text);
        return 1;
    }
}
