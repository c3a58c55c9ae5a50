/* renameat2 with RENAME_NOREPLACE where file system and kernel support it; otherwise link(2) and
 * unlink(2). */
#include "platform/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/random.h"

enum {
    WRITE_FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
    USUAL_MODE = 0666,
    USUAL_DIR_MODE = 0777,
    PRIVATE_MODE = 0600,
    NAME_TRIES = 4,
};

void uvh_store_init(struct uvh_store *store)
{
    *store = (struct uvh_store){.directory = -1, .descriptor = -1};
}

static int sync_dir(int directory, const char *name)
{
    int descriptor = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    int err = fsync(descriptor) != 0 ? -errno : 0;
    close(descriptor);
    return err;
}

int uvh_store_open(struct uvh_store *store, const char *directory, bool create)
{
    bool created = create && mkdir(directory, USUAL_DIR_MODE) == 0;
    if (create && !created && errno != EEXIST)
        return -errno;
    store->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (store->directory < 0)
        return -errno;
    return created ? sync_dir(store->directory, "..") : 0;
}

int uvh_store_begin(struct uvh_store *store, unsigned mode, char name[UVH_STORE_NAME_SIZE])
{
    mode_t at_first = mode == 0 ? USUAL_MODE : PRIVATE_MODE;
    for (int i = 0; i < NAME_TRIES; i++) {
        uint64_t number;
        int err = uvh_random_number(&number);
        if (err != 0)
            return err;
        snprintf(name, UVH_STORE_NAME_SIZE, UVH_STORE_PREFIX "%016" PRIx64 ".part", number);
        store->descriptor = openat(store->directory, name, WRITE_FLAGS, at_first);
        if (store->descriptor >= 0)
            return 0;
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    name[0] = '\0';
    return -errno;
}

/* Removes `count` bytes from the start of the areas. */
static void advance(struct iovec **areas, int *left, size_t count)
{
    while (*left > 0 && count >= (*areas)->iov_len) {
        count -= (*areas)->iov_len;
        (*areas)++;
        (*left)--;
    }
    if (*left > 0) {
        (*areas)->iov_base = (char *)(*areas)->iov_base + count;
        (*areas)->iov_len -= count;
    }
}

int uvh_store_write(struct uvh_store *store, const uvhttp_slice_t *slices, size_t count)
{
    struct iovec memory[UVH_STORE_SLICES];
    struct iovec *areas = memory;
    int left = 0;
    for (size_t i = 0; i < count && i < UVH_STORE_SLICES; i++) {
        if (slices[i].length > 0)
            memory[left++] = (struct iovec){(void *)(uintptr_t)slices[i].base, slices[i].length};
    }
    while (left > 0) {
        ssize_t written = writev(store->descriptor, areas, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        advance(&areas, &left, (size_t)written);
    }
    return 0;
}

int uvh_store_end(struct uvh_store *store, unsigned mode, bool sync)
{
    int descriptor = store->descriptor;
    int err = mode != 0 && fchmod(descriptor, (mode_t)mode) != 0 ? -errno : 0;
    if (err == 0 && sync && fsync(descriptor) != 0)
        err = -errno;
    store->descriptor = -1;
    /* Some file systems report a full disk only at close. After EINTR the descriptor is closed,
     * too. */
    if (close(descriptor) != 0 && err == 0 && errno != EINTR)
        err = -errno;
    return err;
}

/* Renames to a name that must not exist. */
static int rename_to_free(int directory, const char *name, int to_dir, const char *to)
{
#if defined(RENAME_NOREPLACE)
    if (renameat2(directory, name, to_dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) /* not supported by the file system or the kernel */
        return -errno;
#endif
    if (linkat(directory, name, to_dir, to, 0) != 0)
        return -errno;
    return unlinkat(directory, name, 0) != 0 ? -errno : 0;
}

int uvh_store_publish(struct uvh_store *store, const char *name, const char *to, bool keep,
                      bool sync, bool *created)
{
    int err = rename_to_free(store->directory, name, store->directory, to);
    *created = err == 0;
    /* Without renameat2 and links a plain rename is used, unless existing files must be kept. */
    if (err != 0 && !keep)
        err = renameat(store->directory, name, store->directory, to) != 0 ? -errno : 0;
    return err == 0 && sync ? sync_dir(store->directory, ".") : err;
}

int uvh_store_sync(const struct uvh_store *store)
{
    return sync_dir(store->directory, ".");
}

int uvh_store_move(struct uvh_store *store, const char *name, const char *path)
{
    return rename_to_free(store->directory, name, AT_FDCWD, path);
}

int uvh_store_write_new(const char *path, const void *data, size_t size, unsigned mode)
{
    struct uvh_store store;
    uvh_store_init(&store);
    store.descriptor = open(path, WRITE_FLAGS, mode == 0 ? USUAL_MODE : PRIVATE_MODE);
    if (store.descriptor < 0)
        return -errno;
    int err = uvh_store_write(&store, &(uvhttp_slice_t){data, size}, 1);
    int end = uvh_store_end(&store, mode, false);
    if (err == 0)
        err = end;
    if (err != 0)
        unlink(path);
    return err;
}

void uvh_store_remove(struct uvh_store *store, const char *name)
{
    if (store->directory >= 0 && name[0] != '\0')
        unlinkat(store->directory, name, 0);
}

void uvh_store_close(struct uvh_store *store)
{
    if (store->descriptor >= 0)
        close(store->descriptor);
    if (store->directory >= 0)
        close(store->directory);
    uvh_store_init(store);
}

bool uvh_store_name_is_plain(uvhttp_slice_t name)
{
    static const char prefix[] = UVH_STORE_PREFIX;
    if (name.length == 0 || name.length > UVH_STORE_NAME_MOST)
        return false;
    for (size_t i = 0; i < name.length; i++) {
        unsigned char byte = (unsigned char)name.base[i];
        if (byte < ' ' || byte == 0x7f || byte == '/')
            return false;
    }
    bool dots =
        name.base[0] == '.' && (name.length == 1 || (name.length == 2 && name.base[1] == '.'));
    bool hidden =
        name.length >= sizeof(prefix) - 1 && memcmp(name.base, prefix, sizeof(prefix) - 1) == 0;
    return !dots && !hidden;
}
