/* Connections other than those of an address and port: unix sockets and their files, and
 * descriptors that listen or are connected. A descriptor that the server rejects stays open. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "server/server.h"
#include "support/fault_site.h"
#include "support/stage.h"

enum { LISTEN_FDS_START = 3 };

static struct stage stage;
static struct raw_client client = {.socket = -1};
static char directory[64], path[96];

static int send_client_address(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(response, 200, uvhttp_request_client_address(request));
}

static void begin(void)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/client", send_client_address, NULL),
                     0);
    client.socket = -1;
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
    unlink(path);
}

/* Uses a connected socket for the client. */
static void use_socket(int socket)
{
    assert_true(socket >= 0);
    client = (struct raw_client){.socket = socket};
    assert_int_equal(fcntl(socket, F_SETFL, O_NONBLOCK), 0);
}

static struct sockaddr_un address_of(const char *name, socklen_t *length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, strlen(name));
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] != '@'));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    return address;
}

static int connect_to(const char *name)
{
    socklen_t length;
    struct sockaddr_un address = address_of(name, &length);
    int created = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(created >= 0);
    if (connect(created, (struct sockaddr *)&address, length) == 0)
        return created;
    close(created);
    return -errno;
}

static int bind_to(const char *name)
{
    socklen_t length;
    struct sockaddr_un address = address_of(name, &length);
    int created = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(created, (struct sockaddr *)&address, length), 0);
    return created;
}

static void assert_client_is(const char *expected)
{
    size_t offset = 0;
    struct raw_response response;
    raw_client_send_text(&client, "GET /client HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.status, 200);
    assert_int_equal(response.body_length, strlen(expected));
    assert_memory_equal(response.body, expected, response.body_length);
    client.received = 0;
}

static bool exists(void)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* ---- unix sockets ---- */

static void unix_socket_serves_and_file_is_removed(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), 0);
    assert_int_equal(uvhttp_server_port(stage.server), 0);
    use_socket(connect_to(path));
    assert_client_is("unix:");
    stage_listen(&stage); /* in addition to the unix socket */
    assert_client_is("unix:");
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 3);
    assert_false(exists());
    end();
}

static void unix_socket_mode_is_set(void **state)
{
    (void)state;
    static const unsigned modes[] = {0600, 0660, 0666, 0777};
    mode_t before = umask(027);
    for (size_t i = 0; i <= UVH_COUNT_OF(modes); i++) {
        struct stat status;
        begin();
        unsigned mode = i < UVH_COUNT_OF(modes) ? modes[i] : 0;
        assert_int_equal(uvhttp_server_listen_unix(stage.server, path, mode), 0);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, mode != 0 ? mode : 0750);
        end();
        assert_false(exists());
    }
    umask(before);
}

/* The test has one other group at most, and another user only as root. */
static void unix_socket_owner_and_group_are_set(void **state)
{
    (void)state;
    bool root = geteuid() == 0;
    int64_t owner = root ? 12345 : (int64_t)geteuid(), group = root ? 23456 : (int64_t)getegid();
    struct stat status;
    begin();
    assert_int_equal(uvhttp_server_listen_unix_owned(stage.server, path, 0660, owner, group), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0660);
    assert_int_equal(status.st_uid, owner);
    assert_int_equal(status.st_gid, group);
    end();
    begin();
    assert_int_equal(uvhttp_server_listen_unix_owned(stage.server, path, 0, -1, group), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, geteuid());
    assert_int_equal(status.st_gid, group);
    end();
}

/* Nothing is left of a socket that cannot get its owner. */
static void unix_socket_without_permission_for_owner_gets_eperm(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();
    begin();
    assert_int_equal(uvhttp_server_listen_unix_owned(stage.server, path, 0, 0, -1), UV_EPERM);
    assert_non_null(strstr(uvhttp_server_error(stage.server)->text, "only root"));
    assert_false(exists());
    end();
}

static void invalid_unix_socket_owners_are_rejected(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_listen_unix_owned(stage.server, path, 0, UINT32_MAX, -1),
                     UVHTTP_EINVAL);
    assert_string_equal(uvhttp_server_error(stage.server)->text,
                        "owner is 4294967295; allowed are -1 to 4294967294");
    assert_int_equal(uvhttp_server_listen_unix_owned(stage.server, path, 0, -1, INT64_MAX),
                     UVHTTP_EINVAL);
    assert_string_equal(uvhttp_server_error(stage.server)->field, "group");
    assert_int_equal(uvhttp_server_listen_unix_owned(NULL, path, 0, -1, -1), UVHTTP_ENOMEM);
    assert_false(exists());
    end();
}

/* A container may allow every port. */
static bool low_ports_are_allowed(void)
{
    unsigned first = 1024;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
    if (file != NULL) {
        if (fscanf(file, "%u", &first) != 1)
            first = 1024;
        fclose(file);
    }
    return first <= 1;
}

static void low_port_without_permission_names_capability(void **state)
{
    (void)state;
    uid_t user = geteuid();
    if (low_ports_are_allowed())
        skip();
    begin();
    if (user == 0)
        assert_int_equal(seteuid(65534), 0); /* has no capabilities */
    int err = uvhttp_server_listen(stage.server, "127.0.0.1", 1);
    if (user == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(err, UV_EACCES);
    assert_string_equal(uvhttp_server_error(stage.server)->text,
                        "cannot listen on 127.0.0.1:1: permission denied; a port below 1024 needs "
                        "the capability CAP_NET_BIND_SERVICE");
    end();
}

static void stale_unix_socket_is_replaced(void **state)
{
    (void)state;
    begin();
    close(bind_to(path)); /* as a killed process leaves it */
    assert_true(exists());
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0600), 0);
    use_socket(connect_to(path));
    assert_client_is("unix:");
    end();
    assert_false(exists());
}

static void unix_socket_in_use_gets_eaddrinuse(void **state)
{
    (void)state;
    begin();
    int listening = bind_to(path);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), UV_EADDRINUSE);
    assert_non_null(strstr(stage.last_error, path));
    assert_true(exists());
    /* The same with a full accept queue. */
    int queued[3];
    for (size_t i = 0; i < UVH_COUNT_OF(queued); i++) {
        queued[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        socklen_t length;
        struct sockaddr_un address = address_of(path, &length);
        (void)!connect(queued[i], (struct sockaddr *)&address, length);
    }
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), UV_EADDRINUSE);
    for (size_t i = 0; i < UVH_COUNT_OF(queued); i++)
        close(queued[i]);
    close(listening);
    end();
}

static void unix_path_of_other_file_gets_eexist(void **state)
{
    (void)state;
    begin();
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(file, "mine", 4), 4);
    close(file);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), UV_EEXIST);
    assert_non_null(strstr(stage.last_error, "not a socket"));
    assert_true(exists());
    unlink(path);
    assert_int_equal(symlink("nowhere", path), 0);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), UV_EEXIST);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), UV_EEXIST);
    rmdir(path);
    end();
}

static void replaced_unix_socket_not_removed_at_stop(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), 0);
    assert_int_equal(unlink(path), 0);
    int other = bind_to(path);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    assert_true(exists());
    unlink(path);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(file);
    close(other);
    end();
}

static void invalid_unix_paths_are_rejected(void **state)
{
    (void)state;
    begin();
    char longest[200];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "/tmp/", 5);
    longest[108] = '\0';
    assert_int_equal(uvhttp_server_listen_unix(stage.server, longest, 0), UV_ENAMETOOLONG);
    assert_non_null(strstr(stage.last_error, "107 bytes"));
    assert_int_equal(uvhttp_server_listen_unix(stage.server, "", 0), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, "@", 0), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, NULL, 0), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 01777), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, "/nowhere/at/all", 0), UV_ENOENT);
    assert_int_equal(uvhttp_server_listen_unix(NULL, path, 0), UVHTTP_ENOMEM);
    assert_false(exists());
    end();
}

static void abstract_unix_socket_has_no_file(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "@uvhttp-test-%ld", (long)getpid());
    begin();
    assert_int_equal(uvhttp_server_listen_unix(stage.server, name, 0600), 0);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, name, 0), UV_EADDRINUSE);
    use_socket(connect_to(name));
    assert_client_is("unix:");
    end();
    assert_int_equal(connect_to(name), -ECONNREFUSED);
}

static void stop_serves_queued_unix_connection(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), 0);
    use_socket(connect_to(path));
    raw_client_send_text(&client, "GET /client HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_true(raw_client_step(&client, 0));
    uvhttp_server_stop(stage.server);
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    end();
}

static struct raw_response complete;

static bool has_response(void *arg)
{
    size_t offset = 0;
    while (raw_client_response(arg, &offset, false, &complete))
        if (complete.status >= 200)
            return true;
    return false;
}

static void unix_socket_sends_files(void **state)
{
    (void)state;
    begin();
    assert_int_equal(fault_site_prepare(), 0);
    assert_int_equal(fault_site_build(stage.server, NULL), 0);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), 0);
    use_socket(connect_to(path));
    static const char *const targets[] = {"/file", "/static/large.bin", "/static/large.bin",
                                          "/pieces"};
    for (size_t i = 0; i < UVH_COUNT_OF(targets); i++) {
        char request[128];
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", targets[i]);
        raw_client_send_text(&client, request);
        stage_drive(&stage, &client, 100000, has_response, &client);
        assert_int_equal(complete.body_length, FAULT_SITE_LARGE);
        assert_memory_equal(complete.body, fault_site.large, FAULT_SITE_LARGE);
        client.received = 0;
    }
    end();
    assert_int_equal(fault_site_clean(), 0);
}

/* ---- descriptors ---- */

static int listen_on_loopback(int family)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 ipv6_address = {.sin6_family = AF_INET6}; /* any IPv4 or IPv6 address */
    int created = socket(family, SOCK_STREAM, 0);
    assert_true(created >= 0);
    int err = family == AF_INET
                  ? bind(created, (struct sockaddr *)&ipv4, sizeof ipv4)
                  : bind(created, (struct sockaddr *)&ipv6_address, sizeof ipv6_address);
    assert_int_equal(err, 0);
    assert_int_equal(listen(created, 8), 0);
    return created;
}

static void listen_fd_serves_connections(void **state)
{
    (void)state;
    begin();
    int created = listen_on_loopback(AF_INET);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, created), 0);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, created), UV_EEXIST);
    assert_true(fcntl(created, F_GETFD) & FD_CLOEXEC);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    assert_client_is("127.0.0.1");
    end(); /* fails the test if the descriptor is still open */
}

static void dual_stack_listen_fd_reports_ipv4_address(void **state)
{
    (void)state;
    int created = socket(AF_INET6, SOCK_STREAM, 0);
    if (created < 0)
        skip(); /* no IPv6 on this machine */
    close(created);
    begin();
    assert_int_equal(uvhttp_server_listen_fd(stage.server, listen_on_loopback(AF_INET6)), 0);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    assert_client_is("127.0.0.1");
    end();
}

static void listen_fd_rejects_other_descriptors(void **state)
{
    (void)state;
    begin();
    int pair[2], pipes[2], datagrams = socket(AF_INET, SOCK_DGRAM, 0),
                           fresh = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, pair[0]), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, datagrams), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, fresh), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, pipes[0]), UV_ENOTSOCK);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, -1), UV_EBADF);
    assert_int_equal(uvhttp_server_listen_fd(NULL, pair[0]), UVHTTP_ENOMEM);
    int listening = listen_on_loopback(AF_INET);
    assert_int_equal(uvhttp_server_adopt(stage.server, listening), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_adopt(stage.server, fresh), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_adopt(stage.server, pipes[0]), UV_ENOTSOCK);
    assert_int_equal(uvhttp_server_adopt(stage.server, -1), UV_EBADF);
    const int all[] = {pair[0], pair[1], pipes[0], pipes[1], datagrams, fresh, listening};
    for (size_t i = 0; i < UVH_COUNT_OF(all); i++)
        assert_int_equal(close(all[i]), 0);
    end();
}

static void failed_listen_fd_keeps_descriptor_open(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 40; n++) {
        int pair[2], listening = listen_on_loopback(AF_INET);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        begin();
        fault_heap_arm(&stage.heap, n, false);
        int results[] = {uvhttp_server_listen_fd(stage.server, listening),
                         uvhttp_server_adopt(stage.server, pair[0]),
                         uvhttp_server_listen_unix(stage.server, path, 0)};
        bool failed = atomic_load(&stage.heap.failures) > 0;
        size_t errors = 0;
        for (size_t i = 0; i < UVH_COUNT_OF(results); i++) {
            assert_true(results[i] == 0 || results[i] == UVHTTP_ENOMEM);
            errors += results[i] != 0;
        }
        assert_int_equal(errors > 0, failed);
        assert_int_equal(exists(), results[2] == 0);
        if (results[0] != 0)
            assert_int_equal(close(listening), 0);
        if (results[1] != 0)
            assert_int_equal(close(pair[0]), 0);
        close(pair[1]);
        stage_iterations(&stage, 3);
        stage.descriptors -= 3; /* the descriptors of this test were opened before stage_begin */
        end();
        if (!failed)
            return;
    }
    fail_msg("every number of allocations failed");
}

/* The loop may run later, and on another thread. */
static void adopt_starts_no_loop_iteration(void **state)
{
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    begin();
    assert_int_equal(uvhttp_server_adopt(stage.server, pair[0]), 0);
    assert_false(uvh_loop_stats_in_iteration(&uvh_server_of(stage.server)->workers[0].loop_stats));
    assert_int_equal(uvhttp_server_stats(stage.server)->total_connections, 1);
    close(pair[1]);
    stage_iterations(&stage, 3);
    stage.descriptors -= 2; /* the descriptors of this test were opened before stage_begin */
    end();
}

static void adopted_socket_is_served(void **state)
{
    (void)state;
    begin();
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(uvhttp_server_adopt(stage.server, pair[0]), 0);
    assert_int_equal(uvhttp_server_adopt(stage.server, pair[0]), UV_EEXIST);
    use_socket(pair[1]);
    assert_client_is("unix:");
    assert_client_is("unix:");
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 1);
    assert_int_equal(uvhttp_server_stats(stage.server)->total_connections, 1);
    uvhttp_server_stop(stage.server);
    stage_drive_to_end(&stage, &client, 100);
    assert_int_equal(uvhttp_server_adopt(stage.server, pair[1]), UVHTTP_ESTOPPED);
    end();
}

static void run_serves_adopted_socket_without_listener(void **state)
{
    (void)state;
    int pair[2];
    stage_begin(&stage);
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, stage.config);
    assert_non_null(server);
    assert_int_equal(uvhttp_server_route(server, "GET", "/client", send_client_address, NULL), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(uvhttp_server_adopt(server, pair[0]), 0);
    use_socket(pair[1]);
    raw_client_send_text(&client, "GET /client HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_step(&client, 0);
    uvhttp_server_stop(server);
    assert_int_equal(uvhttp_server_run(server), 0);
    raw_client_step(&client, 1000);
    assert_memory_equal(client.data, "HTTP/1.1 200 ", 13);
    uvhttp_server_free(server);
    end();
}

static void adopted_sockets_count_as_connections(void **state)
{
    (void)state;
    begin();
    stage.server = (uvhttp_server_free(stage.server), NULL);
    stage.config->max_connections = 1;
    assert_non_null(stage_new_server(&stage));
    int first[2], second[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, first), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, second), 0);
    assert_int_equal(uvhttp_server_adopt(stage.server, first[0]), 0);
    assert_int_equal(uvhttp_server_adopt(stage.server, second[0]), 0);
    use_socket(second[1]);
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_memory_equal(client.data, "HTTP/1.1 503", 12);
    close(first[1]);
    end();
}

/* Passes `socket` as a service manager does. */
static void inherit(int socket, const char *pid, const char *count)
{
    if (socket >= 0) {
        assert_int_equal(dup2(socket, LISTEN_FDS_START), LISTEN_FDS_START);
        close(socket);
    }
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", count, 1);
}

static void listen_inherited_takes_passed_sockets(void **state)
{
    (void)state;
    char own[32];
    size_t count = 7;
    /* The test runner may use this descriptor. */
    int spare = fcntl(LISTEN_FDS_START, F_DUPFD_CLOEXEC, 100);
    snprintf(own, sizeof own, "%ld", (long)getpid());
    close(LISTEN_FDS_START);
    int listener = listen_on_loopback(AF_INET);
    if (listener != LISTEN_FDS_START) {
        assert_int_equal(dup2(listener, LISTEN_FDS_START), LISTEN_FDS_START);
        close(listener);
    }
    begin();
    unsetenv("LISTEN_PID");
    assert_int_equal(uvhttp_server_listen_inherited(stage.server, &count), 0);
    assert_int_equal(count, 0);
    static const char *const ignored[][2] = {
        {"1", "1"},   {NULL, "0"},  {NULL, ""}, {NULL, "x"},
        {NULL, "-1"}, {NULL, "1x"}, {"", "1"},  {NULL, "99999999999999999999"}};
    for (size_t i = 0; i < UVH_COUNT_OF(ignored); i++) {
        inherit(-1, ignored[i][0] != NULL ? ignored[i][0] : own, ignored[i][1]);
        assert_int_equal(uvhttp_server_listen_inherited(stage.server, &count), 0);
        assert_int_equal(count, 0);
    }
    inherit(-1, own, "1");
    assert_int_equal(uvhttp_server_listen_inherited(stage.server, &count), 0);
    assert_int_equal(count, 1);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    assert_client_is("127.0.0.1");
    stage.descriptors--; /* the socket was opened before stage_begin */
    end();
    begin();
    /* The descriptor is another one, or closed. */
    assert_int_not_equal(uvhttp_server_listen_inherited(stage.server, &count), 0);
    assert_int_equal(count, 0);
    end();
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    if (spare >= 0) {
        dup2(spare, LISTEN_FDS_START);
        close(spare);
    }
}

static void localhost_listens_on_both_loopback_addresses(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_listen(stage.server, "localhost", 0), 0);
    int port = uvhttp_server_port(stage.server);
    assert_int_equal(uvhttp_server_last_port(stage.server), port);
    raw_client_connect(&client, port, 0);
    assert_client_is("127.0.0.1");
    raw_client_close(&client, false);
    struct sockaddr_in6 ipv6_address = {.sin6_family = AF_INET6,
                                        .sin6_port = htons((uint16_t)port),
                                        .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int ipv6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ipv6 >= 0 && connect(ipv6, (struct sockaddr *)&ipv6_address, sizeof ipv6_address) == 0) {
        use_socket(ipv6);
        assert_client_is("::1");
    } else if (ipv6 >= 0) {
        assert_int_equal(errno, EADDRNOTAVAIL); /* no IPv6 on this machine */
        close(ipv6);
    }
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), 0);
    assert_int_equal(uvhttp_server_port(stage.server), port);
    assert_int_not_equal(uvhttp_server_last_port(stage.server), port);
    end();
}

/* ---- the end of listening ---- */

static bool refuses(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool refused = connect(probe, (struct sockaddr *)&address, sizeof(address)) != 0;
    close(probe);
    return refused;
}

static void unlisten_keeps_connections_and_serves_the_queue(void **state)
{
    (void)state;
    struct raw_client kept = {.socket = -1};
    begin();
    stage_listen(&stage);
    int port = uvhttp_server_port(stage.server);
    raw_client_connect(&client, port, 0);
    assert_client_is("127.0.0.1");
    raw_client_connect(&kept, port, 0); /* not accepted yet */
    assert_int_equal(uvhttp_server_unlisten(stage.server, "127.0.0.1", port), 0);
    assert_true(refuses(port));
    assert_client_is("127.0.0.1");
    raw_client_send_text(&kept, "GET /client HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(stage_drive_responses(&stage, &kept, 1000, 1), 1);
    raw_client_close(&kept, false);
    stage_listen(&stage); /* elsewhere */
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_last_port(stage.server), 0);
    assert_client_is("127.0.0.1");
    end();
}

static void unlisten_leaves_other_addresses(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_listen(stage.server, "localhost", 0), 0);
    int port = uvhttp_server_port(stage.server);
    stage_listen(&stage);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), 0);
    assert_int_equal(uvhttp_server_unlisten(stage.server, "127.0.0.1", port), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_unlisten(stage.server, "localhost", port + 1), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_unlisten(stage.server, path, 0), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_unlisten_unix(stage.server, ""), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_unlisten(stage.server, "localhost", port), 0);
    assert_true(refuses(port) && exists());
    assert_int_equal(uvhttp_server_unlisten_unix(stage.server, path), 0);
    assert_false(exists());
    assert_int_equal(uvhttp_server_unlisten_unix(stage.server, path), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), 0);
    use_socket(connect_to(path));
    assert_client_is("unix:");
    uvhttp_server_stop(stage.server);
    assert_int_equal(uvhttp_server_unlisten_unix(stage.server, path), UVHTTP_ESTOPPED);
    end();
}

struct listened {
    size_t count;
    int fd, port;
    char name[8];
};

static void note_listening(const uvhttp_listening_t *listening, void *arg)
{
    struct listened *listened = arg;
    listened->count++;
    listened->fd = listening->fd;
    listened->port = listening->port;
    snprintf(listened->name, sizeof(listened->name), "%.7s", listening->name);
}

static void listening_sockets_are_enumerated(void **state)
{
    (void)state;
    struct listened listened = {.count = 0};
    begin();
    assert_int_equal(uvhttp_server_each_listening(stage.server, note_listening, &listened), 0);
    assert_int_equal(listened.count, 0);
    stage_listen(&stage);
    assert_int_equal(uvhttp_server_each_listening(stage.server, note_listening, &listened), 0);
    assert_int_equal(listened.count, 1);
    assert_int_equal(listened.port, uvhttp_server_port(stage.server));
    assert_string_equal(listened.name, "127.0.0");
    /* A copy goes on to accept, as another process does. */
    int copy = dup(listened.fd);
    assert_int_equal(uvhttp_server_unlisten(stage.server, "127.0.0.1", listened.port), 0);
    assert_int_equal(uvhttp_server_listen_fd(stage.server, copy), 0);
    raw_client_connect(&client, listened.port, 0);
    assert_client_is("127.0.0.1");
    assert_int_equal(uvhttp_server_each_listening(stage.server, note_listening, &listened), 0);
    assert_int_equal(listened.count, 2);
    assert_string_equal(listened.name, "");
    /* It has no address. */
    assert_int_equal(uvhttp_server_unlisten(stage.server, "127.0.0.1", listened.port),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_unlisten_fd(stage.server, -1), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_unlisten_fd(stage.server, copy), 0);
    assert_true(refuses(listened.port));
    assert_client_is("127.0.0.1");
    assert_int_equal(uvhttp_server_unlisten_fd(stage.server, copy), UVHTTP_EINVAL);
    end();
}

int main(void)
{
    snprintf(directory, sizeof directory, "/tmp/uvhttp-listening-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/socket", directory);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unix_socket_serves_and_file_is_removed),
        cmocka_unit_test(unix_socket_mode_is_set),
        cmocka_unit_test(unix_socket_owner_and_group_are_set),
        cmocka_unit_test(unix_socket_without_permission_for_owner_gets_eperm),
        cmocka_unit_test(invalid_unix_socket_owners_are_rejected),
        cmocka_unit_test(low_port_without_permission_names_capability),
        cmocka_unit_test(stale_unix_socket_is_replaced),
        cmocka_unit_test(unix_socket_in_use_gets_eaddrinuse),
        cmocka_unit_test(unix_path_of_other_file_gets_eexist),
        cmocka_unit_test(replaced_unix_socket_not_removed_at_stop),
        cmocka_unit_test(invalid_unix_paths_are_rejected),
        cmocka_unit_test(abstract_unix_socket_has_no_file),
        cmocka_unit_test(stop_serves_queued_unix_connection),
        cmocka_unit_test(unix_socket_sends_files),
        cmocka_unit_test(listen_fd_serves_connections),
        cmocka_unit_test(dual_stack_listen_fd_reports_ipv4_address),
        cmocka_unit_test(listen_fd_rejects_other_descriptors),
        cmocka_unit_test(failed_listen_fd_keeps_descriptor_open),
        cmocka_unit_test(adopt_starts_no_loop_iteration),
        cmocka_unit_test(adopted_socket_is_served),
        cmocka_unit_test(run_serves_adopted_socket_without_listener),
        cmocka_unit_test(adopted_sockets_count_as_connections),
        cmocka_unit_test(listen_inherited_takes_passed_sockets),
        cmocka_unit_test(localhost_listens_on_both_loopback_addresses),
        cmocka_unit_test(unlisten_keeps_connections_and_serves_the_queue),
        cmocka_unit_test(unlisten_leaves_other_addresses),
        cmocka_unit_test(listening_sockets_are_enumerated),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
