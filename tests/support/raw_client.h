/* A client on a non-blocking socket, driven by the thread that runs the server. It sends and
 * receives only in raw_client_step, at most the given number of bytes. It parses responses with its
 * own simple parser.
 *
 * Invariants: `data` holds the `received` bytes in order. `ended` is true after the server has
 * closed or reset the connection. */
#ifndef UVH_SUPPORT_RAW_CLIENT_H
#define UVH_SUPPORT_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct raw_client {
    int socket; /* -1: closed */
    char *data;
    size_t received;
    size_t capacity;
    char *out; /* bytes to send */
    size_t out_length;
    size_t out_sent;
    char *joined; /* decoded body of the last chunked response */
    bool ended;
};

/* Connects to 127.0.0.1. The connection is complete on return, even if the server has not accepted
 * it. `receive_buffer` is the size of the socket's buffer; 0: the system's default. */
void raw_client_connect(struct raw_client *client, int port, int receive_buffer);

/* Queues bytes that the following steps send. */
void raw_client_send(struct raw_client *client, const void *bytes, size_t length);
void raw_client_send_text(struct raw_client *client, const char *text);

/* Sends what the socket accepts and receives at most `max` bytes. Returns true if any byte was sent
 * or received, or the connection has ended. */
bool raw_client_step(struct raw_client *client, size_t max);

/* Shuts down the sending side. */
void raw_client_end_sending(struct raw_client *client);

/* Closes the socket and frees all data. `reset` sends RST instead of FIN. Does nothing on a closed
 * client. */
void raw_client_close(struct raw_client *client, bool reset);

struct raw_response {
    int status;
    const char *head; /* from the status line to the empty line */
    size_t head_length;
    const char *body;
    size_t body_length;
};

/* Parses the response at `*offset` of the received data. Returns false while it is incomplete, else
 * true, and `*offset` is after it. `bodiless`: it is the response to HEAD. A chunked body is
 * decoded into memory that is valid until the next call. Fails the test when the response is
 * malformed. */
bool raw_client_response(struct raw_client *client, size_t *offset, bool bodiless,
                         struct raw_response *response);

/* Copies the value of a header field to `value`. Returns false when there is no such field. */
bool raw_response_field(const struct raw_response *response, const char *name, char *value,
                        size_t size);

#endif
