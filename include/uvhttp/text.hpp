/* Encoders for texts in responses, numbers and UTF-8 of requests, and the comparison of media
 * types, see text.h. */
#ifndef UVHTTP_TEXT_HPP
#define UVHTTP_TEXT_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

/* The numbers to accept, and the value of an absent one; by default all numbers of the type, and
 * none. */
template <std::integral T> struct NumberRange {
    T min = std::numeric_limits<T>::min();
    T max = std::numeric_limits<T>::max();
    std::optional<T> otherwise = {};
};

namespace detail
{

/* `text` NULL: absent. */
template <std::integral T>
std::optional<T> numberOf(const char *text, const NumberRange<T> &range) noexcept
{
    static_assert(std::in_range<std::int64_t>(std::numeric_limits<T>::max()),
                  "numbers are at most those of std::int64_t");
    std::int64_t number = 0;
    if (text == nullptr)
        return range.otherwise;
    return uvhttp_number_parse(text, range.min, range.max, &number)
               ? std::optional(static_cast<T>(number))
               : std::nullopt;
}

} // namespace detail

/* A decimal number, without spaces, '+' or other characters; std::nullopt if it is none, or not
 * in the range: parseNumber<int>(argv[1], {.min = 0, .max = 65535}). */
template <std::integral T>
std::optional<T> parseNumber(const Text &text, const NumberRange<T> &range = {}) noexcept
{
    return text.c_str() == nullptr ? std::nullopt : detail::numberOf(text.c_str(), range);
}

/* The number of characters; std::nullopt if the text is not UTF-8. */
inline std::optional<std::size_t> utf8Count(std::string_view text) noexcept
{
    const std::ptrdiff_t count = uvhttp_utf8_count(text.data(), text.size());
    return count < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(count));
}

/* A time as in RFC 3339, in UTC: "2026-11-22T02:04:05Z". */
inline std::string
rfc3339Encode(std::chrono::system_clock::time_point time = std::chrono::system_clock::now())
{
    const std::chrono::seconds since_1970 =
        std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
    return detail::encoded([since_1970](char *out, std::size_t size) {
        return uvhttp_rfc3339_encode(since_1970.count(), out, size);
    });
}

/* A text as a JSON string, with its quotes. */
inline std::string jsonQuote(std::string_view text)
{
    return detail::encoded([text](char *out, std::size_t size) {
        return uvhttp_json_quote(text.data(), text.size(), out, size);
    });
}

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
