/* Prints a log line with time (UTC) and level. A line leaves in one piece, so that lines of several writers to one
 * terminal or file do not mix. Called by the library through uvhttp_config_t.log. */
#include "logger.h"

#include <stdio.h>
#include <time.h>

#define LINE_SIZE 1200 /* the library cuts its messages at 1,000 bytes */

static const char *level_name(uvhttp_log_level_t level)
{
    switch (level) {
    case UVHTTP_LOG_ERROR:
        return "error";
    case UVHTTP_LOG_WARNING:
        return "warning";
    case UVHTTP_LOG_INFO:
        return "info";
    case UVHTTP_LOG_DEBUG:
        return "debug";
    }
    return "note";
}

void uvh_logger_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    const uvhttp_log_level_t *wanted = arg;
    if (level > *wanted)
        return;
    char stamp[32] = "";
    struct tm utc;
    time_t now = time(NULL);
    if (gmtime_r(&now, &utc) != NULL)
        strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
    char line[LINE_SIZE];
    snprintf(line, sizeof(line), "%s %s %s\n", stamp, level_name(level), message);
    fputs(line, stderr);
}

int uvh_logger_request(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t target = uvhttp_request_target(request);
    uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "%s %s %.*s", uvhttp_request_client_address(request),
                        uvhttp_request_method_name(request), UVHTTP_SLICE_ARGS(target));
    return UVHTTP_DECLINED;
}
