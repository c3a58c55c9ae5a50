/* See logger.h. */
#include "logger.h"

#include <inttypes.h>
#include <stdio.h>

enum { AMOUNT_SIZE = 32 };

/* "298 B", "1.2 KiB" */
static void format_size(uint64_t bytes, char text[AMOUNT_SIZE])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    for (; amount >= 1023.95 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        amount /= 1024;
    if (bytes < 1024)
        snprintf(text, AMOUNT_SIZE, "%" PRIu64 " B", bytes);
    else
        snprintf(text, AMOUNT_SIZE, "%.1f %s", amount, units[unit]);
}

/* "0.21 ms", "35.1 ms", "2.5 s" */
static void format_duration(uint64_t us, char text[AMOUNT_SIZE])
{
    double ms = (double)us / 1000;
    if (us < 10000)
        snprintf(text, AMOUNT_SIZE, "%.2f ms", ms);
    else if (us < 1000000)
        snprintf(text, AMOUNT_SIZE, "%.1f ms", ms);
    else
        snprintf(text, AMOUNT_SIZE, "%.1f s", ms / 1000);
}

/* 127.0.0.1 GET /style.css 200 1.2 KiB 0.21 ms */
static void log_line(uvhttp_request_t *request, uvhttp_response_t *response,
                     const uvhttp_outcome_t *outcome, void *arg)
{
    (void)arg;
    char size[AMOUNT_SIZE], duration[AMOUNT_SIZE];
    uvhttp_slice_t target = uvhttp_request_target(request);
    const char *method = uvhttp_request_method_name(request);
    format_size(outcome->bytes_sent, size);
    format_duration(outcome->duration_us, duration);
    uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "%s %s%s%.*s %d %s %s%s",
                        uvhttp_request_client_address(request), *method == '\0' ? "-" : method,
                        target.length > 0 ? " " : "", UVHTTP_SLICE_ARGS(target), outcome->status,
                        size, duration, outcome->aborted ? ", aborted" : "");
}

static void log_access(uvhttp_request_t *request, uvhttp_response_t *response,
                       const uvhttp_outcome_t *outcome, void *logs)
{
    uvhttp_access_log_t *log = uvh_access_logs_find(logs, request);
    if (log != NULL)
        uvhttp_access_log_finished(request, response, outcome, log);
}

static void log_both(uvhttp_request_t *request, uvhttp_response_t *response,
                     const uvhttp_outcome_t *outcome, void *logs)
{
    log_access(request, response, outcome, logs);
    log_line(request, response, outcome, NULL);
}

void uvh_logger_install(uvhttp_server_t *server, struct uvh_access_logs *logs, bool verbose)
{
    bool any = logs != NULL && logs->any; /* without the callback, no request reads the clock */
    if (verbose)
        uvhttp_server_on_finished(server, any ? log_both : log_line, logs);
    else if (any)
        uvhttp_server_on_finished(server, log_access, logs);
}
