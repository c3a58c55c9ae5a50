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

/* Runs after the file is stored. Without this function the response is 201 or 204. */
static Result on_stored(Response res, const uvhttp::Upload &upload, const uvhttp::Files &files)
{
    /* Else GET could get the old file, or 404, from the cache for up to a second. */
    files.invalidate(res.request().param("name"));
    const std::string text =
        std::to_string(upload.size) + (upload.created ? " bytes stored\n" : " bytes replaced\n");
    Result error = res.setHeader("Location", res.request().path());
    return error ? error : res.sendText(upload.created ? 201 : 200, text);
}

int main(int argc, char **argv)
{
    const std::string directory = argc > 2 ? argv[2] : ".";
    const uvhttp::Files files({.root = directory});
    auto put = [&directory, &files](Request req) {
        /* A name with a slash, or "..", gets 400. */
        return req.uploadToFile(directory, req.param("name"),
                                {.maxSize = std::size_t{10} << 30, .sync = true},
                                [&files](Response res, const uvhttp::Upload &upload) {
                                    return on_stored(res, upload, files);
                                });
    };
    uvhttp::Server server;
    server.put("/files/:name", put, {.stream = true}).files("/files/", files);
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
