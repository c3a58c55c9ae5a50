/* Sending files whose disk, or network file system, fails at each system call, and how much of a
 * large file one event sends. This program replaces system calls that the server uses. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "conn/file_share.h"
#include "support/stage.h"

enum { SIZE = 300000, LARGE = 64 << 20, MAX_CALLS = 4096, MAX_WAITS = 20000 };

enum call { CALL_NONE, CALL_OPEN, CALL_FSTAT, CALL_PREAD, CALL_SENDFILE };

/* Of the calls of one kind, `after` succeed and the next `times` fail with `error`. Without
 * `error`, sendfile sends at most `max` bytes. */
static struct {
    enum call call;
    int error, after, times;
    size_t max;
} fault;

static atomic_bool block_next_open; /* the next thread that opens a file blocks after the open */
static atomic_bool open_blocked;    /* a thread blocks there */
static sem_t unblock_open;
static int opened;                   /* opens for reading */
static size_t slices[MAX_CALLS];     /* sizes of the sendfile calls */
static int slice_sockets[MAX_CALLS]; /* their sockets */
static size_t slice_count;

static unsigned char bytes[SIZE];
static char directory[64];
static struct stage stage;
static struct raw_client client;
static const char *fields; /* of each request, after Host */

/* ---- system calls ---- */

static bool fails(enum call call)
{
    if (fault.call != call || fault.times == 0 || fault.error == 0)
        return false;
    if (fault.after > 0) {
        fault.after--;
        return false;
    }
    fault.times--;
    errno = fault.error;
    return true;
}

static long (*next_syscall(void))(long, ...)
{
    static long (*next)(long, ...);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next;
}

ssize_t sendfile(int socket, int descriptor, off_t *offset, size_t count)
{
    if (slice_count < MAX_CALLS) {
        slice_sockets[slice_count] = socket;
        slices[slice_count++] = count;
    }
    if (fails(CALL_SENDFILE))
        return -1;
    if (fault.call == CALL_SENDFILE && fault.max > 0 && count > fault.max)
        count = fault.max;
    return next_syscall()(SYS_sendfile, socket, descriptor, offset, count);
}

int fstat(int descriptor, struct stat *status)
{
    if (fails(CALL_FSTAT))
        return -1;
    int result = fstatat(descriptor, "", status, AT_EMPTY_PATH);
    /* a file with an old change time is not read again */
    status->st_ctim.tv_sec -= 3600;
    return result;
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset)
{
    if (fails(CALL_PREAD))
        return -1;
    return next_syscall()(SYS_pread64, descriptor, data, size, offset);
}

/* The library calls openat2 by its number. */
long syscall(long number, ...)
{
    va_list list;
    long argument[6];
    va_start(list, number);
    for (size_t i = 0; i < UVH_COUNT_OF(argument); i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    bool opens = number == SYS_openat2 && (*(const uint64_t *)argument[2] & O_PATH) == 0;
    opened += opens;
    if (opens && fails(CALL_OPEN))
        return -1;
    long result = next_syscall()(number, argument[0], argument[1], argument[2], argument[3],
                                 argument[4], argument[5]);
    if (opens && atomic_exchange(&block_next_open, false)) {
        atomic_store(&open_blocked, true);
        sem_wait(&unblock_open);
    }
    return result;
}

/* ---- a handler that keeps its descriptor ---- */

static struct {
    int descriptor, error, error_calls, released;
} own_file;

static void on_read_error(int error, void *arg)
{
    assert_ptr_equal(arg, &own_file);
    assert_int_equal(own_file.released, 0);
    own_file.error = error;
    own_file.error_calls++;
}

static void release_own_file(void *arg)
{
    assert_ptr_equal(arg, &own_file);
    own_file.released++;
}

static int send_own_file(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    uvhttp_response_on_read_error(response, on_read_error, &own_file);
    return uvhttp_response_send_descriptor(response, 200, NULL, own_file.descriptor, 0, SIZE,
                                           release_own_file, &own_file);
}

/* ---- setup and teardown ---- */

static void path_of(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", directory, name);
}

static void write_file(const char *name, size_t size)
{
    char path[128];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void begin(void)
{
    fault.call = CALL_NONE;
    fields = "";
    opened = 0;
    slice_count = 0;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(
        uvhttp_static_mount(stage.server, "/",
                            &(uvhttp_static_options_t){.root = directory,
                                                       .revalidate_ms = 3600000,
                                                       .memory_file_size = 5000,
                                                       .precompressed = true,
                                                       .uploads = true,
                                                       .upload_overwrite = true,
                                                       .error_pages = "404=/file",
                                                       .allocator = stage.config->allocator},
                            NULL),
        0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/kept", send_own_file, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    fault.call = CALL_NONE;
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void send_request(struct raw_client *from, const char *target)
{
    char request[128];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", target, fields);
    raw_client_send_text(from, request);
}

/* Sends a request on a new connection. Returns the status, or 0 without a response. */
static int get(const char *target, struct raw_response *response)
{
    size_t offset = 0;
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_request(&client, target);
    if (stage_drive_responses(&stage, &client, SIZE, 1) == 0)
        return 0;
    assert_true(raw_client_response(&client, &offset, false, response));
    return response->status;
}

static void assert_body(const char *target, size_t size)
{
    struct raw_response response;
    assert_int_equal(get(target, &response), 200);
    assert_int_equal(response.body_length, size);
    assert_memory_equal(response.body, bytes, size);
}

/* ---- disk errors ---- */

static const int errors[] = {EIO, ESTALE, ETIMEDOUT};

static void disk_error_before_response_gets_500(void **state)
{
    (void)state;
    static const struct {
        enum call call;
        int after;
        const char *target;
        size_t size;
    } cases[] = {
        {CALL_OPEN, 0, "/small", 1000},  {CALL_OPEN, 0, "/file", SIZE},
        {CALL_FSTAT, 1, "/small", 1000}, /* of the path, after the root */
        {CALL_FSTAT, 2, "/small", 1000}, /* after the open */
        {CALL_FSTAT, 3, "/small", 1000}, /* after the read */
        {CALL_FSTAT, 2, "/file", SIZE},  {CALL_PREAD, 0, "/small", 1000},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        for (size_t k = 0; k < UVH_COUNT_OF(errors); k++) {
            struct raw_response response;
            begin();
            fault.call = cases[i].call;
            fault.error = errors[k];
            fault.after = cases[i].after;
            fault.times = 1;
            assert_int_equal(get(cases[i].target, &response), 500);
            assert_int_equal(fault.times, 0);
            assert_int_equal(stage.errors_logged, 1);
            assert_non_null(strstr(stage.last_error, uvhttp_strerror(-errors[k])));
            assert_body(cases[i].target, cases[i].size); /* the failed read is not cached */
            end();
        }
    }
}

static void error_of_the_check_of_the_root_is_ignored(void **state)
{
    (void)state;
    begin();
    fault.call = CALL_FSTAT;
    fault.error = EIO;
    fault.times = 1;
    assert_body("/small", 1000);
    assert_int_equal(fault.times, 0);
    assert_int_equal(stage.errors_logged, 0);
    end();
}

static void disk_error_during_body_closes_connection(void **state)
{
    (void)state;
    for (size_t k = 0; k < UVH_COUNT_OF(errors); k++) {
        struct raw_response response;
        begin();
        assert_body("/file", SIZE);
        int before = opened;
        assert_body("/file", SIZE);
        assert_int_equal(opened, before); /* the cached descriptor is used */
        fault.call = CALL_SENDFILE;
        fault.error = errors[k];
        fault.after = 1; /* after a part of the body */
        fault.times = 1;
        fault.max = 50000;
        assert_int_equal(get("/file", &response), 0);
        assert_true(client.ended && client.received > 50000 && client.received < SIZE);
        assert_int_equal(stage.errors_logged, 1);
        assert_non_null(strstr(stage.last_error, uvhttp_strerror(-errors[k])));
        fault.call = CALL_NONE;
        fault.max = 0;
        assert_body("/file", SIZE);
        /* The cached descriptor is not used again, though fstat reports no change. */
        assert_int_equal(opened, before + 1);
        assert_body("/file", SIZE);
        assert_int_equal(opened, before + 1);
        assert_int_equal(stage.errors_logged, 1);
        end();
    }
}

static void assert_response(const char *target, int status, size_t size)
{
    struct raw_response response;
    assert_int_equal(get(target, &response), status);
    assert_int_equal(response.body_length, size);
}

/* A precompressed file, several ranges, and an error page. */
static void failed_descriptor_is_not_reused(void **state)
{
    static const struct {
        const char *target, *fields;
        int status;
        int files; /* that are opened, including the source of a precompressed file */
    } cases[] = {
        {"/coded", "Accept-Encoding: gzip\r\n", 200, 2},
        {"/file", "Range: bytes=0-99999,150000-249999\r\n", 206, 1},
        {"/missing", "", 404, 1},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        struct raw_response response;
        begin();
        fields = cases[i].fields;
        assert_int_equal(get(cases[i].target, &response), cases[i].status);
        size_t size = response.body_length;
        assert_true(size >= 200000);
        assert_int_equal(opened, cases[i].files);
        fault.call = CALL_SENDFILE;
        fault.error = ESTALE;
        fault.after = 0;
        fault.times = 1;
        assert_int_equal(get(cases[i].target, &response), 0);
        fault.call = CALL_NONE;
        /* the source, until the precompressed file is valid again */
        if (cases[i].files > 1)
            assert_response(cases[i].target, cases[i].status, SIZE);
        assert_response(cases[i].target, cases[i].status, size);
        assert_int_equal(opened, 2 * cases[i].files);
        assert_response(cases[i].target, cases[i].status, size);
        assert_int_equal(opened, 2 * cases[i].files);
        end();
    }
}

/* The first reader still has the old file open when the upload completes. */
static void completed_upload_visible_to_next_request(void **state)
{
    struct raw_client writer = {.socket = -1};
    struct raw_response response;
    size_t offset = 0;
    (void)state;
    assert_int_equal(sem_init(&unblock_open, 0, 0), 0);
    write_file("changed", 1000);
    begin();
    atomic_store(&open_blocked, false);
    atomic_store(&block_next_open, true);
    send_request(&client, "/changed");
    raw_client_connect(&writer, uvhttp_server_port(stage.server), 0);
    while (!atomic_load(&open_blocked)) {
        raw_client_step(&client, SIZE);
        stage_wait(&stage);
    }
    raw_client_send_text(&writer,
                         "PUT /changed HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nnew");
    assert_int_equal(stage_drive_responses(&stage, &writer, SIZE, 1), 1);
    assert_true(raw_client_response(&writer, &offset, false, &response));
    assert_int_equal(response.status, 204);
    send_request(&writer, "/changed"); /* does not wait for the first reader */
    bool responded = false;
    for (int i = 0; i < MAX_WAITS && !responded; i++) {
        raw_client_step(&writer, SIZE);
        stage_wait(&stage);
        responded = raw_client_response(&writer, &offset, false, &response);
    }
    assert_int_equal(sem_post(&unblock_open), 0);
    assert_true(responded);
    assert_int_equal(response.body_length, 3);
    assert_int_equal(stage_drive_responses(&stage, &client, SIZE, 1), 1);
    assert_response("/changed", 200, 3); /* the old file is not cached */
    raw_client_close(&writer, false);
    end();
    char path[128];
    path_of("changed", path);
    unlink(path);
}

static void read_error_of_kept_descriptor_is_reported(void **state)
{
    char path[128];
    struct raw_response response;
    (void)state;
    path_of("file", path);
    memset(&own_file, 0, sizeof(own_file));
    own_file.descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(own_file.descriptor >= 0);
    begin();
    assert_body("/kept", SIZE);
    assert_int_equal(own_file.error_calls, 0);
    assert_int_equal(own_file.released, 1);
    own_file.released = 0;
    fault.call = CALL_SENDFILE;
    fault.error = ESTALE;
    fault.after = 0;
    fault.times = 1;
    assert_int_equal(get("/kept", &response), 0);
    assert_int_equal(own_file.error_calls, 1);
    assert_int_equal(own_file.error, -ESTALE);
    assert_int_equal(own_file.released, 1);
    /* A client reset is not a read error. */
    own_file.released = 0;
    fault.error = ECONNRESET;
    fault.times = 1;
    assert_int_equal(get("/kept", &response), 0);
    assert_int_equal(own_file.error_calls, 1);
    assert_int_equal(own_file.released, 1);
    end();
    close(own_file.descriptor);
}

static void short_sendfile_completes_body(void **state)
{
    (void)state;
    static const struct {
        int error, times;
        size_t max;
    } cases[] = {{EINTR, 50, 0},
                 {EAGAIN, 3, 0},
                 {0, 0, 1 + SIZE / 1000},
                 {EINTR, 20, 7777},
                 {EAGAIN, 5, 12345}};
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        begin();
        fault.call = CALL_SENDFILE;
        fault.error = cases[i].error;
        fault.after = 0;
        fault.times = cases[i].times;
        fault.max = cases[i].max;
        stage.simulates_eagain = true;
        assert_body("/file", SIZE);
        assert_int_equal(fault.times, 0);
        assert_int_equal(stage.errors_logged, 0);
        fault.max = 0;
        end();
    }
}

/* ---- slices of a large file ---- */

static bool has_slices(void *arg)
{
    return slice_count >= *(const size_t *)arg;
}

/* While many small requests are served, no event sends more of the large file than a short slice,
 * and the large file still makes progress. */
static void large_file_with_other_requests_uses_short_slices(void **state)
{
    (void)state;
    struct raw_client download = {.socket = -1};
    size_t first = 1;
    begin();
    assert_body("/small", 1000);
    raw_client_connect(&download, uvhttp_server_port(stage.server), 0);
    send_request(&download, "/large");
    stage_drive(&stage, &download, LARGE, has_slices, &first);
    for (int round = 0; round < 40; round++) {
        size_t offset = client.received, before = slice_count;
        send_request(&client, "/small");
        for (int iteration = 0; iteration < 1000 && client.received < offset + 1000; iteration++) {
            raw_client_step(&client, SIZE);
            raw_client_step(&download, LARGE);
            stage_iterate(&stage);
        }
        assert_true(client.received >= offset + 1000);
        /* The first response may follow a long slice of its iteration. All later slices are
         * short. */
        for (size_t i = round == 0 ? slice_count : before; i < slice_count; i++)
            assert_true(slices[i] <= UVH_FILE_SHARE_SHORT);
    }
    assert_true(slice_count > 40 / 2);
    raw_client_close(&download, true);
    end();
}

static void large_file_alone_uses_long_slices(void **state)
{
    (void)state;
    size_t two = 2;
    begin();
    send_request(&client, "/large");
    stage_drive(&stage, &client, LARGE, has_slices, &two);
    for (size_t i = 0; i < slice_count; i++) {
        /* The rest of a slice that the socket took in parts. */
        bool rest = i > 0 && slices[i] < slices[i - 1];
        assert_true((slices[i] > UVH_FILE_SHARE_SHORT || rest) && slices[i] <= UVH_FILE_SHARE_LONG);
    }
    raw_client_close(&client, true);
    end();
}

static int setup(void **state)
{
    char path[128];
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i * 131 + i / 251);
    snprintf(directory, sizeof(directory), "/tmp/uvhttp-sending-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    write_file("small", 1000);
    write_file("file", SIZE);
    write_file("coded", SIZE);
    write_file("coded.gz", SIZE - 1000);
    write_file("large", 0);
    path_of("large", path);
    return truncate(path, LARGE);
}

static int teardown(void **state)
{
    static const char *const names[] = {"small", "file", "coded", "coded.gz", "large"};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++) {
        char path[128];
        path_of(names[i], path);
        unlink(path);
    }
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_error_before_response_gets_500),
        cmocka_unit_test(error_of_the_check_of_the_root_is_ignored),
        cmocka_unit_test(disk_error_during_body_closes_connection),
        cmocka_unit_test(failed_descriptor_is_not_reused),
        cmocka_unit_test(completed_upload_visible_to_next_request),
        cmocka_unit_test(read_error_of_kept_descriptor_is_reported),
        cmocka_unit_test(short_sendfile_completes_body),
        cmocka_unit_test(large_file_with_other_requests_uses_short_slices),
        cmocka_unit_test(large_file_alone_uses_long_slices),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
