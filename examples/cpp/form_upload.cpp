/* A form with file uploads. Small files are in memory, large ones in hidden files until the handler
 * keeps them.
 *
 *     curl http://127.0.0.1:8080/
 *     curl -F "title=A trip" -F "photo=@FILE" http://127.0.0.1:8080/photos
 *
 * Usage: form_upload [PORT [DIRECTORY]]; default: the current directory. */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

static Result page(Response res)
{
    return res.sendHtml(200, "<!doctype html><meta charset=utf-8><title>Photos</title>\n"
                             "<form action=/photos method=post enctype=multipart/form-data>\n"
                             "<p><label>Title <input name=title></label>\n"
                             "<p><input type=file name=photo multiple>\n"
                             "<p><button>Send</button></form>\n");
}

/* Runs after all parts have arrived. Files that are not kept are removed after the response. */
static Result on_form(Response res, const uvhttp::FormData &form, const std::string &directory)
{
    const auto title = form.part("title");
    std::string text(title && title->data() ? title->data()->substr(0, 100) : "without a title");
    text.append("\n");
    for (uvhttp::FormPart part : form) {
        const std::string name(part.filename().value_or(""));
        if (name.empty())
            continue;                                     /* another field, or no file was chosen */
        Result error = part.keep(directory + "/" + name); /* never replaces a file */
        text.append(name).append(", ").append(std::to_string(part.size()));
        text.append(" bytes: ").append(error ? error.text() : "kept").append("\n");
    }
    return res.sendText(200, text);
}

int main(int argc, char **argv)
{
    const std::string directory = argc > 2 ? argv[2] : ".";
    auto post = [&directory](Request req) {
        return req.readForm(
            {.directory = directory, .memoryPartSize = 16384, .maxSize = 1 << 30, .maxParts = 20},
            [&directory](Response res, const uvhttp::FormData &form) {
                return on_form(res, form, directory);
            });
    };
    uvhttp::Server server;
    server.get("/", page).post("/photos", post, {.stream = true});
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
