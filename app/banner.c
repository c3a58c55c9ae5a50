/* The start output. On a terminal: root, every URL of the server and the enabled features, in
 * colour unless NO_COLOR is set (https://no-color.org). Otherwise one plain line, which scripts may
 * rely on:
 *
 *     uvhttp: serving /srv/site at http://127.0.0.1:8080/ http://[::1]:8080/ http://192.0.2.7:8080/
 *
 * with "running" and the configuration file for `uvhttp run`. A second line shows enabled features:
 *
 *     uvhttp: enabled: hidden, rate-limit 1M, uploads from anybody
 *
 * Further lines show metrics and a status page with their own address:
 *
 *     uvhttp: metrics at http://127.0.0.1:9100/metrics
 *     uvhttp: status page at http://127.0.0.1:9100/status
 *
 * addresses that redirect to https, and a self-signed certificate:
 *
 *     uvhttp: redirecting http://127.0.0.1:8080/ to https
 *     uvhttp: self-signed certificate /srv/state/uvhttp/self-signed.pem, SHA-256 3A:5F:... */
#include "banner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "switched_on.h"

#define URL_SIZE     120
#define URL_MAX      64
#define ON_SIZE      2048
#define METRICS_SIZE 1024

struct url_list {
    size_t count;
    struct url {
        bool local;
        char text[URL_SIZE];
    } items[URL_MAX];
};

/* Adds a text once, if the list is not full. */
static void add_text(struct url_list *list, const char *text, bool local)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].text, text) == 0)
            return;
    }
    if (list->count == URL_MAX)
        return;
    struct url *url = &list->items[list->count++];
    url->local = local;
    snprintf(url->text, sizeof(url->text), "%s", text);
}

/* `like` has the port and the scheme. */
static void add_url(struct url_list *list, const char *host, const struct uvh_address *like,
                    bool local)
{
    char text[URL_SIZE];
    const char *open = uvh_address_is_ipv6(host) ? "[" : "";
    const char *close = uvh_address_is_ipv6(host) ? "]" : "";
    const char *scheme = like->scheme == UVH_SCHEME_HTTPS ? "https" : "http";
    if (like->port == (like->scheme == UVH_SCHEME_HTTPS ? 443 : 80))
        snprintf(text, sizeof(text), "%s://%s%s%s/", scheme, open, host, close);
    else
        snprintf(text, sizeof(text), "%s://%s%s%s:%d/", scheme, open, host, close, like->port);
    add_text(list, text, local);
}

/* The URLs of all addresses of the machine. */
static void add_any_urls(struct url_list *list, const struct uvh_address *like)
{
    struct uvh_machine_addresses found = {.count = 0};
    if (uvh_address_has_family(like->host, AF_INET))
        add_url(list, "127.0.0.1", like, true);
    if (uvh_address_has_family(like->host, AF_INET6) && uvh_machine_has_ipv6())
        add_url(list, "::1", like, true);
    uvh_machine_add_any(&found, like->host);
    for (size_t i = 0; i < found.count; i++)
        add_url(list, found.items[i], like, false);
}

static void collect_urls(struct url_list *list, const struct uvh_address *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *host = addresses[i].host;
        if (uvh_address_path(&addresses[i]) != NULL) {
            add_text(list, host, true);
            continue;
        }
        if (uvh_address_is_any(host))
            add_any_urls(list, &addresses[i]);
        else
            add_url(list, host, &addresses[i], uvh_address_is_loopback(host));
    }
}

/* Directory names may contain control characters, which the terminal would interpret. */
static void print_path(const char *path)
{
    for (const char *c = path; *c != '\0'; c++)
        putchar((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
}

/* The URL of metrics or a status page with their own address, as configured; "" otherwise. */
static void write_metrics(const struct uvh_metrics *metrics, char url[METRICS_SIZE])
{
    const struct uvh_metrics *at = metrics->shared != NULL ? metrics->shared : metrics;
    url[0] = '\0';
    if (at->server == NULL)
        return;
    struct url_list list = {.count = 0};
    if (uvh_address_path(&at->listen) != NULL)
        add_text(&list, at->listen.host, true);
    else
        add_url(&list, at->listen.host, &at->listen, true);
    const char *text = list.items[0].text;
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '/') /* the path begins with it */
        length--;
    snprintf(url, METRICS_SIZE, "%.*s%s%s", (int)length, text,
             uvh_address_path(&at->listen) != NULL ? " " : "", metrics->path);
}

static void print_urls(const struct url_list *urls)
{
    for (size_t i = 0; i < urls->count; i++) {
        putchar(' ');
        print_path(urls->items[i].text);
    }
}

/* Those of struct uvh_banner_parts; "": none. */
struct own_urls {
    char metrics[METRICS_SIZE], status[METRICS_SIZE];
};

static void print_plain_own(const char *name, const char *url)
{
    if (*url == '\0')
        return;
    printf("uvhttp: %s at ", name);
    print_path(url);
    putchar('\n');
}

static void print_plain(const struct uvh_options *options, const struct url_list *urls,
                        const char *source, const char *on, const struct own_urls *own)
{
    fputs(options->from_file ? "uvhttp: running " : "uvhttp: serving ", stdout);
    print_path(source);
    fputs(" at", stdout);
    print_urls(urls);
    putchar('\n');
    if (*on != '\0')
        printf("uvhttp: enabled: %s\n", on);
    print_plain_own("metrics", own->metrics);
    print_plain_own("status page", own->status);
}

static void print_plain_tls(const struct url_list *redirects, const char *certificate,
                            const char *fingerprint)
{
    if (redirects->count > 0) {
        fputs("uvhttp: redirecting", stdout);
        print_urls(redirects);
        fputs(" to https\n", stdout);
    }
    if (*fingerprint != '\0') {
        fputs("uvhttp: self-signed certificate ", stdout);
        print_path(certificate);
        printf(", SHA-256 %s\n", fingerprint);
    }
}

static void print_terminal_tls(const struct url_list *redirects, const char *certificate,
                               const char *fingerprint)
{
    for (size_t i = 0; i < redirects->count; i++)
        printf("  Redirect %s\n", redirects->items[i].text);
    if (*fingerprint != '\0') {
        fputs("\n  Self-signed certificate ", stdout);
        print_path(certificate);
        printf("\n  SHA-256 %s\n", fingerprint);
    }
}

static bool is_directory(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static void print_terminal_own(const char *name, const char *url, const char *link,
                               const char *plain)
{
    if (*url == '\0')
        return;
    printf("  %s  %s", name, link);
    print_path(url);
    printf("%s\n", plain);
}

static void print_terminal(const struct uvh_options *options, const struct url_list *urls,
                           const char *source, const char *on, const struct own_urls *others,
                           const struct url_list *redirects, const struct uvh_self_signed *own)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool color =
        (no_color == NULL || *no_color == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
    const char *strong = color ? "\033[1;32m" : "";
    const char *link = color ? "\033[36m" : "";
    const char *faint = color ? "\033[2m" : "";
    const char *plain = color ? "\033[0m" : "";

    printf("\n  %suvhttp %s%s\n\n  %s  ", strong, uvhttp_version(), plain,
           options->from_file ? "Running" : "Serving");
    print_path(source);
    putchar('\n');
    for (size_t i = 0; i < urls->count; i++) {
        printf("  %s  %s", urls->items[i].local ? "Local  " : "Network", link);
        print_path(urls->items[i].text);
        printf("%s\n", plain);
    }
    print_terminal_own("Metrics", others->metrics, link, plain);
    print_terminal_own("Status ", others->status, link, plain);
    print_terminal_tls(redirects, own->path, own->fingerprint);

    const char *index = options->files.index == NULL ? "index.html" : options->files.index;
    putchar('\n');
    fputs(faint, stdout);
    if (!options->from_file && is_directory(source)) {
        printf("  Index: %s. Directory listings: %s. Hidden files: %s.\n",
               *index == '\0' ? "none" : index, options->files.listing ? "on" : "off",
               options->files.hidden ? "on" : "off");
        if (*on != '\0')
            printf("  Enabled: %s.\n", on);
    }
    printf("  Press Ctrl+C to stop.%s\n\n", plain);
}

void uvh_banner_print(const struct uvh_options *options, const char *source,
                      const struct uvh_address *addresses, size_t count,
                      const struct uvh_banner_parts *parts)
{
    if (options->log_level < UVHTTP_LOG_INFO)
        return;
    struct url_list urls = {.count = 0}, redirects = {.count = 0};
    const struct uvh_self_signed *own = &parts->tls->self_signed;
    char on[ON_SIZE] = "";
    struct own_urls own_urls;
    bool terminal = isatty(STDOUT_FILENO);
    collect_urls(&urls, addresses, count);
    collect_urls(&redirects, parts->redirect->listen, parts->redirect->listen_count);
    write_metrics(parts->metrics, own_urls.metrics);
    write_metrics(parts->status, own_urls.status);
    if (!options->from_file)
        uvh_switched_on_write(options, addresses, count, !terminal, on, sizeof(on));
    if (terminal) {
        print_terminal(options, &urls, source, on, &own_urls, &redirects, own);
    } else {
        print_plain(options, &urls, source, on, &own_urls);
        print_plain_tls(&redirects, own->path, own->fingerprint);
    }
    fflush(stdout); /* a parent process may wait for it */
}
