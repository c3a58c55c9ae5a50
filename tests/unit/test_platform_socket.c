/* platform/socket.c: the size of the send queue. The wire tests cover the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/socket.h"
#include "platform/socket_connect.h"

#include <netinet/in.h>

static void unsent_counts_bytes_not_acknowledged(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    int listener = uvh_socket_listen("127.0.0.1", 0, 1, UVH_SOCKET_ALONE);
    assert_true(listener >= 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)uvh_socket_port(listener)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int client = uvh_socket_connect((const struct sockaddr *)(const void *)&address);
    int accepted = uvh_socket_accept(listener);
    assert_true(client >= 0 && accepted >= 0);
    assert_int_equal(uvh_socket_unsent(accepted), 0);
    while (uvh_socket_send(accepted, &(uvhttp_slice_t){bytes, sizeof(bytes)}, 1, false) > 0)
        ;
    assert_true(uvh_socket_unsent(accepted) > 0);
    assert_int_equal(uvh_socket_unsent(-1), 0);
    assert_int_equal(uvh_socket_waited_ms(-1), 0);
    uvh_socket_close(client);
    uvh_socket_close(accepted);
    uvh_socket_close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsent_counts_bytes_not_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
