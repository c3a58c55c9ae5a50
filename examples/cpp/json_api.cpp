/* An API that speaks JSON: notes, kept in memory. Parsed and written by cJSON (Debian:
 * libcjson-dev); uvhttp itself knows no JSON.
 *
 *     curl -H "Content-Type: application/json" -d '{"title":"Milk"}' http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes/1
 *
 * Usage: json_api [PORT] */
#include <cstdio>
#include <cstdlib>
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

static Result refuse(Response res, int status, const std::string &why)
{
    return res.sendJson(status, "{\"error\":\"" + why + "\"}"); /* only texts of this file */
}

static Result show(const cJSON *notes, Request req, Response res)
{
    const long id = std::strtol(std::string(req.param("id")).c_str(), nullptr, 10);
    const cJSON *note;
    cJSON_ArrayForEach(note, notes) if (cJSON_GetObjectItem(note, "id")->valueint ==
                                        id) return send_json(res, 200, note);
    return refuse(res, 404, "no such note");
}

static Result keep(cJSON *notes, int id, Response res, const char *title)
{
    Json note(cJSON_CreateObject());
    if (cJSON_AddNumberToObject(note.get(), "id", id) == nullptr ||
        cJSON_AddStringToObject(note.get(), "title", title) == nullptr)
        return UVHTTP_ENOMEM; /* the client gets 503 */
    const cJSON *kept = note.get();
    cJSON_AddItemToArray(notes, note.release());
    Result error = res.setHeader("Location", "/notes/" + std::to_string(id));
    return error ? error : send_json(res, 201, kept);
}

/* What was sent is looked at and built anew, so that nothing else gets into the store. */
static Result add(cJSON *notes, Request req, Response res)
{
    if (!req.header("Content-Type").value_or("").starts_with("application/json"))
        return refuse(res, 415, "send application/json");
    const std::string_view body = req.body(); /* at most max_body_size: 413 */
    const Json sent(cJSON_ParseWithLength(body.data(), body.size()));
    if (!sent)
        return refuse(res, 400, "this is no JSON");
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(sent.get(), "title");
    if (!cJSON_IsString(title))
        return refuse(res, 422, "title is not a text");
    return keep(notes, cJSON_GetArraySize(notes) + 1, res, title->valuestring);
}

int main(int argc, char **argv)
{
    /* An array of {"id", "title"}; handlers run on one thread, so it needs no lock. */
    const Json owned(cJSON_CreateArray());
    cJSON *const notes = owned.get();
    uvhttp::Server server;
    server.get("/notes", [notes](Response res) { return send_json(res, 200, notes); });
    server.post("/notes", [notes](Request req, Response res) { return add(notes, req, res); });
    server.get("/notes/:id", [notes](Request req, Response res) { return show(notes, req, res); });
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
