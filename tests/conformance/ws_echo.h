/* Shared by the two programs for conformance suites: the options of an endpoint that echoes every
 * message. */
#ifndef UVH_WS_ECHO_H
#define UVH_WS_ECHO_H

#include <uvhttp.h>
#include <uvhttp/websocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sixteen times the size of the largest case, so that only the protocol is tested. One case sends 4
 * MiB in fragments of 64 bytes. */
#define WS_ECHO_MESSAGE   ((size_t)64 << 20)
#define WS_ECHO_FRAGMENTS ((size_t)1 << 20)
/* Dedicated windows of full size. */
#define WS_ECHO_WINDOWS ((size_t)1 << 20)

static inline void ws_echo_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind,
                                   const char *data, size_t size, void *arg)
{
    int err = uvhttp_websocket_send(ws, kind, data, size);
    (void)arg;
    /* Suites also send messages after a close frame. These get no echo. */
    if (err < 0 && err != UVHTTP_EDISCONNECTED)
        (void)fprintf(stderr, "echo: %s\n", uvhttp_error_name(err));
}

static inline uvhttp_websocket_options_t ws_echo_options(void)
{
    return (uvhttp_websocket_options_t){.events = {.message = ws_echo_message},
                                        .max_message_size = WS_ECHO_MESSAGE,
                                        .max_fragments = WS_ECHO_FRAGMENTS,
                                        .max_queue_size = WS_ECHO_MESSAGE,
                                        .memory_per_connection = WS_ECHO_WINDOWS,
                                        .memory = 8 * WS_ECHO_MESSAGE};
}

/* Parses and removes a first argument "--compression=not|shared|dedicated". False if the value is
 * invalid. */
static inline bool ws_echo_parse_compression(int *argc, char ***argv,
                                             uvhttp_websocket_options_t *options)
{
    static const char *const names[] = {"not", "shared", "dedicated"};
    static const char option[] = "--compression=";
    if (*argc < 2 || strncmp((*argv)[1], option, sizeof option - 1) != 0)
        return true;
    for (int i = 0; i < 3; i++) {
        if (strcmp((*argv)[1] + sizeof option - 1, names[i]) == 0) {
            options->compression = (uvhttp_websocket_compression_t)i;
            (*argc)--;
            (*argv)++;
            return true;
        }
    }
    return false;
}

#endif
