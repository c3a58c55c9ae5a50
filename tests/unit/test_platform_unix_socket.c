/* platform/unix_socket.c: of processes that start in the same moment on what a dead one has left,
 * one gets the name. */
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

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

/* A socket whose server was killed: the file stays. */
static void leave_over(void)
{
    struct uvh_unix_socket_file file;
    unlink(path);
    int socket = uvh_unix_socket_listen(path, 0, BACKLOG, &file);
    assert_true(socket >= 0);
    uvh_socket_close(socket);
}

/* In a process of its own: tries when `go` ends, says how it went, and listens until `hold`
 * ends. */
static void start_one(int go, int result, int hold)
{
    struct uvh_unix_socket_file file;
    char byte;
    while (read(go, &byte, 1) > 0)
        ;
    int socket = uvh_unix_socket_listen(path, 0, BACKLOG, &file);
    byte = socket >= 0 ? 'l' : socket == -EADDRINUSE ? 'u' : '?';
    if (write(result, &byte, 1) == 1) {
        while (read(hold, &byte, 1) > 0)
            ;
    }
    _exit(0);
}

static void of_several_that_start_at_once_one_listens(void **state)
{
    (void)state;
    for (int time = 0; time < TIMES; time++) {
        int go[2], result[2], hold[2];
        char said[STARTERS];
        size_t listening = 0;
        leave_over();
        assert_true(pipe(go) == 0 && pipe(result) == 0 && pipe(hold) == 0);
        for (int i = 0; i < STARTERS; i++) {
            pid_t starter = fork();
            assert_true(starter >= 0);
            if (starter == 0) {
                close(go[1]);
                close(hold[1]);
                start_one(go[0], result[1], hold[0]);
            }
        }
        close(go[1]);
        close(result[1]); /* so that reading ends when a starter has died */
        for (int i = 0; i < STARTERS; i++)
            assert_int_equal(read(result[0], &said[i], 1), 1);
        close(hold[1]);
        for (int i = 0; i < STARTERS; i++) {
            assert_true(said[i] == 'l' || said[i] == 'u');
            listening += said[i] == 'l';
            assert_true(wait(NULL) > 0);
        }
        assert_int_equal(listening, 1);
        const int left[] = {go[0], result[0], hold[0]};
        for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
            close(left[i]);
    }
}

/* It may be the lock of a program that never ends. */
static void a_folder_that_somebody_keeps_locked_is_no_reason_not_to_start(void **state)
{
    (void)state;
    struct uvh_unix_socket_file file;
    int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(lock >= 0 && flock(lock, LOCK_EX) == 0);
    leave_over();
    int socket = uvh_unix_socket_listen(path, 0, BACKLOG, &file);
    assert_true(socket >= 0);
    assert_int_equal(access(path, F_OK), 0);
    uvh_socket_close(socket);
    uvh_unix_socket_remove(path, &file);
    assert_int_equal(access(path, F_OK), -1);
    close(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_several_that_start_at_once_one_listens),
        cmocka_unit_test(a_folder_that_somebody_keeps_locked_is_no_reason_not_to_start),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_folder);
}
