/* Errors of forms as text and numbers: the three columns of UVHTTP_MULTIPART_ERROR_MAP. */
#include <uvhttp/multipart.h>

struct error_row {
    int status;
    const char *name;
    const char *text;
};

#define ERROR_ROW(name, status, text) [UVHTTP_MULTIPART_ERROR_##name] = {(status), #name, (text)},
static const struct error_row rows[UVHTTP_MULTIPART_ERROR_COUNT] = {
    [UVHTTP_MULTIPART_ERROR_NONE] = {0, "NONE", "no error"}, UVHTTP_MULTIPART_ERROR_MAP(ERROR_ROW)};

static const struct error_row *row_of(uvhttp_multipart_error_t error)
{
    return &rows[(unsigned)error < UVHTTP_MULTIPART_ERROR_COUNT ? error
                                                                : UVHTTP_MULTIPART_ERROR_NONE];
}

int uvhttp_multipart_error_status(uvhttp_multipart_error_t error)
{
    return row_of(error)->status;
}

const char *uvhttp_multipart_error_name(uvhttp_multipart_error_t error)
{
    return row_of(error)->name;
}

const char *uvhttp_multipart_error_text(uvhttp_multipart_error_t error)
{
    return row_of(error)->text;
}
