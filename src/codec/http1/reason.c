/* Errors of messages as text and numbers: the four columns of UVHTTP_REASON_MAP. */
#include <uvhttp/parser.h>

struct reason_row {
    int status;
    const char *name;
    const char *text;
    const char *source;
};

#define REASON_ROW(name, status, text, source) \
    [UVHTTP_REASON_##name] = {(status), #name, (text), (source)},
static const struct reason_row rows[UVHTTP_REASON_COUNT] = {
    [UVHTTP_REASON_NONE] = {0, "NONE", "no error", ""}, UVHTTP_REASON_MAP(REASON_ROW)};

static const struct reason_row *row_of(uvhttp_reason_t reason)
{
    return &rows[(unsigned)reason < UVHTTP_REASON_COUNT ? reason : UVHTTP_REASON_NONE];
}

int uvhttp_reason_status(uvhttp_reason_t reason)
{
    return row_of(reason)->status;
}

const char *uvhttp_reason_name(uvhttp_reason_t reason)
{
    return row_of(reason)->name;
}

const char *uvhttp_reason_text(uvhttp_reason_t reason)
{
    return row_of(reason)->text;
}

const char *uvhttp_reason_source(uvhttp_reason_t reason)
{
    return row_of(reason)->source;
}
