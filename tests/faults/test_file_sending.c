/* Files whose disk, or the network it is behind, fails at every place, and what one event sends of
 * a large one: this program has system calls of its own between the server and the system. */
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

enum { SIZE = 300000, LARGE = 64 << 20, MOST_CALLS = 4096, MOST_WAITS = 20000 };

enum call { CALL_NONE, CALL_OPEN, CALL_FSTAT, CALL_PREAD, CALL_SENDFILE };

/* The next `times` calls of one kind, behind the first `after` ones, fail with `error`; or with
 * none and then send `most` bytes at most. */
static struct {
    enum call call;
    int error, after, times;
    size_t most;
} fault;

static atomic_bool held;    /* who opens a file next waits, with the file open */
static atomic_bool holding; /* somebody does */
static sem_t unref;
static int opened;                /* for reading */
static size_t asked[MOST_CALLS];  /* bytes, by sendfile */
static int receivers[MOST_CALLS]; /* its sockets */
static size_t asked_count;

static unsigned char bytes[SIZE];
static char directory[64];
static struct stage stage;
static struct raw_client client;
static const char *fields; /* of each request, besides Host */

/* ---- the system calls ---- */

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
    if (asked_count < MOST_CALLS) {
        receivers[asked_count] = socket;
        asked[asked_count++] = count;
    }
    if (fails(CALL_SENDFILE))
        return -1;
    if (fault.call == CALL_SENDFILE && fault.most > 0 && count > fault.most)
        count = fault.most;
    return next_syscall()(SYS_sendfile, socket, descriptor, offset, count);
}

int fstat(int descriptor, struct stat *status)
{
    if (fails(CALL_FSTAT))
        return -1;
    int result = fstatat(descriptor, "", status, AT_EMPTY_PATH);
    /* a file that nobody has touched lately needs not be read again */
    status->st_ctim.tv_sec -= 3600;
    return result;
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset)
{
    if (fails(CALL_PREAD))
        return -1;
    return next_syscall()(SYS_pread64, descriptor, data, size, offset);
}

/* What the library calls by its number is openat2. */
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
    if (opens && atomic_exchange(&held, false)) {
        atomic_store(&holding, true);
        sem_wait(&unref);
    }
    return result;
}

/* ---- a handler that keeps a descriptor ---- */

static struct {
    int descriptor, error, told, released;
} kept;

static void told_error(int error, void *arg)
{
    assert_ptr_equal(arg, &kept);
    assert_int_equal(kept.released, 0);
    kept.error = error;
    kept.told++;
}

static void release_kept(void *arg)
{
    assert_ptr_equal(arg, &kept);
    kept.released++;
}

static int send_kept(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    uvhttp_response_on_read_error(response, told_error, &kept);
    return uvhttp_response_send_descriptor(response, 200, NULL, kept.descriptor, 0, SIZE,
                                           release_kept, &kept);
}

/* ---- the stage ---- */

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
    asked_count = 0;
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
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/kept", send_kept, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    fault.call = CALL_NONE;
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void ask(struct raw_client *asking, const char *target)
{
    char request[128];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", target, fields);
    raw_client_send_text(asking, request);
}

/* A new connection, one answer. */
static int answer_to(const char *target, struct raw_response *answer)
{
    size_t offset = 0;
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    ask(&client, target);
    if (stage_drive_responses(&stage, &client, SIZE, 1) == 0)
        return 0;
    assert_true(raw_client_response(&client, &offset, false, answer));
    return answer->status;
}

static void assert_whole(const char *target, size_t size)
{
    struct raw_response answer;
    assert_int_equal(answer_to(target, &answer), 200);
    assert_int_equal(answer.body_length, size);
    assert_memory_equal(answer.body, bytes, size);
}

/* ---- a disk that fails ---- */

static const int errors[] = {EIO, ESTALE, ETIMEDOUT};

static void a_disk_that_fails_before_the_answer_is_500_and_a_line_in_the_log(void **state)
{
    (void)state;
    static const struct {
        enum call call;
        int after;
        const char *target;
        size_t size;
    } places[] = {
        {CALL_OPEN, 0, "/small", 1000},  {CALL_OPEN, 0, "/file", SIZE},
        {CALL_FSTAT, 0, "/small", 1000}, /* the look */
        {CALL_FSTAT, 1, "/small", 1000}, /* of what was opened */
        {CALL_FSTAT, 2, "/small", 1000}, /* behind reading it */
        {CALL_FSTAT, 1, "/file", SIZE},  {CALL_PREAD, 0, "/small", 1000},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(places); i++) {
        for (size_t k = 0; k < UVH_COUNT_OF(errors); k++) {
            struct raw_response answer;
            begin();
            fault.call = places[i].call;
            fault.error = errors[k];
            fault.after = places[i].after;
            fault.times = 1;
            assert_int_equal(answer_to(places[i].target, &answer), 500);
            assert_int_equal(fault.times, 0);
            assert_int_equal(stage.errors_logged, 1);
            assert_non_null(strstr(stage.last_error, uvhttp_strerror(-errors[k])));
            assert_whole(places[i].target, places[i].size); /* nothing of it stays */
            end();
        }
    }
}

static void a_disk_that_fails_while_a_file_is_sent_ends_the_connection(void **state)
{
    (void)state;
    for (size_t k = 0; k < UVH_COUNT_OF(errors); k++) {
        struct raw_response answer;
        begin();
        assert_whole("/file", SIZE);
        int before = opened;
        assert_whole("/file", SIZE);
        assert_int_equal(opened, before); /* its descriptor is kept */
        fault.call = CALL_SENDFILE;
        fault.error = errors[k];
        fault.after = 1; /* in the middle: a part has gone */
        fault.times = 1;
        fault.most = 50000;
        assert_int_equal(answer_to("/file", &answer), 0);
        assert_true(client.ended && client.received > 50000 && client.received < SIZE);
        assert_int_equal(stage.errors_logged, 1);
        assert_non_null(strstr(stage.last_error, uvhttp_strerror(-errors[k])));
        fault.call = CALL_NONE;
        fault.most = 0;
        assert_whole("/file", SIZE);
        assert_int_equal(opened,
                         /* what failed was not used again, though the file looks the same */
                         before + 1);
        assert_whole("/file", SIZE);
        assert_int_equal(opened, before + 1);
        assert_int_equal(stage.errors_logged, 1);
        end();
    }
}

static void assert_arrives(const char *target, int status, size_t size)
{
    struct raw_response answer;
    assert_int_equal(answer_to(target, &answer), status);
    assert_int_equal(answer.body_length, size);
}

/* A sibling, several ranges, and the page of an error. */
static void what_failed_is_not_used_again_however_it_is_sent(void **state)
{
    static const struct {
        const char *target, *fields;
        int status;
        int files; /* that are opened, the source of a sibling among them */
    } places[] = {
        {"/coded", "Accept-Encoding: gzip\r\n", 200, 2},
        {"/file", "Range: bytes=0-99999,150000-249999\r\n", 206, 1},
        {"/missing", "", 404, 1},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(places); i++) {
        struct raw_response answer;
        begin();
        fields = places[i].fields;
        assert_int_equal(answer_to(places[i].target, &answer), places[i].status);
        size_t size = answer.body_length;
        assert_true(size >= 200000);
        assert_int_equal(opened, places[i].files);
        fault.call = CALL_SENDFILE;
        fault.error = ESTALE;
        fault.after = 0;
        fault.times = 1;
        assert_int_equal(answer_to(places[i].target, &answer), 0);
        fault.call = CALL_NONE;
        /* the source, while it is not known that the sibling is right again */
        if (places[i].files > 1)
            assert_arrives(places[i].target, places[i].status, SIZE);
        assert_arrives(places[i].target, places[i].status, size);
        assert_int_equal(opened, 2 * places[i].files);
        assert_arrives(places[i].target, places[i].status, size);
        assert_int_equal(opened, 2 * places[i].files);
        end();
    }
}

/* The first reader is still at the old file when the upload is answered. */
static void an_upload_is_seen_by_whoever_asks_after_its_answer(void **state)
{
    struct raw_client writer = {.socket = -1};
    struct raw_response answer;
    size_t offset = 0;
    (void)state;
    assert_int_equal(sem_init(&unref, 0, 0), 0);
    write_file("changed", 1000);
    begin();
    atomic_store(&holding, false);
    atomic_store(&held, true);
    ask(&client, "/changed");
    raw_client_connect(&writer, uvhttp_server_port(stage.server), 0);
    while (!atomic_load(&holding)) {
        raw_client_step(&client, SIZE);
        stage_wait(&stage);
    }
    raw_client_send_text(&writer,
                         "PUT /changed HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nnew");
    assert_int_equal(stage_drive_responses(&stage, &writer, SIZE, 1), 1);
    assert_true(raw_client_response(&writer, &offset, false, &answer));
    assert_int_equal(answer.status, 204);
    ask(&writer, "/changed"); /* does not wait for the first reader */
    bool answered = false;
    for (int i = 0; i < MOST_WAITS && !answered; i++) {
        raw_client_step(&writer, SIZE);
        stage_wait(&stage);
        answered = raw_client_response(&writer, &offset, false, &answer);
    }
    assert_int_equal(sem_post(&unref), 0);
    assert_true(answered);
    assert_int_equal(answer.body_length, 3);
    assert_int_equal(stage_drive_responses(&stage, &client, SIZE, 1), 1);
    assert_arrives("/changed", 200, 3); /* what the first reader brought is not kept */
    raw_client_close(&writer, false);
    end();
    char path[128];
    path_of("changed", path);
    unlink(path);
}

static void who_keeps_a_descriptor_is_told_that_it_cannot_be_read(void **state)
{
    char path[128];
    struct raw_response answer;
    (void)state;
    path_of("file", path);
    memset(&kept, 0, sizeof(kept));
    kept.descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(kept.descriptor >= 0);
    begin();
    assert_whole("/kept", SIZE);
    assert_int_equal(kept.told, 0);
    assert_int_equal(kept.released, 1);
    kept.released = 0;
    fault.call = CALL_SENDFILE;
    fault.error = ESTALE;
    fault.after = 0;
    fault.times = 1;
    assert_int_equal(answer_to("/kept", &answer), 0);
    assert_int_equal(kept.told, 1);
    assert_int_equal(kept.error, -ESTALE);
    assert_int_equal(kept.released, 1);
    /* A client that goes is no error of the file. */
    kept.released = 0;
    fault.error = ECONNRESET;
    fault.times = 1;
    assert_int_equal(answer_to("/kept", &answer), 0);
    assert_int_equal(kept.told, 1);
    assert_int_equal(kept.released, 1);
    end();
    close(kept.descriptor);
}

static void a_file_that_is_sent_in_dribs_and_drabs_arrives_whole(void **state)
{
    (void)state;
    static const struct {
        int error, times;
        size_t most;
    } ways[] = {{EINTR, 50, 0},
                {EAGAIN, 3, 0},
                {0, 0, 1 + SIZE / 1000},
                {EINTR, 20, 7777},
                {EAGAIN, 5, 12345}};
    for (size_t i = 0; i < UVH_COUNT_OF(ways); i++) {
        begin();
        fault.call = CALL_SENDFILE;
        fault.error = ways[i].error;
        fault.after = 0;
        fault.times = ways[i].times;
        fault.most = ways[i].most;
        stage.simulates_eagain = true;
        assert_whole("/file", SIZE);
        assert_int_equal(fault.times, 0);
        assert_int_equal(stage.errors_logged, 0);
        fault.most = 0;
        end();
    }
}

/* ---- slices of a large file ---- */

static bool has_asked(void *arg)
{
    return asked_count >= *(const size_t *)arg;
}

/* Many small requests: while they are answered, no event sends more of the large file than a short
 * slice, and it gets on all the same. */
static void a_large_file_leaves_others_their_turn(void **state)
{
    (void)state;
    struct raw_client download = {.socket = -1};
    size_t first = 1;
    begin();
    assert_whole("/small", 1000);
    raw_client_connect(&download, uvhttp_server_port(stage.server), 0);
    ask(&download, "/large");
    stage_drive(&stage, &download, LARGE, has_asked, &first);
    for (int round = 0; round < 40; round++) {
        size_t offset = client.received, before = asked_count;
        ask(&client, "/small");
        for (int turn = 0; turn < 1000 && client.received < offset + 1000; turn++) {
            raw_client_step(&client, SIZE);
            raw_client_step(&download, LARGE);
            stage_iterate(&stage);
        }
        assert_true(client.received >= offset + 1000);
        /* The answer may come behind the slice of its turn; from then on they are short. */
        for (size_t i = round == 0 ? asked_count : before; i < asked_count; i++)
            assert_true(asked[i] <= UVH_FILE_SHARE_SHORT);
    }
    assert_true(asked_count > 40 / 2);
    raw_client_close(&download, true);
    end();
}

static void a_large_file_alone_is_sent_in_long_slices(void **state)
{
    (void)state;
    size_t two = 2;
    begin();
    ask(&client, "/large");
    stage_drive(&stage, &client, LARGE, has_asked, &two);
    for (size_t i = 0; i < asked_count; i++) {
        bool rest = i > 0 && asked[i] < asked[i - 1]; /* of a slice that the socket took in parts */
        assert_true((asked[i] > UVH_FILE_SHARE_SHORT || rest) && asked[i] <= UVH_FILE_SHARE_LONG);
    }
    raw_client_close(&client, true);
    end();
}

static int set_up(void **state)
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

static int tear_down(void **state)
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
        cmocka_unit_test(a_disk_that_fails_before_the_answer_is_500_and_a_line_in_the_log),
        cmocka_unit_test(a_disk_that_fails_while_a_file_is_sent_ends_the_connection),
        cmocka_unit_test(what_failed_is_not_used_again_however_it_is_sent),
        cmocka_unit_test(an_upload_is_seen_by_whoever_asks_after_its_answer),
        cmocka_unit_test(who_keeps_a_descriptor_is_told_that_it_cannot_be_read),
        cmocka_unit_test(a_file_that_is_sent_in_dribs_and_drabs_arrives_whole),
        cmocka_unit_test(a_large_file_leaves_others_their_turn),
        cmocka_unit_test(a_large_file_alone_is_sent_in_long_slices),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
