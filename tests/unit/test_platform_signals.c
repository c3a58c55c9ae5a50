/* The signals of failed writes are ignored unless the program has set an action for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>

#include "platform/signals.h"

static const int numbers[] = {SIGPIPE, SIGXFSZ};

static void on_signal(int number)
{
    (void)number;
}

static void on_signal_with_info(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
}

static struct sigaction action_of(int number)
{
    struct sigaction action;
    assert_int_equal(sigaction(number, NULL, &action), 0);
    return action;
}

static void default_signal_action_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_true(signal(numbers[i], SIG_DFL) != SIG_ERR);
    uvh_signals_ignore_failed_writes();
    for (size_t i = 0; i < 2; i++)
        assert_true(action_of(numbers[i]).sa_handler == SIG_IGN);
}

static void signal_action_of_program_is_kept(void **state)
{
    const struct sigaction with_info = {.sa_sigaction = on_signal_with_info,
                                        .sa_flags = SA_SIGINFO};
    (void)state;
    for (size_t i = 0; i < 2; i++)
        assert_true(signal(numbers[i], on_signal) != SIG_ERR);
    uvh_signals_ignore_failed_writes();
    for (size_t i = 0; i < 2; i++) {
        assert_true(action_of(numbers[i]).sa_handler == on_signal);
        assert_int_equal(sigaction(numbers[i], &with_info, NULL), 0);
    }
    uvh_signals_ignore_failed_writes();
    for (size_t i = 0; i < 2; i++)
        assert_true(action_of(numbers[i]).sa_sigaction == on_signal_with_info);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_signal_action_is_replaced),
        cmocka_unit_test(signal_action_of_program_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
