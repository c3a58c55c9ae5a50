/* Results of calls and handlers of uvhttp.hpp, and their string parameters.
 *
 * Errors are values, as in the rest of uvhttp, for three reasons: programs without exceptions
 * use the same interface; a handler propagates an error by returning it; and server setup is a
 * chain of calls with one check at the end (server.hpp). Programs may throw exceptions: one that
 * leaves a handler becomes a 500. */
#ifndef UVHTTP_RESULT_HPP
#define UVHTTP_RESULT_HPP

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <uvhttp/error.h>

namespace uvhttp
{

/* Which option is invalid and why: code, field, value, reason, text (error.h). */
using SetupError = uvhttp_error_t;

/* 0, a positive code of error.h (UVHTTP_DECLINED, UVHTTP_QUEUED, ...), or a negative one of error.h
 * or libuv. True in a condition if it is an error, like std::error_code:
 *
 *     if (uvhttp::Result error = res.setHeader("X-Name", "value"))
 *         return error;
 *
 * A function whose error must be handled is [[nodiscard]]. Others, such as sending a text or a
 * message, mostly fail because the client has disconnected, which `closed`, on_abort or the log
 * reports as well. */
class Result
{
public:
    constexpr Result() noexcept = default;
    constexpr Result(int code) noexcept : code_(code) {}
    /* The constants of error.h have their own type. */
    template <class E>
    requires(std::is_enum_v<E> &&std::is_convertible_v<E, int>) constexpr Result(E code) noexcept
        : code_(code)
    {
    }

    constexpr explicit operator bool() const noexcept { return code_ < 0; }
    /* Success with UVHTTP_QUEUED: accepted, but pause until `drain`. */
    constexpr bool queued() const noexcept { return code_ == UVHTTP_QUEUED; }
    constexpr int code() const noexcept { return code_; }
    /* "UVHTTP_ENOMEM" and "out of memory"; static and NUL-terminated. */
    const char *name() const noexcept { return uvhttp_error_name(code_); }
    const char *text() const noexcept { return uvhttp_strerror(code_); }
    friend constexpr bool operator==(Result a, Result b) noexcept { return a.code_ == b.code_; }

private:
    int code_ = 0;
};

/* Result of a middleware that passes a request, and of a handler that declines it. */
inline constexpr Result next(UVHTTP_DECLINED);

/* Results of a pull function (Response::sendPulled): the body is complete; no data for now. */
inline constexpr Result end(UVHTTP_END);
inline constexpr Result again(UVHTTP_AGAIN);

/* A NUL-terminated string parameter for C functions. A literal, a `const char *` and a
 * std::string are used in place; a std::string_view, which may not be NUL-terminated, is copied,
 * up to 127 bytes on the stack. A string that contains a NUL is an error and is never truncated.
 * For parameters only. */
class Text
{
public:
    Text(const char *text) noexcept : text_(text) {}
    Text(const std::string &text) noexcept : text_(text.c_str()) { refuse(text.size()); }
    Text(std::string_view text) noexcept : text_(few_)
    {
        if (text.size() >= sizeof few_)
            text_ = many_ = new (std::nothrow) char[text.size() + 1];
        if (text_ == nullptr) {
            error_ = UVHTTP_ENOMEM;
            return;
        }
        char *to = many_ != nullptr ? many_ : few_;
        if (!text.empty())
            std::memcpy(to, text.data(), text.size());
        to[text.size()] = '\0';
        refuse(text.size());
    }
    Text(const Text &) = delete;
    Text &operator=(const Text &) = delete;
    ~Text() { delete[] many_; }

    /* NULL if NULL was passed, or after an error. */
    const char *c_str() const noexcept { return error_ == 0 ? text_ : nullptr; }
    /* The same as a view, empty for NULL. */
    std::string_view view() const noexcept { return c_str() ? c_str() : std::string_view(); }
    /* 0, UVHTTP_ENOMEM, or UVHTTP_EINVAL if it contains a NUL. */
    int error() const noexcept { return error_; }

private:
    /* `size` is the expected length of text_ without its NUL. */
    void refuse(std::size_t size) noexcept
    {
        if (std::strlen(text_) != size)
            error_ = UVHTTP_EINVAL;
    }

    const char *text_;
    char *many_ = nullptr;
    int error_ = 0;
    char few_[128];
};

/* A list among options, written in place, or copied from an array, a std::vector or a std::span:
 *
 *     server.files("/", {.root = ".", .rules = {{"*.css", "Cache-Control", "max-age=600"}}});
 *
 * May throw std::bad_alloc only. Strings in its items are literals, or outlive the options. */
template <class T> class List
{
public:
    List() noexcept = default;
    List(std::initializer_list<T> items) : List(std::span<const T>(items.begin(), items.size()), 0)
    {
    }
    template <class Items>
    requires(!std::same_as<std::remove_cvref_t<Items>, List> &&
             std::convertible_to<Items &&, std::span<const T>>) List(Items &&items)
        : List(std::span<const T>(items), 0)
    {
    }
    /* NULL for an empty list; otherwise one more item follows, T(). */
    const T *data() const noexcept { return items_.empty() ? nullptr : items_.data(); }
    std::size_t size() const noexcept { return items_.empty() ? 0 : items_.size() - 1; }

private:
    List(std::span<const T> items, int)
    {
        if (items.empty())
            return;
        items_.reserve(items.size() + 1);
        items_.assign(items.begin(), items.end());
        items_.emplace_back();
    }

    std::vector<T> items_;
};

namespace detail
{

/* A string option, NULL if omitted. */
class Option
{
public:
    explicit Option(std::string_view text) noexcept : text_(text), given_(text.data() != nullptr) {}
    const char *c_str() const noexcept { return given_ ? text_.c_str() : nullptr; }
    int error() const noexcept { return text_.error(); }

private:
    Text text_;
    bool given_;
};

/* Sets the code and its text. */
inline void setError(SetupError &error, int code) noexcept
{
    error = {};
    error.code = code;
    if (code == 0)
        return;
    std::snprintf(error.reason, sizeof error.reason, "%s", uvhttp_strerror(code));
    std::snprintf(error.text, sizeof error.text, "%s", error.reason);
}

/* The first error of several strings. */
template <class... Texts> int errorOf(const Texts &...texts) noexcept
{
    int error = 0;
    ((error = error != 0 ? error : texts.error()), ...);
    return error;
}

} // namespace detail

} // namespace uvhttp

#endif
