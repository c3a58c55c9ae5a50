/* A JSON API for notes, kept in memory. cJSON parses and writes them (Debian: libcjson-dev); uvhttp
 * itself has no JSON functions.
 *
 *     curl -H "Content-Type: application/json" -d '{"title":"Milk"}' http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes/1
 *
 * Usage: json_api [PORT] */
#include <memory>
#include <string>

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

static Result show_note(const cJSON *notes, Request req, Response res)
{
    const int id = req.param<int>("id").value_or(0);
    const cJSON *note;
    cJSON_ArrayForEach(note, notes)
    {
        if (cJSON_GetObjectItem(note, "id")->valueint == id)
            return send_json(res, 200, note);
    }
    return res.sendError(404, "no such note");
}

static Result store(cJSON *notes, int id, Response res, const char *title)
{
    Json note(cJSON_CreateObject());
    if (cJSON_AddNumberToObject(note.get(), "id", id) == nullptr ||
        cJSON_AddStringToObject(note.get(), "title", title) == nullptr)
        return UVHTTP_ENOMEM; /* the client gets 503 */
    const cJSON *stored = note.get();
    cJSON_AddItemToArray(notes, note.release());
    return send_json(res.with("Location", "/notes/" + std::to_string(id)), 201, stored);
}

/* Validates the request and copies only known fields. */
static Result add_note(cJSON *notes, Request req, Response res)
{
    if (!uvhttp::isMediaType(req.header("Content-Type").value_or(""), "application/json"))
        return res.sendError(415, "send application/json");
    const auto text = req.bodyText(); /* larger than max_body_size: 413 */
    const Json parsed(text ? cJSON_ParseWithOpts(text->data(), nullptr, true) : nullptr);
    if (!parsed)
        return res.sendError(400, "this is no JSON");
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(parsed.get(), "title");
    if (!cJSON_IsString(title))
        return res.sendError(422, "title is not a text");
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
    server.onError(uvhttp::errorAsJson);
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
