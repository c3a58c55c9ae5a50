/* platform/unix_socket.c: of several processes that start at the same time with a stale socket, one
 * gets the name. Nobody can connect before mode and group of the file are set. */
#include "platform/unix_socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/socket.h"

enum { STARTERS = 4, TIMES = 100, BACKLOG = 8 };

static char directory[] = "/tmp/uvhttp-unix-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/socket", directory);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static const struct uvh_unix_socket_access any = {.owner = -1, .group = -1};

/* What clients meet when the socket is bound and not yet listening. */
static struct {
    struct stat status;
    int connected; /* the errno of a client */
} before_listen;

/* Replaces the function of the C library. */
int listen(int socket_, int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    stat(path, &before_listen.status);
    bool failed = connect(client, (const struct sockaddr *)&address, sizeof(address)) != 0;
    before_listen.connected = failed ? errno : 0;
    close(client);
    return (int)syscall(SYS_listen, socket_, backlog);
}

/* A socket whose server was killed: the file remains. */
static void make_stale_socket(void)
{
    struct uvh_unix_socket_file file;
    unlink(path);
    int socket = uvh_unix_socket_listen(path, &any, BACKLOG, &file);
    assert_true(socket >= 0);
    uvh_socket_close(socket);
}

/* Runs in a child process: starts when `go` is closed, writes the result, and listens until `hold`
 * is closed. */
static void run_starter(int go, int result, int hold)
{
    struct uvh_unix_socket_file file;
    char byte;
    while (read(go, &byte, 1) > 0)
        ;
    int socket = uvh_unix_socket_listen(path, &any, BACKLOG, &file);
    byte = socket >= 0 ? 'l' : socket == -EADDRINUSE ? 'u' : '?';
    if (write(result, &byte, 1) == 1) {
        while (read(hold, &byte, 1) > 0)
            ;
    }
    _exit(0);
}

static void concurrent_start_gives_one_listener(void **state)
{
    (void)state;
    for (int time = 0; time < TIMES; time++) {
        int go[2], result[2], hold[2];
        char results[STARTERS];
        size_t listening = 0;
        make_stale_socket();
        assert_true(pipe(go) == 0 && pipe(result) == 0 && pipe(hold) == 0);
        for (int i = 0; i < STARTERS; i++) {
            pid_t starter = fork();
            assert_true(starter >= 0);
            if (starter == 0) {
                close(go[1]);
                close(hold[1]);
                run_starter(go[0], result[1], hold[0]);
            }
        }
        close(go[1]);
        close(result[1]); /* so that reading ends if a starter has died */
        for (int i = 0; i < STARTERS; i++)
            assert_int_equal(read(result[0], &results[i], 1), 1);
        close(hold[1]);
        for (int i = 0; i < STARTERS; i++) {
            assert_true(results[i] == 'l' || results[i] == 'u');
            listening += results[i] == 'l';
            assert_true(wait(NULL) > 0);
        }
        assert_int_equal(listening, 1);
        const int open_ends[] = {go[0], result[0], hold[0]};
        for (size_t i = 0; i < sizeof(open_ends) / sizeof(open_ends[0]); i++)
            close(open_ends[i]);
    }
}

/* The lock may belong to a process that never ends. */
static void locked_directory_does_not_prevent_listen(void **state)
{
    (void)state;
    struct uvh_unix_socket_file file;
    int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(lock >= 0 && flock(lock, LOCK_EX) == 0);
    make_stale_socket();
    int socket = uvh_unix_socket_listen(path, &any, BACKLOG, &file);
    assert_true(socket >= 0);
    assert_int_equal(access(path, F_OK), 0);
    uvh_socket_close(socket);
    uvh_unix_socket_remove(path, &file);
    assert_int_equal(access(path, F_OK), -1);
    close(lock);
}

static void access_is_set_before_listen(void **state)
{
    (void)state;
    static const unsigned masks[] = {0, 022, 0777};
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        struct uvh_unix_socket_file file;
        const struct uvh_unix_socket_access access = {
            .mode = 0620, .owner = -1, .group = geteuid() == 0 ? 12345 : (int64_t)getegid()};
        mode_t before = umask(masks[i]);
        int socket_ = uvh_unix_socket_listen(path, &access, BACKLOG, &file);
        umask(before);
        assert_true(socket_ >= 0);
        assert_int_equal(before_listen.status.st_mode & 07777, 0620);
        assert_int_equal(before_listen.status.st_gid, access.group);
        assert_int_equal(before_listen.connected, ECONNREFUSED);
        uvh_socket_close(socket_);
        uvh_unix_socket_remove(path, &file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concurrent_start_gives_one_listener),
        cmocka_unit_test(locked_directory_does_not_prevent_listen),
        cmocka_unit_test(access_is_set_before_listen),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
