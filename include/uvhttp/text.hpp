/* Encoders for texts in responses, and the comparison of media types, see text.h. */
#ifndef UVHTTP_TEXT_HPP
#define UVHTTP_TEXT_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <uvhttp/result.hpp>
#include <uvhttp/text.h>

namespace uvhttp
{

namespace detail
{

/* The result of an encoder of text.h. */
template <class Encode> std::string encoded(Encode &&encode)
{
    std::string out(encode(nullptr, 0), '\0');
    encode(out.data(), out.size() + 1);
    return out;
}

template <class Decode> std::optional<std::string> decoded(std::string_view text, Decode &&decode)
{
    std::string out(text.size() / 4 * 3 + 2, '\0');
    const std::ptrdiff_t length = decode(text.data(), text.size(), out.data(), out.size());
    if (length < 0)
        return std::nullopt;
    out.resize(static_cast<std::size_t>(length));
    return out;
}

} // namespace detail

/* True if a media type is one of `types` ("application/json +json"). */
inline bool isMediaType(std::string_view value, const Text &types) noexcept
{
    return uvhttp_media_type_is({value.data(), value.size()}, types.c_str());
}

inline std::string percentEncode(std::string_view text)
{
    return detail::encoded([text](char *out, std::size_t size) {
        return uvhttp_percent_encode(text.data(), text.size(), out, size);
    });
}

inline std::string htmlEscape(std::string_view text)
{
    return detail::encoded([text](char *out, std::size_t size) {
        return uvhttp_html_escape(text.data(), text.size(), out, size);
    });
}

/* The value of a Content-Disposition field; `kind` may also be "inline". */
inline std::string contentDisposition(std::string_view name, const Text &kind = "attachment")
{
    return detail::encoded([&kind, name](char *out, std::size_t size) {
        return uvhttp_content_disposition(kind.c_str(), name.data(), name.size(), out, size);
    });
}

inline std::string base64Encode(std::string_view data)
{
    return detail::encoded([data](char *out, std::size_t size) {
        return uvhttp_base64_encode(data.data(), data.size(), out, size);
    });
}

inline std::string base64UrlEncode(std::string_view data)
{
    return detail::encoded([data](char *out, std::size_t size) {
        return uvhttp_base64url_encode(data.data(), data.size(), out, size);
    });
}

/* Empty if the text is invalid. */
inline std::optional<std::string> base64Decode(std::string_view text)
{
    return detail::decoded(text, uvhttp_base64_decode);
}

inline std::optional<std::string> base64UrlDecode(std::string_view text)
{
    return detail::decoded(text, uvhttp_base64url_decode);
}

} // namespace uvhttp

#endif
