/* platform/socket.c and core.c: what a listener tells of its queue, and which core it prefers. The tests on the wire see the rest. */
#include "platform/socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include "platform/core.h"

enum { PATIENCE = 10000000 };

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int client = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(client, (const struct sockaddr *)&address, sizeof(address)), 0);
    return client;
}

static void connections_that_wait_are_counted(void **state)
{
    int clients[3];
    int listener = uvh_socket_listen("127.0.0.1", 0, 8, UVH_SOCKET_ALONE);
    (void)state;
    assert_true(listener >= 0);
    assert_int_equal(uvh_socket_waiting(listener), 0);
    for (size_t i = 0; i < 3; i++)
        clients[i] = connect_to(uvh_socket_port(listener));
    for (int i = 0; i < PATIENCE && uvh_socket_waiting(listener) < 3; i++)
        sched_yield(); /* the last of what makes them connections may be under way */
    assert_int_equal(uvh_socket_waiting(listener), 3);
    int accepted = uvh_socket_accept(listener);
    assert_true(accepted >= 0);
    assert_int_equal(uvh_socket_waiting(listener), 2);
    assert_int_equal(uvh_socket_waiting(accepted), 0); /* it is no listener */
    assert_true(uvh_socket_core(accepted) >= 0);
    assert_true(uvh_socket_core(-1) < 0);
    for (size_t i = 0; i < 3; i++)
        uvh_socket_close(clients[i]);
    uvh_socket_close(accepted);
    uvh_socket_close(listener);
    assert_int_equal(uvh_socket_waiting(listener), 0); /* nor is what is closed */
}

static void a_listener_prefers_a_core_or_none(void **state)
{
    int core = -2;
    socklen_t size = sizeof(core);
    int listener = uvh_socket_listen("127.0.0.1", 0, 8, UVH_SOCKET_SHARE_FIRST);
    (void)state;
    assert_int_equal(uvh_socket_prefer_core(listener, 1), 0);
    assert_int_equal(getsockopt(listener, SOL_SOCKET, SO_INCOMING_CPU, &core, &size), 0);
    assert_int_equal(core, 1);
    assert_int_equal(uvh_socket_prefer_core(listener, -1), 0);
    assert_int_equal(getsockopt(listener, SOL_SOCKET, SO_INCOMING_CPU, &core, &size), 0);
    assert_int_equal(core, -1);
    uvh_socket_close(listener);
}

static void cores_are_those_that_the_thread_may_use(void **state)
{
    cpu_set_t before, some;
    size_t count;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    count = (size_t)CPU_COUNT(&before);
    int last = uvh_core_at(count - 1);
    assert_true(last >= 0 && CPU_ISSET((size_t)last, &before));
    assert_true(count == 1 || uvh_core_at(0) < last);
    assert_int_equal(uvh_core_at(count), -1);
    CPU_ZERO(&some);
    CPU_SET((size_t)last, &some);
    assert_int_equal(sched_setaffinity(0, sizeof(some), &some), 0);
    assert_int_equal(uvh_core_at(0), last);
    assert_int_equal(uvh_core_at(1), -1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_that_wait_are_counted),
        cmocka_unit_test(a_listener_prefers_a_core_or_none),
        cmocka_unit_test(cores_are_those_that_the_thread_may_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
