/* See option_hint.h. Called by main.c and options.c for unknown words. */
#include "option_hint.h"

#include <string.h>

#define CONFIG  "'uvhttp run FILE'"
#define CHECK   "'uvhttp check FILE'"
#define DAEMON  "a service of systemd, or 'nohup uvhttp ... &'"
#define DIR     "the directory as an argument, as in 'uvhttp DIR'"
#define LISTEN  "'--listen HOST:PORT'"
#define LISTING "'--listing', which is the default"
#define LOG     "'format' of 'access_log', in a file for 'uvhttp run'"
#define SERVE   "'uvhttp serve DIR'"
#define TLS     "'--tls-cert FILE' or '--tls-self-signed'"

static const struct {
    const char *word, *hint;
} hints[] = {
    {"-C", "'--tls-cert FILE'"},
    {"-H", "'--hidden'"},
    {"-K", "'--tls-key FILE'"},
    {"-P", "'--symlinks none'"},
    {"-S", TLS},
    {"-T", CHECK},
    {"-V", "'uvhttp version'"},
    {"-a", "'--auth FILE', or '--listen HOST'"},
    {"-b", LISTEN},
    {"-c", CONFIG},
    {"-d", DIR},
    {"-g", CONFIG},
    {"-i", LISTEN},
    {"-o", "'--upload-overwrite'"},
    {"-r", "'--archive', or " DIR},
    {"-s", "'kill -TERM PID' to stop a server, 'uvhttp reload', or '--spa'"},
    {"-t", CHECK},
    {"-u", "'--uploads'"},
    {"-z", "'--archive'"},
    {"--access-log-format", LOG},
    {"--address", LISTEN},
    {"--auth-file", "'--auth FILE'"},
    {"--autoindex", LISTING},
    {"--basic-auth", "'--auth FILE'"},
    {"--bind", LISTEN},
    {"--brotli", "'--compress' or '--precompressed'"},
    {"--browse", LISTING},
    {"--cert", "'--tls-cert FILE'"},
    {"--config", CONFIG},
    {"--daemon", DAEMON},
    {"--daemonize", DAEMON},
    {"--debug", "'--verbose'"},
    {"--dir", DIR},
    {"--directory", DIR},
    {"--disable-indexing", "'--no-listing'"},
    {"--domain", "'hosts' of a site, in a file for 'uvhttp run'"},
    {"--enable-tar", "'--archive'"},
    {"--enable-tar-gz", "'--archive'"},
    {"--enable-zip", "'--archive'"},
    {"--gzip", "'--compress' or '--precompressed'"},
    {"--host", LISTEN},
    {"--https", TLS},
    {"--interfaces", LISTEN},
    {"--key", "'--tls-key FILE'"},
    {"--log", "'--access-log=FILE', or '2>FILE' for messages"},
    {"--log-format", LOG},
    {"--mkdir", "'--upload-directories'"},
    {"--no-symlinks", "'--symlinks none'"},
    {"--overwrite-files", "'--upload-overwrite'"},
    {"--pid", "'--pid-file'"},
    {"--redirect-status", "'status' beside 'redirect', in a file for 'uvhttp run'"},
    {"--root", DIR},
    {"--single", "'--spa'"},
    {"--ssl", TLS},
    {"--threads", "'--workers N'"},
    {"--tls", TLS},
    {"--upload-files", "'--uploads'"},
    {"adapt", "'uvhttp run --print-config FILE'"},
    {"build-info", "'uvhttp version'"},
    {"file-server", SERVE},
    {"http-server", SERVE},
    {"http.server", SERVE},
    {"start", CONFIG},
    {"stop", "'kill -TERM PID'"},
    {"test", CHECK},
    {"validate", CHECK},
};

const char *uvh_option_hint(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (strlen(hints[i].word) == length && memcmp(hints[i].word, word, length) == 0)
            return hints[i].hint;
    }
    return NULL;
}
