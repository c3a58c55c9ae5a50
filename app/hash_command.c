/* See hash_command.h. The password never is an argument, which other users of the machine could
 * see. */
#include "hash_command.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "hash_make.h"
#include "options.h"
#include "usage.h"

enum {
    PASSWORD_SIZE = 512, /* the longest that crypt(3) accepts, with its NUL */
    BCRYPT_MAX = 72,     /* bytes that bcrypt uses */
};

static int refuse(const char *reason)
{
    fprintf(stderr, "uvhttp hash-password: %s\n", reason);
    return UVH_EXIT_FAILED;
}

/* The settings of the terminal while its echo is off. */
static struct termios terminal;

static void on_signal(int number)
{
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal);
    signal(number, SIG_DFL);
    raise(number);
}

/* Reads a line of standard input without its end, byte by byte: the rest is not for us. False at
 * the end of input, after an error, and for a line that is too long or contains a NUL. */
static bool read_line(char line[PASSWORD_SIZE])
{
    size_t length = 0;
    for (;;) {
        char c;
        ssize_t count = read(STDIN_FILENO, &c, 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 || (count == 0 && length == 0))
            return false;
        if (count == 0 || c == '\n')
            break;
        if (c == '\0' || length + 1 == PASSWORD_SIZE)
            return false;
        line[length++] = c;
    }
    if (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = '\0';
    return true;
}

static bool ask(const char *prompt, char line[PASSWORD_SIZE])
{
    fputs(prompt, stderr);
    bool read = read_line(line);
    fputc('\n', stderr);
    return read;
}

/* Asks twice, with the echo off. Returns NULL, or the reason of the failure. */
static const char *ask_twice(char password[PASSWORD_SIZE])
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    char again[PASSWORD_SIZE];
    struct termios silent = terminal;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        signal(numbers[i], on_signal);
    signal(SIGTSTP, SIG_IGN); /* it would continue with the echo on */
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) != 0)
        return strerror(errno);
    bool read = ask("Password: ", password) && ask("Repeat: ", again);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal);
    bool same = read && strcmp(password, again) == 0;
    explicit_bzero(again, sizeof(again));
    return !read ? "no password" : same ? NULL : "the passwords differ";
}

static int print_hash(const char *name, bool bcrypt, char password[PASSWORD_SIZE])
{
    char hash[UVH_HASH_SIZE];
    const char *reason = NULL;
    if (tcgetattr(STDIN_FILENO, &terminal) == 0)
        reason = ask_twice(password);
    else if (!read_line(password))
        reason = "standard input has no password of 1 to 511 bytes";
    if (reason == NULL && *password == '\0')
        reason = "the password is empty";
    if (reason == NULL && bcrypt && strlen(password) > BCRYPT_MAX)
        reason = "bcrypt uses only 72 bytes of a password; omit --bcrypt";
    if (reason == NULL)
        reason = uvh_hash_make(password, bcrypt, hash);
    if (reason != NULL)
        return refuse(reason);
    printf("%s%s%s\n", name == NULL ? "" : name, name == NULL ? "" : ":", hash);
    return UVH_EXIT_OK;
}

static bool is_name(const char *name)
{
    bool good = *name != '\0' && strchr(name, ':') == NULL;
    for (; *name != '\0'; name++)
        good = good && (unsigned char)*name >= ' ' && *name != 0x7f;
    return good;
}

int uvh_hash_run(int argc, char **argv)
{
    static const struct option options[] = {
        {"bcrypt", no_argument, NULL, 'b'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    char password[PASSWORD_SIZE] = "";
    bool bcrypt = false;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'h') {
            uvh_hash_help(stdout);
            return UVH_EXIT_OK;
        }
        if (option != 'b')
            return uvh_usage_refuse(argv, options);
        bcrypt = true;
    }
    const char *name = optind < argc ? argv[optind] : NULL;
    if (argc - optind > 1 || (name != NULL && !is_name(name))) {
        refuse(argc - optind > 1
                   ? "only one NAME is allowed; the password is read from standard input"
                   : "a NAME has neither a colon nor a control character");
        return UVH_EXIT_USAGE;
    }
    int code = print_hash(name, bcrypt, password);
    explicit_bzero(password, sizeof(password));
    return code;
}

void uvh_hash_help(FILE *out)
{
    fputs("Usage: uvhttp hash-password [OPTION]... [NAME]\n"
          "\n"
          "Prints the hash of a password, or a line NAME:HASH for the file of --auth and\n"
          "of `basic_auth`. The password is requested on the terminal; otherwise it is the\n"
          "first line of standard input. The hash is one of yescrypt.\n"
          "\n"
          "      --bcrypt                bcrypt instead, for programs without yescrypt\n"
          "  -h, --help                  print this help\n"
          "\n"
          "Example:\n"
          "  uvhttp hash-password ann >>staff.htpasswd\n",
          out);
}
