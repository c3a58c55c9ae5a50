/* A server that is never started, with the library's version. */
#include <stdio.h>
#include <uvhttp.h>

int main(void)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    if (server == NULL)
        return 1;
    uvhttp_server_free(server);
    printf("uvhttp %s\n", uvhttp_version());
    return 0;
}
