/* Counts the instructions that something executes, by single steps of a child process: exact, the
 * same in every run, and for every instruction that the processor has. (Valgrind knows neither
 * AVX-512 nor the string comparison that picohttpparser is built on.) */
#ifndef UVH_BENCH_INSTRUCTION_COUNT_H
#define UVH_BENCH_INSTRUCTION_COUNT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Instructions of work(arg) and some constant number around it; 0 when `work` returns false or
 * single steps are not allowed. `work` has run once before, so that what happens only the first
 * time is not in the count. */
static uint64_t count_instructions(bool (*work)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool ready = ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 && work(arg) && raise(SIGSTOP) == 0;
        _exit(ready && work(arg) ? 0 : 1);
    }
    int status = 0;
    uint64_t count = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 0;
    while (WIFSTOPPED(status)) {
        bool expected = WSTOPSIG(status) == SIGTRAP || (count == 0 && WSTOPSIG(status) == SIGSTOP);
        if (!expected || ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0)
            kill(child, SIGKILL);
        if (waitpid(child, &status, 0) != child)
            return 0;
        count++;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? count : 0;
}

#endif
