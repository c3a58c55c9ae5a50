/* Names and texts of error codes: from our table, else from libuv's. */
#include <uvhttp/error.h>

#include <uv.h>

const char *uvhttp_strerror(int code)
{
    switch (code) {
    case UVHTTP_OK:
        return "no error";
    case UVHTTP_DECLINED:
        return "declined";
    case UVHTTP_QUEUED:
        return "accepted, and much is queued";
    case UVHTTP_END:
        return "the body is complete";
    case UVHTTP_AGAIN:
        return "no data for now";
#define ERROR_TEXT(name, number, text) \
    case number:                       \
        return text;
        UVHTTP_ERROR_MAP(ERROR_TEXT)
#undef ERROR_TEXT
#define ERROR_TEXT(name, text) \
    case UV_##name:            \
        return text;
        UV_ERRNO_MAP(ERROR_TEXT)
#undef ERROR_TEXT
    default:
        return "unknown error"; /* uv_strerror would allocate a text */
    }
}

const char *uvhttp_error_name(int code)
{
    switch (code) {
    case UVHTTP_OK:
        return "UVHTTP_OK";
    case UVHTTP_DECLINED:
        return "UVHTTP_DECLINED";
    case UVHTTP_QUEUED:
        return "UVHTTP_QUEUED";
    case UVHTTP_END:
        return "UVHTTP_END";
    case UVHTTP_AGAIN:
        return "UVHTTP_AGAIN";
#define ERROR_NAME(name, number, text) \
    case number:                       \
        return "UVHTTP_" #name;
        UVHTTP_ERROR_MAP(ERROR_NAME)
#undef ERROR_NAME
#define ERROR_NAME(name, text) \
    case UV_##name:            \
        return #name;
        UV_ERRNO_MAP(ERROR_NAME)
#undef ERROR_NAME
    default:
        return "unknown";
    }
}
