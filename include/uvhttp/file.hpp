/* Files of the application (file.h). */
#ifndef UVHTTP_FILE_HPP
#define UVHTTP_FILE_HPP

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <uvhttp/callback.hpp>
#include <uvhttp/file.h>
#include <uvhttp/result.hpp>

namespace uvhttp
{

/* Reads a whole file (uvhttp_file_load). May throw std::bad_alloc. */
[[nodiscard]] inline Result loadFile(const Text &path, std::string &data)
{
    char *bytes = nullptr;
    std::size_t size = 0;
    const int error =
        path.error() != 0 ? path.error() : uvhttp_file_load(path.c_str(), &bytes, &size);
    const std::unique_ptr<char, detail::Freer<uvhttp_file_release>> owned(bytes);
    data.assign(bytes == nullptr ? "" : bytes, size);
    return error;
}

/* Writes a file that must not be lost, and replaces an old one atomically (uvhttp_file_save). */
[[nodiscard]] inline Result saveFile(const Text &path, std::string_view data,
                                     unsigned mode = 0) noexcept
{
    return path.error() != 0 ? path.error()
                             : uvhttp_file_save(path.c_str(), data.data(), data.size(), mode);
}

} // namespace uvhttp

#endif
