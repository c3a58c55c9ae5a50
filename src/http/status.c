/* Reason phrases by status code, as text; status lines are pre-built in codec/http1/encode.c from
 * the same table. */
#include <uvhttp/response.h>

#include "base/compiler.h"
#include "codec/http1/status.h"

#define PHRASE(status, phrase) [status] = (phrase),

static const char *const phrases[] = {UVH_STATUS_MAP(PHRASE)};

const char *uvhttp_status_text(int status)
{
    if (status < 0 || (size_t)status >= UVH_COUNT_OF(phrases) || phrases[status] == NULL)
        return "";
    return phrases[status];
}
