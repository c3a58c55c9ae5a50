/* The Prometheus text format: the sample of every stats field, valid syntax, truncation, and
 * escaped labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/metrics.h>

#include "base/compiler.h"

static char text[65536];

static const char *write_text(const uvhttp_stats_t *stats)
{
    size_t length = uvhttp_metrics_write(stats, text, sizeof(text));
    assert_true(length < sizeof(text));
    assert_int_equal(strlen(text), length);
    return text;
}

static void assert_line(const char *line)
{
    char expected[256];
    snprintf(expected, sizeof(expected), "\n%s\n", line);
    if (strstr(text, expected) == NULL)
        fail_msg("'%s' is not in\n%s", line, text);
}

static void stats_fields_have_samples(void **state)
{
    (void)state;
    uvhttp_stats_t stats = {
        .active_connections = 62,
        .idle_connections = 5,
        .handshaking_connections = 6,
        .reading_connections = 7,
        .writing_connections = 8,
        .closing_connections = 9,
        .active_http2 = 12,
        .active_upgraded = 3,
        .active_websockets = 4,
        .total_connections = 101,
        .rejected_connections = 102,
        .total_requests = 103,
        .shed_requests = 146,
        .stuck_loops = 147,
        .responses_1xx = 104,
        .responses_2xx = 105,
        .responses_3xx = 106,
        .responses_4xx = 107,
        .responses_5xx = 108,
        .parse_errors = 109,
        .timeouts = 110,
        .aborted_exchanges = 111,
        .bytes_received = 112,
        .bytes_sent = UINT64_MAX,
        .cache_hits = 115,
        .cache_misses = 116,
        .memory = 117,
        .tls_handshakes = 140,
        .tls_resumed = 13,
        .tls_offloaded = 15,
        .tls_failures = 14,
        .tls_waited = 15,
        .early_requests = 141,
        .http2_connections = 142,
        .http2_requests = 143,
        .http2_refused = 145,
        .http2_errors = 144,
        .tls_expires = 1800000000,
        .latency = {.count = 113,
                    .sum_us = 1234567,
                    .max_us = 5000001,
                    .p50_us = 7,
                    .p90_us = 80,
                    .p99_us = 900,
                    .p999_us = 1000000,
                    .below = {3, 4, [UVHTTP_LATENCY_BOUNDS - 1] = 112}},
        .loop_delay = {.count = 114,
                       .sum_us = 42,
                       .p50_us = 1,
                       .p90_us = 2,
                       .p99_us = 3,
                       .p999_us = 4,
                       .max_us = 5},
        .loop_busy_us = 2500000,
        .loop_time_us = 10000000,
    };
    static const char *const lines[] = {
        "uvhttp_connections{state=\"active\"} 27",
        "uvhttp_connections{state=\"idle\"} 5",
        "uvhttp_connections{state=\"handshaking\"} 6",
        "uvhttp_connections{state=\"reading\"} 7",
        "uvhttp_connections{state=\"writing\"} 8",
        "uvhttp_connections{state=\"closing\"} 9",
        "uvhttp_protocol_connections{protocol=\"http1\"} 47",
        "uvhttp_protocol_connections{protocol=\"http2\"} 12",
        "uvhttp_protocol_connections{protocol=\"upgraded\"} 3",
        "uvhttp_websockets 4",
        "uvhttp_accepted_connections_total 101",
        "uvhttp_rejected_connections_total 102",
        "uvhttp_tls_handshakes_total{result=\"full\"} 127",
        "uvhttp_tls_handshakes_total{result=\"resumed\"} 13",
        "uvhttp_tls_handshakes_total{result=\"failed\"} 14",
        "uvhttp_tls_queued_handshakes_total 15",
        "uvhttp_tls_early_requests_total 141",
        "uvhttp_tls_offloaded_connections_total 15",
        "uvhttp_tls_certificate_expiry_seconds 1800000000",
        "uvhttp_requests_total 103",
        "uvhttp_shed_requests_total 146",
        "uvhttp_stuck_loops_total 147",
        "uvhttp_http2_requests_total 143",
        "uvhttp_http2_connections_total 142",
        "uvhttp_http2_refused_requests_total 145",
        "uvhttp_http2_errors_total 144",
        "uvhttp_responses_total{class=\"1xx\"} 104",
        "uvhttp_responses_total{class=\"2xx\"} 105",
        "uvhttp_responses_total{class=\"3xx\"} 106",
        "uvhttp_responses_total{class=\"4xx\"} 107",
        "uvhttp_responses_total{class=\"5xx\"} 108",
        "uvhttp_parse_errors_total 109",
        "uvhttp_timeouts_total 110",
        "uvhttp_aborted_exchanges_total 111",
        "uvhttp_received_bytes_total 112",
        "uvhttp_sent_bytes_total 18446744073709551615",
        "uvhttp_cache_lookups_total{result=\"hit\"} 115",
        "uvhttp_cache_lookups_total{result=\"miss\"} 116",
        "uvhttp_jobs{lane=\"quick\",state=\"pending\"} 118",
        "uvhttp_jobs{lane=\"quick\",state=\"running\"} 119",
        "uvhttp_jobs{lane=\"heavy\",state=\"pending\"} 121",
        "uvhttp_jobs{lane=\"heavy\",state=\"running\"} 122",
        "uvhttp_rejected_jobs_total{lane=\"quick\"} 120",
        "uvhttp_rejected_jobs_total{lane=\"heavy\"} 123",
        "uvhttp_blocking_handlers{state=\"pending\"} 124",
        "uvhttp_blocking_handlers{state=\"running\"} 125",
        "uvhttp_rejected_blocking_handlers_total 126",
        "uvhttp_memory_bytes 117",
        "uvhttp_request_duration_seconds_bucket{le=\"0.000064\"} 3",
        "uvhttp_request_duration_seconds_bucket{le=\"0.000128\"} 4",
        "uvhttp_request_duration_seconds_bucket{le=\"134.217728\"} 112",
        "uvhttp_request_duration_seconds_bucket{le=\"+Inf\"} 113",
        "uvhttp_request_duration_seconds_sum 1.234567",
        "uvhttp_request_duration_seconds_count 113",
        "uvhttp_request_latency_seconds{quantile=\"0.5\"} 0.000007",
        "uvhttp_request_latency_seconds{quantile=\"0.9\"} 0.000080",
        "uvhttp_request_latency_seconds{quantile=\"0.99\"} 0.000900",
        "uvhttp_request_latency_seconds{quantile=\"0.999\"} 1.000000",
        "uvhttp_request_latency_seconds{quantile=\"1\"} 5.000001",
        "uvhttp_request_latency_seconds_count 113",
        "uvhttp_loop_delay_seconds{quantile=\"0.5\"} 0.000001",
        "uvhttp_loop_delay_seconds{quantile=\"1\"} 0.000005",
        "uvhttp_loop_delay_seconds_sum 0.000042",
        "uvhttp_loop_delay_seconds_count 114",
        "uvhttp_loop_busy_seconds_total 2.500000",
        "uvhttp_loop_seconds_total 10.000000",
    };
    stats.quick_jobs = (uvhttp_job_stats_t){.pending = 118, .running = 119, .rejected = 120};
    stats.heavy_jobs = (uvhttp_job_stats_t){.pending = 121, .running = 122, .rejected = 123};
    stats.blocking_handlers = (uvhttp_job_stats_t){.pending = 124, .running = 125, .rejected = 126};
    write_text(&stats);
    for (size_t i = 0; i < UVH_COUNT_OF(lines); i++)
        assert_line(lines[i]);
}

/* Every sample follows the HELP and TYPE of its metric, which occur once each. */
static void metrics_have_help_and_type(void **state)
{
    (void)state;
    static const char *const types[] = {"counter", "gauge", "histogram", "summary"};
    uvhttp_stats_t stats = {0};
    char name[128] = "", type[32];
    unsigned metrics = 0;
    for (const char *line = write_text(&stats); *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_non_null(strchr(line, '\n'));
        if (strncmp(line, "# HELP ", 7) == 0) {
            assert_int_equal(sscanf(line + 7, "%127s", name), 1);
            char again[160];
            snprintf(again, sizeof(again), "# HELP %s ", name);
            assert_true(strstr(text, again) == line && strstr(line + 1, again) == NULL);
            metrics++;
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_int_equal(strncmp(line + 7, name, strlen(name)), 0);
            assert_int_equal(sscanf(line + 7 + strlen(name), " %31s", type), 1);
            bool known = false;
            for (size_t i = 0; i < UVH_COUNT_OF(types); i++)
                known = known || strcmp(type, types[i]) == 0;
            assert_true(known);
            size_t length = strlen(name);
            bool total = length > 6 && strcmp(name + length - 6, "_total") == 0;
            assert_int_equal(total, strcmp(type, "counter") == 0);
        } else {
            assert_int_equal(strncmp(line, name, strlen(name)), 0);
        }
    }
    assert_int_equal(metrics, 34);
}

static void truncated_text_returns_full_length(void **state)
{
    (void)state;
    uvhttp_stats_t stats = {.total_requests = 5};
    static char part[65536];
    size_t length = strlen(write_text(&stats));
    assert_true(uvhttp_metrics_write(&stats, NULL, 0) == length);
    for (size_t size = 1; size <= length + 1; size++) {
        memset(part, 'x', size + 1);
        assert_true(uvhttp_metrics_write(&stats, part, size) == length);
        assert_int_equal(part[size - 1], '\0');
        assert_int_equal(part[size], 'x');
        assert_int_equal(memcmp(part, text, size - 1), 0);
    }
}

static void label_values_are_escaped(void **state)
{
    (void)state;
    char out[32];
    uvhttp_slice_t value = {"a\\b\"c\nd\r\xc3\xa9", 10};
    assert_true(uvhttp_metrics_escape(value, out, sizeof(out)) == 13);
    assert_string_equal(out, "a\\\\b\\\"c\\nd\r\xc3\xa9");
    assert_true(uvhttp_metrics_escape(value, NULL, 0) == 13);
    assert_true(uvhttp_metrics_escape(value, out, 3) == 13);
    assert_string_equal(out, "a"); /* no partial escape sequence */
    assert_true(uvhttp_metrics_escape((uvhttp_slice_t){NULL, 0}, out, 1) == 0);
    assert_string_equal(out, "");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
#define UNKNOWN "\xef\xbf\xbd"
    static const struct {
        uvhttp_slice_t value;
        const char *escaped;
    } cases[] = {
        {{"a\xff\xfe", 3}, "a" UNKNOWN UNKNOWN},
        {{"\xc3", 1}, UNKNOWN},
        {{"\xed\xa0\x80\"", 4}, UNKNOWN UNKNOWN UNKNOWN "\\\""},
        {{"a\0b", 3}, "a" UNKNOWN "b"},
        {{"\xf0\x9f\x98\x80", 4}, "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        char out[32];
        size_t length = strlen(cases[i].escaped);
        assert_int_equal(uvhttp_metrics_escape(cases[i].value, out, sizeof(out)), length);
        assert_string_equal(out, cases[i].escaped);
        assert_int_equal(uvhttp_metrics_escape(cases[i].value, NULL, 0), length);
    }
    char out[4];
    assert_int_equal(uvhttp_metrics_escape((uvhttp_slice_t){"a\xc3\xa9z", 4}, out, 3), 4);
    assert_string_equal(out, "a"); /* no partial character */
}

static void handler_without_server_fails(void **state)
{
    (void)state;
    assert_int_equal(uvhttp_metrics_handle_request(NULL, NULL, NULL), UVHTTP_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stats_fields_have_samples),
        cmocka_unit_test(metrics_have_help_and_type),
        cmocka_unit_test(truncated_text_returns_full_length),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(handler_without_server_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
