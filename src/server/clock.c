/* The server's calendar clock: the configured one, or the system's. */
#include "platform/clock.h"

#include <uvhttp/embedding.h>

#include "server/server.h"

int64_t uvh_server_unix_ms(const struct uvh_server *server)
{
    const uvhttp_config_t *config = &server->config;
    return config->clock != NULL ? config->clock(config->clock_arg) : uvh_clock_unix_ms();
}

int64_t uvhttp_server_unix_ms(const uvhttp_server_t *server)
{
    return server == NULL ? 0
                          : uvh_server_unix_ms(uvh_server_of((uvhttp_server_t *)(uintptr_t)server));
}
