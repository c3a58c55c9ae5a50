/* A notes service: a JSON API with entity tags, events and attachments, and a page that shows the
 * notes live. FILE has the notes, the directory `attachments` what is attached, and `public` next
 * to the program the page. Writing needs the token of the environment variable NOTES_TOKEN.
 *
 *     curl -H "Authorization: Bearer secret" -H "Content-Type: application/json" \
 *         -d '{"title":"Milk","text":"two bottles"}' http://127.0.0.1:8080/api/notes
 *     curl "http://127.0.0.1:8080/api/notes?q=milk&limit=5"
 *
 * Usage: notes [PORT [FILE]]; default: 8080 notes.json */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include <nlohmann/json.hpp>
#include <uvhttp.hpp>

using nlohmann::json, uvhttp::HttpError, uvhttp::Request, uvhttp::Response, uvhttp::Result;
namespace fs = std::filesystem;

struct Note {
    int id;
    std::string title, text, etag, created, changed;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Note, id, title, text, etag, created, changed)
};

static void read_note(Request req, Note &note)
{
    if (!uvhttp::isMediaType(req.header("Content-Type").value_or(""), "application/json"))
        throw HttpError(415, "send application/json");
    const json sent = json::parse(req.body(), nullptr, false);
    if (sent.is_discarded())
        throw HttpError(400, "the body is no JSON");
    for (const std::string name : {"title", "text"})
        if (sent.size() != 2 || !sent.contains(name) || !sent[name].is_string())
            throw HttpError(422, name + ": a note has only two texts, title and text");
    const std::size_t length = *uvhttp::utf8Count(sent["title"].get_to(note.title));
    if (length < 1 || length > 200)
        throw HttpError(422, "title: must have 1 to 200 characters");
    if (sent["text"].get_to(note.text).size() > 65536)
        throw HttpError(422, "text: must have at most 64 KB");
}

/* Handlers run on one thread, so this needs no lock. That thread waits while notes are saved. */
struct Notes {
    std::string file;
    uvhttp::EventHub hub{{.keep = 100}};
    int last = 0; /* number of changes */
    std::map<int, Note> notes = {};
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Notes, last, notes)

    const Note &find(Request req) const
    {
        const auto found = notes.find(req.param<int>("id").value_or(0));
        return found != notes.end() ? found->second : throw HttpError(404);
    }
    /* If this fails, the client gets 500, and the change is saved with the next one. */
    void commit(const char *event, int id) const
    {
        Result error = uvhttp::saveFile(file, json(*this).dump());
        if (error || (error = hub.publish({.event = event, .data = std::to_string(id)})))
            throw std::runtime_error(error.text());
    }
    Result list(Request req, Response res) const
    {
        const auto limit = req.query<unsigned>("limit", {.min = 1, .max = 100, .otherwise = 20});
        const auto after = req.query<int>("after", {.min = 1, .otherwise = last + 1});
        const std::string q(req.query("q").value_or(""));
        if (!limit || !after)
            throw HttpError(422, limit ? "after: not the id of a note" : "limit: not 1 to 100");
        json page = json::array();
        for (auto at = notes.lower_bound(*after); at != notes.begin() && page.size() < *limit;)
            if (const Note &note = (--at)->second;
                strcasestr((note.title + '\n' + note.text).c_str(), q.c_str()) != nullptr)
                page.push_back(note);
        return res.sendJson(200, page.dump());
    }
    Result show(Request req, Response res) const
    {
        return res.with("ETag", find(req).etag).sendJson(200, json(find(req)).dump());
    }
    Result put(Request req, Response res) /* POST adds a note, PUT replaces one */
    {
        const bool adds = req.method() == UVHTTP_METHOD_POST;
        Note note = adds ? Note{last + 1, "", "", "", uvhttp::rfc3339Encode(), ""} : find(req);
        if (const int status = adds ? 0 : req.precondition(note.etag))
            return res.sendStatus(status);
        read_note(req, note);
        note.etag = '"' + std::to_string(++last) + '"';
        note.changed = uvhttp::rfc3339Encode();
        notes[note.id] = note;
        commit(adds ? "created" : "changed", note.id);
        if (adds)
            res.setHeader("Location", "/api/notes/" + std::to_string(note.id));
        return res.with("ETag", note.etag).sendJson(adds ? 201 : 200, json(note).dump());
    }
    Result remove(Request req, Response res)
    {
        const int id = find(req).id;
        notes.erase(id);
        commit("deleted", id);
        fs::remove("attachments/" + std::to_string(id));
        return res.sendStatus(204);
    }
    Result attach(Request req) const
    {
        return req.uploadToFile("attachments", std::to_string(find(req).id),
                                {.sync = true, .createDirectory = true});
    }
    Result download(Request req, Response res) const
    {
        const Note &note = find(req);
        const std::string path = "attachments/" + std::to_string(note.id);
        return fs::exists(path) ? res.sendFile(path, {.downloadName = note.title})
                                : res.sendStatus(404);
    }
};

int main(int argc, char **argv)
try {
    Notes notes{.file = argc > 2 ? argv[2] : "notes.json"};
    if (fs::exists(notes.file))
        json::parse(std::ifstream(notes.file)).get_to(notes);
    const auto to = [&notes](auto member) { return std::bind_front(member, &notes); };
    uvhttp::Server server;
    server.set("handler_timeout", "10s").onError(uvhttp::errorAsJson);
    server.onFinished(uvhttp::AccessLog({.path = "-", .format = UVHTTP_ACCESS_JSON}));
    server.use(uvhttp::RequestIds()).use(uvhttp::SecurityHeaders()).use(uvhttp::bodyEtags());
    server.use(uvhttp::Cors({.origins = "https://app.example",
                             .headers = "Authorization, Content-Type, If-Match",
                             .exposed = "ETag, Location, Retry-After, X-Request-Id"}));
    server.get("/api/notes/:id", to(&Notes::show)).get("/api/events", notes.hub);
    server.get("/api/notes/:id/attachment", to(&Notes::download)).metrics("/metrics");
    server.group("").use(uvhttp::Compress()).get("/api/notes", to(&Notes::list));
    uvhttp::Router writers = server.group("/api/notes").use(uvhttp::RateLimit({.requests = 20}));
    if (const char *token = std::getenv("NOTES_TOKEN"))
        writers.use(uvhttp::Auth({.token = token}));
    else
        writers.use([](Response res) { return res.sendStatus(403); });
    writers.post("", to(&Notes::put)).put("/:id", to(&Notes::put)).del("/:id", to(&Notes::remove));
    writers.post("/:id/attachment", to(&Notes::attach), {.stream = true, .maxBody = 10 << 20});
    server.files("/", {.root = fs::canonical("/proc/self/exe").replace_filename("public").c_str()});
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
