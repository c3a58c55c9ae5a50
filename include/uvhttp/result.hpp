/* What calls and handlers of uvhttp.hpp give back, and the texts they are given.
 *
 * Errors are values, as in the rest of uvhttp, for three reasons: a program without exceptions uses
 * the same interface; a handler hands on what a call said by returning it; and setting a server up
 * is one chain of calls with one look at the end, since the first failure stays (server.hpp).
 * Whoever prefers exceptions throws where that suits: one that leaves a handler becomes a 500. */
#ifndef UVHTTP_RESULT_HPP
#define UVHTTP_RESULT_HPP

#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include <uvhttp/error.h>

namespace uvhttp
{

/* 0, UVHTTP_DECLINED, or a negative code of error.h or libuv. True in a condition when it is a
 * failure, as std::error_code is:
 *
 *     if (uvhttp::Result error = res.setHeader("X-Name", name))
 *         return error; */
class [[nodiscard]] Result
{
public:
    constexpr Result() noexcept = default;
    constexpr Result(int code) noexcept : code_(code) {}
    /* The constants of error.h have a type of their own. */
    template <class E>
    requires(std::is_enum_v<E> &&std::is_convertible_v<E, int>) constexpr Result(E code) noexcept
        : code_(code)
    {
    }

    constexpr explicit operator bool() const noexcept { return code_ < 0; }
    constexpr int code() const noexcept { return code_; }
    /* "UVHTTP_ENOMEM" and "out of memory"; in constant memory, end with NUL. */
    const char *name() const noexcept { return uvhttp_error_name(code_); }
    const char *text() const noexcept { return uvhttp_strerror(code_); }
    friend constexpr bool operator==(Result a, Result b) noexcept { return a.code_ == b.code_; }

private:
    int code_ = 0;
};

/* What a middleware returns to let a request pass, and a handler that leaves it to the next one. */
inline constexpr Result next(UVHTTP_DECLINED);

/* A text as the C functions take it, with NUL at its end. Made from what is given: a literal, a
 * `const char *` and a std::string are used as they are; a std::string_view, behind which there may
 * be no NUL, is copied, on the stack up to 127 bytes. A text with a NUL inside is an error, never a
 * shorter text. Only for parameters. */
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

    /* NULL when NULL was given, or after an error. */
    const char *c_str() const noexcept { return error_ == 0 ? text_ : nullptr; }
    /* 0, UVHTTP_ENOMEM, or UVHTTP_EINVAL for a NUL inside. */
    int error() const noexcept { return error_; }

private:
    /* `size` is what text_ should have in front of its NUL. */
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

namespace detail
{

/* A text among options, NULL when it was left out. */
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

/* The first failure of several texts. */
template <class... Texts> int errorOf(const Texts &...texts) noexcept
{
    int error = 0;
    ((error = error != 0 ? error : texts.error()), ...);
    return error;
}

} // namespace detail

} // namespace uvhttp

#endif
