/* Signals sent for failed writes: their default action ends the process, and the call returns the
 * same error anyway. */
#ifndef UVH_PLATFORM_SIGNALS_H
#define UVH_PLATFORM_SIGNALS_H

/* Ignores SIGPIPE (a client has disconnected) and SIGXFSZ (a file would exceed RLIMIT_FSIZE) in the
 * process, each only if its action is the default one. */
void uvh_signals_ignore_failed_writes(void);

#endif
