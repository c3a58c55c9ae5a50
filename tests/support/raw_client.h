/* A client on a non-blocking socket, driven by the thread that drives the server: it moves bytes
 * only when it is told to, as few at a time as the test wants, and takes answers apart by its own
 * simple rules.
 *
 * Always true: `received` bytes of `data` are exactly what came, in order; `ended` says that the
 * server closed or reset. */
#ifndef UVH_SUPPORT_RAW_CLIENT_H
#define UVH_SUPPORT_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct raw_client {
    int socket; /* -1: closed */
    char *data;
    size_t received;
    size_t capacity;
    char *out; /* to be sent */
    size_t out_length;
    size_t out_sent;
    char *joined; /* the body of the last answer in chunks */
    bool ended;
};

/* Connects to 127.0.0.1; the connection is complete on return, whether the server has accepted it
 * or not. `receive_buffer` is the size of the socket's buffer, 0 for the usual one. */
void raw_client_connect(struct raw_client *client, int port, int receive_buffer);

/* Has bytes sent by the next steps, behind those that wait already. */
void raw_client_send(struct raw_client *client, const void *bytes, size_t length);
void raw_client_send_text(struct raw_client *client, const char *text);

/* Sends what the socket takes and receives at most `most` bytes. True when anything has moved. */
bool raw_client_step(struct raw_client *client, size_t most);

/* Ends the sending side only. */
void raw_client_end_sending(struct raw_client *client);

/* Closes the socket and forgets everything; `reset` closes with a reset instead of a regular end.
 * Harmless when closed. */
void raw_client_close(struct raw_client *client, bool reset);

struct raw_response {
    int status;
    const char *head; /* from the status line to the empty line */
    size_t head_length;
    const char *body;
    size_t body_length;
};

/* The answer at `*offset` of what was received, if it is complete: `*offset` moves behind it.
 * `bodiless`: it answers a HEAD. A body in chunks is put together in memory that the next call uses
 * again. Fails the test when it is no well-formed answer. */
bool raw_client_response(struct raw_client *client, size_t *offset, bool bodiless,
                         struct raw_response *answer);

/* The value of a field, copied to `value`; false when the answer has none of that name. */
bool raw_response_field(const struct raw_response *answer, const char *name, char *value,
                        size_t size);

#endif
