-- For wrk: prints the result of a run as one line of JSON after the word REPORT, because the text of
-- wrk has rounded numbers. It defines only `done`, which runs after the load.

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    'REPORT {"requests": %d, "duration_us": %d, "bytes": %d, ' ..
    '"connect_errors": %d, "read_errors": %d, "write_errors": %d, "status_errors": %d, "timeouts": %d, ' ..
    '"p50_us": %d, "p90_us": %d, "p99_us": %d, "max_us": %d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.connect, errors.read, errors.write, errors.status, errors.timeout,
    latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max))
end
