/* The command precompress: options, worker threads and output. Lists all jobs first, so that
 * progress can be shown; a job is one file with one content coding. Guarantees that an interrupted
 * run leaves only complete files. */
#include "precompress.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "options.h"
#include "sibling.h"
#include "sources.h"
#include "usage.h"

enum {
    DEFAULT_MIN_SIZE = 1024,
    MOST_JOBS = 256,
    BAR_COLUMNS = 20,
    BAR_NAME = 28, /* columns of a file name */
    BAR_INTERVAL_MS = 100,
    EXIT_INTERRUPTED = 130, /* 128 + SIGINT, as in a shell */
};

#define NOT_SAID UINT64_MAX

struct command {
    const char *directory;
    unsigned codings; /* sum of uvhttp_coding_t */
    int level;        /* of all codings, limited to each one's highest */
    uint64_t min_size;
    unsigned jobs;
    bool force, dry_run, remove, quiet, verbose;
};

/* Shared by the threads; the members after the lock are protected by it. */
struct work {
    const struct command *command;
    const struct uvh_sources *sources;
    int root;
    bool bar; /* progress on a terminal */
    uv_mutex_t lock;
    size_t next; /* job: source and coding, wanted or not */
    size_t jobs;
    size_t done; /* of those wanted */
    size_t total;
    size_t outcomes[UVH_SIBLING_FAILED + 1];
    uint64_t size, coded_size;
    uint64_t bytes_done, bytes_total; /* of the sources, once for each coding */
    uint64_t start_time, bar_time;    /* milliseconds */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = 1;
    signal(number, SIG_DFL); /* the second signal ends the process */
}

/* ---- the jobs ---- */

static bool is_wanted(const struct command *command, const struct uvh_sibling_coding *coding)
{
    return (command->codings & (unsigned)coding->coding) != 0;
}

static int level_for(const struct command *command, const struct uvh_sibling_coding *coding)
{
    if (command->level == UVHTTP_COMPRESS_BEST)
        return UVHTTP_COMPRESS_BEST;
    return command->level < coding->level_most ? command->level : coding->level_most;
}

/* "1:05 left", or nothing. */
static void draw_remaining(const struct work *work, uint64_t now)
{
    uint64_t elapsed = now - work->start_time;
    uint64_t left = work->bytes_total - work->bytes_done;
    if (work->bytes_done == 0)
        return;
    double seconds = (double)elapsed / 1000 * (double)left / (double)work->bytes_done + 0.5;
    unsigned long whole = (unsigned long)seconds;
    if (whole >= 3600)
        fprintf(stderr, "  %lu:%02lu:%02lu left", whole / 3600, whole / 60 % 60, whole % 60);
    else
        fprintf(stderr, "  %lu:%02lu left", whole / 60, whole % 60);
}

/* The end of a path, in one line of a terminal. */
static void draw_name(const char *path)
{
    size_t length = strlen(path);
    const char *at = length > BAR_NAME ? path + length - BAR_NAME : path;
    while (((unsigned char)*at & 0xc0) == 0x80) /* within a character */
        at++;
    fputs(at == path ? "  " : "  ...", stderr);
    for (; *at != '\0'; at++)
        fputc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, stderr);
}

/* `path`: of the file that a thread begins with; NULL at the end. */
static void draw_bar(struct work *work, const char *path)
{
    bool last = path == NULL;
    uint64_t now = uv_hrtime() / 1000000;
    uint64_t total = work->bytes_total > 0 ? work->bytes_total : 1;
    if (!work->bar || (!last && work->bar_time != 0 && now < work->bar_time + BAR_INTERVAL_MS))
        return;
    work->bar_time = now;
    double share = (double)work->bytes_done / (double)total;
    int filled = (int)(share * BAR_COLUMNS);
    fprintf(stderr, "\r[%.*s%*s] %3d %%  %zu/%zu", filled, "####################",
            BAR_COLUMNS - filled, "", (int)(share * 100), work->done, work->total);
    draw_remaining(work, now);
    if (!last)
        draw_name(path);
    fputs(last ? "\r\033[K" : "\033[K", stderr);
    fflush(stderr);
}

static void tell(struct work *work, const struct uvh_sibling *sibling,
                 enum uvh_sibling_outcome outcome)
{
    const struct command *command = work->command;
    const char *suffix = sibling->coding->suffix;
    bool named = (command->verbose || command->dry_run) && !command->quiet;
    if (work->bar && (named || outcome == UVH_SIBLING_FAILED))
        fputs("\r\033[K", stderr);
    if (outcome == UVH_SIBLING_FAILED)
        fprintf(stderr, "uvhttp precompress: %s%s: %s\n", sibling->path, suffix, sibling->error);
    else if (outcome == UVH_SIBLING_REMOVED && named)
        printf("%s %s%s\n", command->dry_run ? "would remove" : "removed", sibling->path, suffix);
    else if (outcome == UVH_SIBLING_MADE && command->dry_run && named)
        printf("would create %s%s\n", sibling->path, suffix);
    else if (outcome == UVH_SIBLING_MADE && named)
        printf("created %s%s: %llu of %llu bytes\n", sibling->path, suffix,
               (unsigned long long)sibling->coded_size, (unsigned long long)sibling->size);
}

static void run_jobs(void *arg)
{
    struct work *work = arg;
    const struct command *command = work->command;
    uv_mutex_lock(&work->lock);
    while (work->next < work->jobs && !interrupted) {
        size_t job = work->next++;
        struct uvh_sibling sibling = {.root = work->root,
                                      .path = work->sources->items[job / UVH_SIBLING_CODINGS].path,
                                      .coding = &uvh_sibling_codings[job % UVH_SIBLING_CODINGS],
                                      .force = command->force,
                                      .only_say = command->dry_run};
        sibling.level = level_for(command, sibling.coding);
        if (is_wanted(command, sibling.coding)) {
            draw_bar(work, sibling.path);
            uv_mutex_unlock(&work->lock);
            enum uvh_sibling_outcome outcome =
                command->remove ? uvh_sibling_remove(&sibling) : uvh_sibling_make(&sibling);
            uv_mutex_lock(&work->lock);
            work->outcomes[outcome]++;
            if (outcome == UVH_SIBLING_MADE) {
                work->size += sibling.size;
                work->coded_size += sibling.coded_size;
            }
            work->bytes_done += work->sources->items[job / UVH_SIBLING_CODINGS].size;
            work->done++;
            tell(work, &sibling, outcome);
        }
    }
    uv_mutex_unlock(&work->lock);
}

/* This thread runs jobs, too, and all of them if no thread can be created. */
static void run_threads(struct work *work)
{
    uv_thread_t threads[MOST_JOBS];
    unsigned started = 0;
    unsigned wanted = work->command->jobs;
    while (started + 1 < wanted && uv_thread_create(&threads[started], run_jobs, work) == 0)
        started++;
    run_jobs(work);
    while (started > 0)
        uv_thread_join(&threads[--started]);
}

static void tell_result(const struct work *work)
{
    const struct command *command = work->command;
    const size_t *outcomes = work->outcomes;
    if (command->quiet)
        return;
    printf("%zu %s: ", work->sources->count, work->sources->count == 1 ? "file" : "files");
    if (command->remove) {
        printf("%zu %s\n", outcomes[UVH_SIBLING_REMOVED],
               command->dry_run ? "would be removed" : "removed");
        return;
    }
    printf("%zu %s, %zu up to date, %zu not smaller, %zu failed", outcomes[UVH_SIBLING_MADE],
           command->dry_run ? "to create" : "created", outcomes[UVH_SIBLING_FRESH],
           outcomes[UVH_SIBLING_USELESS], outcomes[UVH_SIBLING_FAILED]);
    if (work->size > 0)
        printf("; compressed to %.0f %% of the size",
               (double)work->coded_size * 100.0 / (double)work->size);
    putchar('\n');
}

static int work_on(const struct command *command, int root, const struct uvh_sources *sources)
{
    struct work work = {.command = command, .sources = sources, .root = root};
    size_t codings = 0;
    for (size_t i = 0; i < UVH_SIBLING_CODINGS; i++)
        codings += is_wanted(command, &uvh_sibling_codings[i]);
    work.jobs = sources->count * UVH_SIBLING_CODINGS;
    work.total = sources->count * codings;
    for (size_t i = 0; i < sources->count; i++)
        work.bytes_total += sources->items[i].size * codings;
    work.start_time = uv_hrtime() / 1000000;
    work.bar = !command->quiet && isatty(STDERR_FILENO);
    if (uv_mutex_init(&work.lock) != 0) {
        fputs("uvhttp precompress: out of memory\n", stderr);
        return UVH_EXIT_FAILED;
    }
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    run_threads(&work);
    draw_bar(&work, NULL);
    uv_mutex_destroy(&work.lock);
    tell_result(&work);
    if (interrupted) {
        fputs("uvhttp precompress: interrupted\n", stderr);
        return EXIT_INTERRUPTED;
    }
    return work.outcomes[UVH_SIBLING_FAILED] > 0 || sources->failed > 0 ? UVH_EXIT_FAILED
                                                                        : UVH_EXIT_OK;
}

static int run(const struct command *command)
{
    struct uvh_sources sources;
    int code = UVH_EXIT_FAILED;
    int root = open(command->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        fprintf(stderr, "uvhttp precompress: %s: %s\n", command->directory, strerror(errno));
        return UVH_EXIT_FAILED;
    }
    if (uvh_sources_find(&sources, root, command->min_size, stderr))
        code = work_on(command, root, &sources);
    else
        fputs("uvhttp precompress: out of memory\n", stderr);
    uvh_sources_release(&sources);
    close(root);
    return code;
}

/* ---- the options ---- */

static int refuse(const char *option, const char *value, const char *allowed)
{
    fprintf(stderr, "uvhttp precompress: --%s is '%s'; %s\nTry 'uvhttp precompress --help'.\n",
            option, value, allowed);
    return UVH_EXIT_USAGE;
}

/* An unsigned integer of at most `most`, with the suffix K, M or G if `suffixed`. */
static bool read_number(const char *text, bool suffixed, uint64_t most, uint64_t *number)
{
    static const char suffixes[] = "KMG";
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    const char *suffix = suffixed && *end != '\0' ? strchr(suffixes, *end) : NULL;
    for (const char *unit = suffixes; suffix != NULL && unit <= suffix; unit++) {
        if (value > UINT64_MAX / 1024)
            return false;
        value *= 1024;
    }
    end += suffix != NULL;
    *number = value;
    return *end == '\0' && value <= most;
}

static bool read_codings(const char *list, unsigned *codings)
{
    *codings = 0;
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        size_t i = 0;
        while (i < UVH_SIBLING_CODINGS && (strlen(uvh_sibling_codings[i].name) != length ||
                                           memcmp(uvh_sibling_codings[i].name, list, length) != 0))
            i++;
        if (i == UVH_SIBLING_CODINGS)
            return false;
        *codings |= (unsigned)uvh_sibling_codings[i].coding;
        list += length;
        list += *list == ',';
    }
    return *codings != 0;
}

/* An option with a value. UVH_EXIT_OK, or an exit code after a message. */
static int read_value(struct command *command, int option, const char *value)
{
    uint64_t number;
    switch (option) {
    case 'c':
        return read_codings(value, &command->codings)
                   ? UVH_EXIT_OK
                   : refuse("codings", value, "allowed are br, zstd and gzip, separated by commas");
    case 'L':
        if (strcmp(value, "best") == 0)
            command->level = UVHTTP_COMPRESS_BEST;
        else if (read_number(value, false, 22, &number) && number > 0)
            command->level = (int)number;
        else
            return refuse("level", value, "allowed are 1 to 22, and best");
        return UVH_EXIT_OK;
    case 'm':
        return read_number(value, true, UINT64_MAX, &command->min_size)
                   ? UVH_EXIT_OK
                   : refuse("min-size", value,
                            "allowed is a number of bytes, optionally with K, M or G");
    default:
        if (!read_number(value, false, MOST_JOBS, &number) || number == 0)
            return refuse("jobs", value, "allowed are 1 to 256");
        command->jobs = (unsigned)number;
        return UVH_EXIT_OK;
    }
}

/* UVH_EXIT_OK with `*help` set if help was requested. */
static int read_options(struct command *command, int count, char **arguments, bool *help)
{
    static const struct option options[] = {
        {"codings", required_argument, NULL, 'c'},
        {"level", required_argument, NULL, 'L'},
        {"min-size", required_argument, NULL, 'm'},
        {"jobs", required_argument, NULL, 'j'},
        {"force", no_argument, NULL, 'f'},
        {"dry-run", no_argument, NULL, 'n'},
        {"remove", no_argument, NULL, 'R'},
        {"quiet", no_argument, NULL, 'q'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option, code = UVH_EXIT_OK;
    while (code == UVH_EXIT_OK &&
           (option = getopt_long(count, arguments, "j:fnqvh", options, NULL)) != -1) {
        switch (option) {
        case 'f':
            command->force = true;
            break;
        case 'n':
            command->dry_run = true;
            break;
        case 'R':
            command->remove = true;
            break;
        case 'q':
            command->quiet = true;
            break;
        case 'v':
            command->verbose = true;
            break;
        case 'h':
            *help = true;
            return UVH_EXIT_OK;
        case '?':
            return uvh_usage_refuse(arguments, options);
        default:
            code = read_value(command, option, optarg);
            break;
        }
    }
    if (code == UVH_EXIT_OK && count - optind != 1) {
        fputs(count == optind ? "uvhttp precompress: missing DIR"
                              : "uvhttp precompress: only one DIR is allowed",
              stderr);
        fputs("\nTry 'uvhttp precompress --help'.\n", stderr);
        return UVH_EXIT_USAGE;
    }
    command->directory = arguments[optind];
    if (command->min_size == NOT_SAID) /* a file may have shrunk since its sibling was made */
        command->min_size = command->remove ? 0 : DEFAULT_MIN_SIZE;
    return code;
}

int uvh_precompress_run(int argc, char **argv)
{
    struct command command = {.codings =
                                  UVHTTP_CODING_BROTLI | UVHTTP_CODING_GZIP | UVHTTP_CODING_ZSTD,
                              .level = UVHTTP_COMPRESS_BEST,
                              .min_size = NOT_SAID};
    bool help = false;
    unsigned processors = uv_available_parallelism();
    command.jobs = processors < MOST_JOBS ? processors : MOST_JOBS;
    int code = read_options(&command, argc, argv, &help);
    if (help) {
        uvh_precompress_help(stdout);
    } else if (code == UVH_EXIT_OK && !uvhttp_compress_available()) {
        fputs("uvhttp precompress: this build does not support compression\n", stderr);
        code = UVH_EXIT_FAILED;
    } else if (code == UVH_EXIT_OK) {
        code = run(&command);
    }
    return code;
}

void uvh_precompress_help(FILE *out)
{
    fputs("Usage: uvhttp precompress [OPTION]... DIR\n"
          "\n"
          "Creates compressed files for the files in DIR and below: style.css.br,\n"
          "style.css.zst and style.css.gz for style.css. A server with the option\n"
          "`precompressed` sends them to clients that accept them. Files that are up to\n"
          "date are not changed, and none is created that would not be smaller. Files of\n"
          "compressed types, hidden files and symbolic links are skipped.\n"
          "\n"
          "      --codings LIST          content codings of br, zstd, gzip, separated by\n"
          "                              commas (default: all)\n"
          "      --level N               1 to 22, limited to the highest level of each\n"
          "                              content coding, or best\n"
          "                              (default: best: br 11, zstd 19, gzip 9)\n"
          "      --min-size SIZE         smallest file to compress; units: K, M, G\n"
          "                              (default: 1K; 0 to remove)\n"
          "  -j, --jobs N                files compressed at a time, 1 to 256\n"
          "                              (default: number of processors)\n"
          "  -f, --force                 also replace files that are up to date\n"
          "      --remove                remove the compressed files\n"
          "  -n, --dry-run               only print what would be done\n"
          "  -q, --quiet                 print errors only\n"
          "  -v, --verbose               print each file that is created or removed\n"
          "  -h, --help                  print this help\n",
          out);
}
