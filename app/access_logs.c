/* See access_logs.h. A path that several sites have is opened once. */
#include "access_logs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "log_path.h"
#include "user_files.h"

static const struct uvh_setup_log *log_at(const struct uvh_setup *setup, size_t index)
{
    return index == 0 ? &setup->access_log : &setup->sites[index - 1].access_log;
}

static uvhttp_access_log_t **opened_at(struct uvh_access_logs *logs, size_t index)
{
    return index == 0 ? &logs->common : &logs->setup->sites[index - 1].log;
}

/* The index of the first log with the path of this one: itself, or one before it. */
static size_t first_index(const struct uvh_setup *setup, size_t index)
{
    const char *path = log_at(setup, index)->path.text;
    size_t first = 0;
    while (log_at(setup, first)->path.text == NULL ||
           strcmp(log_at(setup, first)->path.text, path) != 0)
        first++;
    return first;
}

/* 0, or why a message cannot be sent: the path of the socket may follow the kind. */
static int check_socket(const char *path)
{
    const char *socket = strchr(path, ':') + 1;
    if (*socket == '\0')
        socket = *path == 's' ? "/dev/log" : "/run/systemd/journal/socket";
    return access(socket, W_OK) == 0 ? 0 : -errno;
}

const char *uvh_access_logs_file(const struct uvh_setup *setup, size_t index)
{
    const char *path = log_at(setup, index)->path.text;
    bool own = path != NULL && uvh_log_path_is_file(path) && first_index(setup, index) == index;
    return own ? path : NULL;
}

static bool same_options(const uvhttp_access_log_options_t *one,
                         const uvhttp_access_log_options_t *other)
{
    bool same_pattern = one->pattern == NULL || other->pattern == NULL
                            ? one->pattern == other->pattern
                            : strcmp(one->pattern, other->pattern) == 0;
    return one->format == other->format && same_pattern && one->buffer_size == other->buffer_size &&
           one->flush_ms == other->flush_ms && one->sample == other->sample;
}

#define NAMES                                                                                 \
    "client, user, method, target, route, protocol, request, host, referer, user_agent, "     \
    "request_id, trace_id, span_id, status, bytes, duration_ms, duration_us, aborted, time, " \
    "time_iso and unix_ms"

static void check_log(const struct uvh_setup_log *wanted, struct uvh_problems *problems)
{
    const struct uvh_text *path = &wanted->path;
    uvhttp_access_log_options_t check = wanted->options;
    uvhttp_access_log_t *log;
    uvhttp_error_t error;
    check.path = "/dev/null";
    if (uvhttp_access_log_new(&log, &check, &error) == UVHTTP_EINVAL)
        uvh_problems_add(problems, wanted->pattern,
                         "the pattern of the access log is invalid: %s; names are " NAMES
                         "; for JSON use 'format: json' instead",
                         error.reason);
    uvhttp_access_log_free(log);
    int err = uvh_log_path_is_file(path->text) ? uvh_user_files_check_log(path->text)
              : strcmp(path->text, "-") == 0   ? 0
                                               : check_socket(path->text);
    if (err != 0)
        uvh_problems_add(problems, path->mark, "the access log '%s' cannot be written: %s%s",
                         path->text, uvhttp_strerror(err), uvh_user_files_advice(err));
}

bool uvh_access_logs_check(const struct uvh_setup *setup, struct uvh_problems *problems)
{
    size_t before = problems->count;
    for (size_t i = 0; i <= setup->site_count; i++) {
        const struct uvh_setup_log *log = log_at(setup, i);
        if (log->path.text == NULL)
            continue;
        const struct uvh_setup_log *first = log_at(setup, first_index(setup, i));
        char where[UVH_MARK_TEXT];
        if (first == log)
            check_log(log, problems);
        else if (!same_options(&log->options, &first->options))
            uvh_problems_add(problems, log->path.mark,
                             "the access log '%s' is also that of %s, which has other options; "
                             "use another path",
                             log->path.text,
                             uvh_mark_describe(&first->path.mark, &log->path.mark, where));
    }
    return problems->count == before;
}

static bool open_log(struct uvh_access_logs *logs, const struct uvh_setup_log *wanted,
                     uvhttp_access_log_t **log)
{
    uvhttp_access_log_options_t options = wanted->options;
    options.path = wanted->path.text;
    options.log = uvhttp_log_to_stderr;
    options.log_arg = &logs->level;
    int err = uvhttp_access_log_new(log, &options, NULL);
    if (err != 0)
        fprintf(stderr, "uvhttp: the access log '%s' cannot be opened: %s\n", options.path,
                uvhttp_strerror(err));
    return err == 0;
}

bool uvh_access_logs_open(struct uvh_access_logs *logs, struct uvh_setup *setup,
                          const struct uvh_run_as *as)
{
    *logs = (struct uvh_access_logs){.setup = setup, .level = setup->log_level};
    for (size_t i = 0; i <= setup->site_count; i++) {
        const struct uvh_setup_log *wanted = log_at(setup, i);
        if (wanted->path.text == NULL)
            continue;
        size_t first = first_index(setup, i);
        uvh_run_as_create(as, uvh_access_logs_file(setup, i), 0640); /* as the library does */
        if (first < i)
            *opened_at(logs, i) = *opened_at(logs, first);
        else if (!open_log(logs, wanted, opened_at(logs, i)))
            return false;
        logs->any = true;
    }
    return true;
}

int uvh_access_logs_skip(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    int err = uvhttp_access_log_skip(request);
    return err == 0 ? UVHTTP_DECLINED : err;
}

uvhttp_access_log_t *uvh_access_logs_find(const struct uvh_access_logs *logs,
                                          const uvhttp_request_t *request)
{
    const struct uvh_setup_site *site = uvhttp_request_router_data(request);
    if (site == NULL || (site->log == NULL && !site->access_log.off))
        return logs->common;
    return site->log;
}

/* Calls `act` with each opened log, once. */
static void each(struct uvh_access_logs *logs, void (*act)(uvhttp_access_log_t *log))
{
    size_t count = logs->setup == NULL ? 0 : logs->setup->site_count + 1;
    for (size_t i = 0; i < count; i++) {
        uvhttp_access_log_t *log = *opened_at(logs, i);
        if (log != NULL && first_index(logs->setup, i) == i)
            act(log);
    }
}

void uvh_access_logs_reopen(struct uvh_access_logs *logs)
{
    each(logs, uvhttp_access_log_reopen);
}

static void free_log(uvhttp_access_log_t *log)
{
    uvhttp_access_log_free(log);
}

void uvh_access_logs_close(struct uvh_access_logs *logs)
{
    each(logs, free_log);
}
