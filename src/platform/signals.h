/* Signals that the system sends to a process which writes where it cannot: their default action
 * ends the process, and the call's error says the same. Called by server/server.c. */
#ifndef UVH_PLATFORM_SIGNALS_H
#define UVH_PLATFORM_SIGNALS_H

/* Ignores SIGPIPE (a client has disconnected) and SIGXFSZ (a file would exceed RLIMIT_FSIZE) in the
 * process. Each only if its action is the default one. */
void uvh_signals_ignore_failed_writes(void);

#endif
