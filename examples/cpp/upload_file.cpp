/* Uploads of any size to files, written while they arrive, on other threads than the loop's. A file
 * gets its name only when it is complete.
 *
 *     curl -T FILE http://127.0.0.1:8080/files/
 *     curl http://127.0.0.1:8080/files/FILE
 *
 * Usage: upload_file [PORT [DIRECTORY]]; default: the current directory. */
#include <cstdio>
#include <string>

#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

/* Runs after the file is stored. Without this callback the response is 201 or 204. */
static Result on_stored(Response res, const uvhttp::Upload &upload)
{
    const std::string text =
        std::to_string(upload.size) + (upload.created ? " bytes stored\n" : " bytes replaced\n");
    Result error = res.setHeader("Location", res.request().path());
    return error ? error : res.sendText(upload.created ? 201 : 200, text);
}

int main(int argc, char **argv)
{
    const std::string directory = argc > 2 ? argv[2] : ".";
    auto put = [&directory](Request req) {
        /* A name with a slash, or "..", gets 400. */
        return req.uploadToFile(directory, req.param("name"),
                                {.maxSize = std::size_t{10} << 30, .sync = true}, on_stored);
    };
    uvhttp::Server server;
    server.put("/files/:name", put, {.stream = true}).files("/files/", {.root = directory});
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
