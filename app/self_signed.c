/* See self_signed.h. The file is always complete, also if several programs start at once: it is
 * written under a temporary name and renamed, while the directory is locked. */
#include "self_signed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <uvhttp.h>
#include <uvhttp/file.h>
#include <uvhttp/tls.h>

#include "certificate.h"

#define DAY        86400L
#define RENEW_DAYS 7
#define HOST_SIZE  254

static const char own_name[] = "self-signed.pem";

/* The names the certificate must have, besides localhost. */
struct names {
    char host[HOST_SIZE]; /* "": none */
    struct uvh_machine_addresses addresses;
};

struct message {
    char *text;
    size_t size;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
refuse(const struct message *message, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(message->text, message->size, format, values);
    va_end(values);
    return false;
}

/* Labels of letters, digits and hyphens (RFC 1123): valid in certificates, and compared by
 * clients. */
static bool is_host_name(const char *host)
{
    static const char alphanumeric[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (size_t length; *host != '\0'; host += length) {
        length = strcspn(host, ".");
        if (length == 0 || length > 63 || strspn(host, alphanumeric) == 0 ||
            strchr(alphanumeric, host[length - 1]) == NULL)
            return false;
        for (size_t i = 0; i < length; i++) {
            if (host[i] != '-' && strchr(alphanumeric, host[i]) == NULL)
                return false;
        }
        length += host[length] == '.';
    }
    return true;
}

/* The name of this machine; "" if it has none that fits into a certificate. */
static void find_host(char host[HOST_SIZE])
{
    if (gethostname(host, HOST_SIZE) != 0)
        host[0] = '\0';
    host[HOST_SIZE - 1] = '\0';
    if (!is_host_name(host) || strcmp(host, "localhost") == 0)
        host[0] = '\0';
}

/* ---- the directory ---- */

/* "$XDG_STATE_HOME/uvhttp", else "~/.local/state/uvhttp" (XDG Base Directory Specification). */
static bool find_directory(char directory[PATH_MAX], const struct message *message)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length;
    if (state != NULL && *state == '/') /* relative paths are to be ignored */
        length = snprintf(directory, PATH_MAX, "%s/uvhttp", state);
    else if (home != NULL && *home == '/')
        length = snprintf(directory, PATH_MAX, "%s/.local/state/uvhttp", home);
    else
        return refuse(
            message,
            "no directory for a self-signed certificate: neither XDG_STATE_HOME nor HOME is set; "
            "set XDG_STATE_HOME, or give a certificate with --tls-cert");
    return (size_t)length + sizeof(own_name) < PATH_MAX ||
           refuse(message,
                  "the path of the directory for a self-signed certificate is too long; set "
                  "XDG_STATE_HOME to another one, or give a certificate with --tls-cert");
}

static bool refuse_directory(const char *directory, int number, const struct message *message)
{
    return refuse(
        message,
        "a self-signed certificate cannot be stored in '%s': %s; set XDG_STATE_HOME to a writable "
        "directory, or give a certificate with --tls-cert",
        directory, strerror(number));
}

/* Creates a directory and its parents. Returns 0 or an errno. */
static int make_directory(const char *directory)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", directory);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST && access(path, F_OK) != 0)
            return errno;
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

bool uvh_self_signed_find_directory(char directory[PATH_MAX], bool make)
{
    char text[PATH_MAX];
    const struct message message = {text, sizeof(text)};
    return find_directory(directory, &message) && (!make || make_directory(directory) == 0);
}

/* Opens the directory, which must belong to this user; `close_it`: removes the permissions of
 * others. -1 with errno set. */
static int open_directory(const char *directory, bool close_it)
{
    struct stat facts;
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return -1;
    int error = fstat(descriptor, &facts) != 0 ? errno : facts.st_uid != geteuid() ? EPERM : 0;
    if (error == 0 && close_it && (facts.st_mode & 077) != 0 && fchmod(descriptor, 0700) != 0)
        error = errno;
    if (error == 0)
        return descriptor;
    close(descriptor);
    errno = error;
    return -1;
}

/* ---- the existing file ---- */

static bool covers(X509 *certificate, const struct names *names)
{
    for (size_t i = 0; i < names->addresses.count; i++) {
        if (X509_check_ip_asc(certificate, names->addresses.items[i], 0) != 1)
            return false;
    }
    return X509_check_host(certificate, "localhost", 0, 0, NULL) == 1 &&
           X509_check_ip_asc(certificate, "127.0.0.1", 0) == 1 &&
           X509_check_ip_asc(certificate, "::1", 0) == 1 &&
           (*names->host == '\0' || X509_check_host(certificate, names->host, 0, 0, NULL) == 1);
}

/* True if a certificate and its key are valid for some more days. */
static bool is_usable(X509 *certificate, EVP_PKEY *key, const struct names *names)
{
    time_t now = time(NULL), later = now + RENEW_DAYS * DAY;
    return certificate != NULL && key != NULL && X509_check_private_key(certificate, key) == 1 &&
           X509_cmp_time(X509_get0_notBefore(certificate), &now) < 0 &&
           X509_cmp_time(X509_get0_notAfter(certificate), &later) > 0 && covers(certificate, names);
}

/* Keeps old addresses: a machine that moves between networks has one certificate for all of them
 * after a while. */
static void keep_addresses(const X509 *certificate, struct uvh_machine_addresses *addresses)
{
    GENERAL_NAMES *found = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(found); i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(found, i);
        char text[INET6_ADDRSTRLEN];
        int length = one->type == GEN_IPADD ? ASN1_STRING_length(one->d.iPAddress) : 0;
        if ((length == 4 || length == 16) &&
            inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(one->d.iPAddress),
                      text, sizeof(text)) != NULL &&
            strcmp(text, "127.0.0.1") != 0 && strcmp(text, "::1") != 0)
            uvh_machine_add(addresses, text);
    }
    GENERAL_NAMES_free(found);
}

static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer, (void)size, (void)writing, (void)arg;
    return -1;
}

/* Uses the existing file if it belongs to this user and is valid; otherwise only takes its
 * addresses. */
static bool use_existing(int directory, struct names *names, char *fingerprint)
{
    struct stat facts;
    int descriptor = openat(directory, own_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    bool ours = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
                facts.st_uid == geteuid() && (facts.st_mode & 077) == 0;
    FILE *file = ours ? fdopen(descriptor, "r") : NULL;
    if (file == NULL) {
        close(descriptor);
        return false;
    }
    X509 *certificate = PEM_read_X509(file, NULL, no_passphrase, NULL);
    rewind(file);
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
    bool good =
        is_usable(certificate, key, names) && uvh_certificate_fingerprint(certificate, fingerprint);
    if (!good && certificate != NULL)
        keep_addresses(certificate, &names->addresses);
    X509_free(certificate);
    EVP_PKEY_free(key);
    fclose(file);
    return good;
}

/* ---- a new one ---- */

/* Writes both to one file with mode 0600, renamed when complete. Returns 0 or an errno. */
static int write_file(int directory, const char *path, const char *pem)
{
    char other[PATH_MAX + 16];
    snprintf(other, sizeof(other), "%s.XXXXXX", path);
    int descriptor = mkostemp(other, O_CLOEXEC); /* with mode 0600 */
    if (descriptor < 0)
        return errno;
    FILE *file = fdopen(descriptor, "w");
    if (file == NULL) {
        int error = errno;
        close(descriptor);
        unlink(other);
        return error;
    }
    errno = 0;
    bool written = fputs(pem, file) >= 0 && fflush(file) == 0 && fsync(descriptor) == 0;
    int error = written ? 0 : errno != 0 ? errno : EIO;
    if (fclose(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(other, path) != 0)
        error = errno;
    if (error != 0)
        unlink(other);
    else
        fsync(directory);
    return error;
}

static bool find_fingerprint(const char *pem, char *fingerprint)
{
    BIO *memory = BIO_new_mem_buf(pem, -1);
    X509 *certificate =
        memory == NULL ? NULL : PEM_read_bio_X509(memory, NULL, no_passphrase, NULL);
    bool found = certificate != NULL && uvh_certificate_fingerprint(certificate, fingerprint);
    X509_free(certificate);
    BIO_free(memory);
    return found;
}

static bool make_new(int directory, struct uvh_self_signed *found, const struct names *names,
                     const struct message *message)
{
    const char *texts[UVH_MACHINE_ADDRESSES + 2];
    size_t count = 0;
    char *pem;
    if (*names->host != '\0')
        texts[count++] = names->host;
    for (size_t i = 0; i < names->addresses.count; i++)
        texts[count++] = names->addresses.items[i];
    texts[count] = NULL;
    int err = uvhttp_tls_make_self_signed(&pem, texts, NULL);
    bool made = err == 0 && find_fingerprint(pem, found->fingerprint);
    if (!made)
        refuse(message, "a self-signed certificate cannot be created: %s", uvhttp_strerror(err));
    int error = made ? write_file(directory, found->path, pem) : 0;
    if (error != 0)
        made = refuse(message,
                      "the self-signed certificate '%s' cannot be written: %s; set XDG_STATE_HOME "
                      "to a writable directory, or give a certificate with --tls-cert",
                      found->path, strerror(error));
    uvhttp_file_release(pem);
    return made;
}

bool uvh_self_signed_open(struct uvh_self_signed *found,
                          const struct uvh_machine_addresses *addresses, bool make, char *text,
                          size_t size)
{
    const struct message message = {text, size};
    char directory[PATH_MAX];
    struct names names = {.addresses = *addresses};
    *found = (struct uvh_self_signed){.fingerprint = ""};
    find_host(names.host);
    if (!find_directory(directory, &message))
        return false;
    snprintf(found->path, sizeof(found->path), "%.*s/%s",
             (int)(sizeof(found->path) - sizeof(own_name) - 1), directory, own_name);
    int error = make ? make_directory(directory) : 0;
    int descriptor = error == 0 ? open_directory(directory, make) : -1;
    if (descriptor < 0) {
        error = error != 0 ? error : errno;
        return (!make && error == ENOENT) || refuse_directory(directory, error, &message);
    }
    /* On a file system without locks each program writes its own file, and the last one remains. */
    flock(descriptor, LOCK_EX);
    bool good = use_existing(descriptor, &names, found->fingerprint);
    if (!good)
        good = !make || make_new(descriptor, found, &names, &message);
    close(descriptor);
    return good;
}
