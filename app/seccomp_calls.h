/* seccomp(2) of Linux: the system calls of a server, and no others. */
#ifndef UVH_APP_SECCOMP_CALLS_H
#define UVH_APP_SECCOMP_CALLS_H

/* Restricts all threads, forever: every other call fails with ENOSYS, as on a kernel that does not
 * have it, so that the C library uses an older one. Returns 0 or an errno. */
int uvh_seccomp_restrict(void);

/* Later rings (io_uring(7)) fail with ENOSYS: seccomp does not see the calls made through one. Call
 * before a loop of libuv exists, which keeps its ring. Errors are left to the other function. */
void uvh_seccomp_refuse_rings(void);

#endif
