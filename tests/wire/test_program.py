"""The program `uvhttp`, tested from outside: help, start output, errors, every option as flag and
as environment variable, signals."""

import contextlib
import ctypes
import errno
import ipaddress
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest

import raw
from program import Program, clean_environment, run, with_free_port
from wire_server import SAFETY_TIMEOUT, built, eventually, free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIG = 256 * 1024 * 1024  # more than the socket buffers of both sides hold
LARGE = 200 * 1024


@pytest.fixture
def site(tmp_path):
    directory = tmp_path / "site"
    (directory / "empty").mkdir(parents=True)
    (directory / "index.html").write_text("the index\n")
    (directory / "start.htm").write_text("another index\n")
    (directory / "file.txt").write_text("a file\n")
    (directory / ".hidden").write_text("hidden\n")
    (directory / "large.bin").write_bytes(raw.pattern(LARGE))
    with open(directory / "big.bin", "wb") as big:
        big.truncate(BIG)
    return directory


@pytest.fixture
def serve(site):
    """serve("--flag", ...): a running `uvhttp serve` of the site on a free port of 127.0.0.1."""
    running = []

    def starter(*arguments, directory=site, listen="127.0.0.1:0", **options):
        running.append(
            Program("uvhttp", "serve", "--listen", listen, directory, *arguments, **options))
        return running[-1]

    yield starter
    for program in running:
        if program.process.returncode is None:
            assert program.stop() == 0, program.log()


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return True
    except OSError:
        return False


def option_names():
    return re.findall(r"--(?:\[no-\])?([a-z][a-z0-9-]+)",
                      run("uvhttp", "help", "serve").stdout.split("\nSIZE is")[0])


def variable(option):
    return "UVHTTP_" + option.upper().replace("-", "_")


# Help, version, usage


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_help_of_the_program(arguments):
    done = run("uvhttp", *arguments)
    assert done.returncode == 0 and done.stderr == ""
    assert "uvhttp [serve] [DIR|FILE]" in done.stdout
    assert max(len(line) for line in done.stdout.split("\n")) <= 80
    for command in ("run", "check", "precompress", "cert", "hash-password", "help", "version"):
        assert f"  uvhttp {command} " in done.stdout


def options_of(page):
    return re.findall(r"^  (?:-\w, |    )--(?:\[no-\])?([a-z0-9-]+)", page, re.M)


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["serve", "-h"],
                                       ["serve", "-qh", "nowhere"], ["-qh"], [".", "--help"]])
def test_help_has_ten_common_options(arguments):
    done = run("uvhttp", *arguments)
    assert done.returncode == 0 and done.stderr == ""
    assert max(len(line) for line in done.stdout.split("\n")) <= 80
    common = done.stdout.split("\nCommon options:\n")[1].split("\n\n")[0]
    assert len(options_of(common)) == 10 and "All options: uvhttp help serve\n" in done.stdout


def test_help_of_serve_has_common_options_first():
    done = run("uvhttp", "help", "serve")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Usage: uvhttp serve")
    assert max(len(line) for line in done.stdout.split("\n")) <= 80
    groups = re.findall(r"^([A-Z][A-Za-z, ]+):$", done.stdout, re.M)
    assert groups[0] == "Common options" and {"TLS", "Files", "Limits", "Output"} <= set(groups)
    names = options_of(done.stdout.split("\nSIZE is")[0])
    assert len(names) > 80 and len(set(names)) == len(names), "each option once"


def test_config_numbers_have_options():
    assert len(config_options()) >= 16
    assert set(config_options()) <= set(option_names())


def test_manual_page_has_every_option_and_default():
    manual = (ROOT / "docs/man/uvhttp.1").read_text()
    text = " ".join(run("uvhttp", "help", "serve").stdout.split())
    for name in option_names():
        assert re.search(rf"[, ]-{name}\b|^\.It Fl -{name}\b", manual, re.M), name
        # A number in the help must be the same in the manual.
        found = re.search(rf"--(?:\[no-\])?{name} [^(]*\(default: (\w+)\)", text)
        entry = re.search(rf"^\.It Fl (?:[^\n]* )?-{name}\b(.*?)(?=^\.It|^\.El)", manual,
                          re.M | re.S)
        if name == "workers":
            assert "Default: auto." in entry.group(1)  # the help contains the value of this machine
        elif found and " --" not in found.group(0)[2:]:
            assert f"Default: {found.group(1)}." in entry.group(1), name


@pytest.mark.parametrize("flag", ["--version", "-V", "version"])
def test_version(flag):
    done = run("uvhttp", flag)
    assert done.returncode == 0
    version = re.search(r"VERSION ([0-9.]+)",
                        (ROOT / "CMakeLists.txt").read_text().split("project(uvhttp")[1]).group(1)
    first, second, third = done.stdout.splitlines()
    assert first == f"uvhttp {version}"
    assert re.fullmatch(rf"build: {re.escape(version)} (gcc|clang) \S+ \w+( \w+)*", second)
    features = third.removeprefix("features: ").split(" ")
    assert set(features) <= {"tls", "compression", "passwords", "confine"}
    assert ("tls" in features) == ("TLS is not supported" not in run(
        "uvhttp", "cert", "/dev/null").stderr)


def test_full_standard_output_is_an_error():
    with open("/dev/full", "w") as full:
        done = subprocess.run([built("uvhttp"), "--help"], stdout=full, stderr=subprocess.PIPE,
                              text=True, env=clean_environment())
    assert done.returncode == 1
    assert "No space left" in done.stderr


def test_output_above_file_size_limit_is_an_error(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    with open(tmp_path / "help", "w") as file:
        done = subprocess.run([built("uvhttp"), "--help"], stdout=file, stderr=subprocess.PIPE,
                              text=True, env=clean_environment(), preexec_fn=limit)
    assert done.returncode == 1, "the program is not ended by SIGXFSZ"
    assert "File too large" in done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [([], "Usage:"), (["server"], "unknown command 'server'; did you mean 'serve'?\nTry"),
     (["chekc", "a.yaml"], "unknown command 'chekc'; did you mean 'check'?\nTry"),
     (["nowhere"], "unknown command 'nowhere', and there is no such file or directory\nTry"),
     (["help", "zz"], "no command and no option is about 'zz'"),
     (["help", "srve"], "unknown command 'srve'; did you mean 'serve'?\nTry"),
     (["--prot", "80"], "unknown option '--prot'; did you mean '--port'?\nTry"),
     (["-q", "site.yaml"], "'site.yaml' may be a configuration file; to serve its sites: uvhttp "
                           "run site.yaml; to serve the file itself: uvhttp serve site.yaml\n"),
     (["-q", "nginx.conf"], "'nginx.conf' may be a configuration file; to translate one of another "
      "server: uvhttp help nginx; to serve the file itself: uvhttp serve nginx.conf\n"),
     (["/etc/caddy/Caddyfile"], "'/etc/caddy/Caddyfile' may be a configuration file; to translate"),
     (["conf/httpd.conf"], "'conf/httpd.conf' may be a configuration file; to translate"),
     (["a/.htaccess"], "'a/.htaccess' may be a configuration file; to translate"),
     (["./caddy.json"], "'./caddy.json' may be a configuration file; to translate"),
     (["serve", "--access-log", "a.log", "."],
      "option '--access-log' has its value after '=': --access-log=a.log\nTry"),
     (["--metrics", "/m"], "option '--metrics' has its value after '=': --metrics=/m\nTry"),
     (["run", "--access-log", "none.yaml"], "has its value after '=': --access-log=none.yaml\nTry"),
     (["cert", "--kee", "a"], "\nuvhttp cert: did you mean '--key'?\nTry 'uvhttp cert --help'."),
     (["precompress", "--dryrun=1"], "\nuvhttp precompress: did you mean '--dry-run'?\nTry"),
     (["serve", "--prot", "80"], "unknown option '--prot'; did you mean '--port'?\nTry"),
     (["serve", "--no-port"], "unknown option '--no-port'\nTry"),
     (["serve", "--no-listings"
       ], "unknown option '--no-listings'; did you mean '--no-listing'?\nTry"),
     (["serve", "--tls-crt=a"], "unknown option '--tls-crt'; did you mean '--tls-cert'?\nTry"),
     (["serve", "--print-conf"
       ], "unknown option '--print-conf'; did you mean '--print-config'?\nTry"),
     (["check", "--tset", "a"], "unknown option '--tset'\nTry"),
     (["run", "--tset", "a"], "unknown option '--tset'; did you mean '--test'?\nTry"),
     (["serve", "--" + 100 * "x"], "unknown option '--xxx"),
     (["serve", "-x"], "unknown option '-x'"), (["serve", "-qx"], "unknown option '-x'"),
     (["serve", "--port"], "option '--port' requires a value (PORT)"),
     (["serve", "-p"], "option '-p' requires a value (PORT)"),
     (["serve", "--listing=yes"], "option '--listing' takes no value"),
     (["serve", "one", "two"], "'one' and 'two' are given"),
     (["serve", "--", "one", "-q"], "'one' and '-q' are given"), ])
def test_usage_errors_exit_with_2(arguments, message):
    done = run("uvhttp", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr


@pytest.mark.parametrize("command", ["serve", "run", "check", "reload", "upgrade"])
def test_usage_errors_name_the_help_of_the_command(command):
    done = run("uvhttp", command, "--bogus", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"uvhttp: unknown option '--bogus'\nTry 'uvhttp {command} --help'.\n"


# Invalid values

INVALID_VALUES = [
    ("port", "abc", "'abc' is not a number; allowed are 0 to 65535"),
    ("port", "65536", "'65536' is out of range; allowed are 0 to 65535"),
    ("port", "-1", "'-1' is not a number; allowed are 0 to 65535"),
    ("port", "80x", "'80x' is not a number"), ("port", "1K", "'1K' is not a number"),
    ("port", "18446744073709551696", "is out of range; allowed are 0 to 65535"),
    ("listen", "example.org:80", "'example.org:80' is not an address"),
    ("listen", "127.0.0.1:65536", "'127.0.0.1:65536' is not an address"),
    ("listen", "127.0.0.1:", "'127.0.0.1:' is not an address"),
    ("listen", "[::1", "'[::1' is not an address"),
    ("listen", "[::1]80", "'[::1]80' is not an address"),
    ("listen", "[127.0.0.1]:80", "'[127.0.0.1]:80' is not an address"),
    ("listen", "1.2.3.256", "'1.2.3.256' is not an address"),
    ("cache-memory", "0", "'0' is out of range; allowed are 1 to"),
    ("cache-memory", "1T",
     "'1T' is not a size (such as 65536, 64K or 64KiB); allowed are 1 to 1099511627776 bytes"),
    ("cache-memory", "1KB", "'1KB' is not a size"),
    ("hsts", "1w",
     "'1w' is not a time (such as 90, 90s or 2min); allowed are 0 to 315360000 seconds"),
    ("cache-memory", "99999999999G", "is out of range"),
    ("cache-entries", "0", "'0' is out of range; allowed are 1 to 1000000"),
    ("memory-file-size", "2G", "'2G' is out of range"),
    ("upload-max-size", "0", "'0' is out of range; allowed are 1 to"),
    ("revalidate-ms", "0", "'0' is out of range; allowed are 1 to 3600000"),
    ("rate-limit", "0", "'0' is out of range; allowed are 1 to"),
    ("rate-burst", "fast", "'fast' is not a size"),
    ("negative-ms", "0", "'0' is out of range; allowed are 1 to 3600000"),
    ("cache-descriptors", "0", "'0' is out of range; allowed are 1 to 1000000"),
    ("max-connections", "0", "max_connections is 0; allowed are 1 to"),
    ("workers", "1025", "workers is 1025; allowed are 1 to 1024 workers"),
    ("workers", "all", "'all' is not a number; allowed are 1 to 1024 workers"),
    ("max-connections", "many", "'many' is not a number; allowed are 1 to"),
    ("max-header-size", "x", "'x' is not a size (such as 65536, 64K or 64KiB); allowed are"),
    ("keep-alive-timeout", "1w",
     "'1w' is not a time (such as 90, 90s or 2min); allowed are 1 to 86400 seconds"),
    ("keep-alive-timeout", "2d", "keep_alive_timeout is 2d; allowed are 1 to 86400 seconds"),
]


@pytest.mark.parametrize("option, value, message", INVALID_VALUES)
def test_invalid_value_is_reported_with_flag(site, option, value, message):
    done = run("uvhttp", "serve", f"--{option}", value, site)
    assert done.returncode == 2
    assert done.stderr.startswith(f"uvhttp: --{option}: ") and message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option, value, message", [INVALID_VALUES[i] for i in (0, 6, 14, 23, 24)])
def test_invalid_value_is_reported_with_variable(site, option, value, message):
    done = run("uvhttp", "serve", site, environment={variable(option): value})
    assert done.returncode == 2
    assert done.stderr.startswith(f"uvhttp: {variable(option)}: ") and message in done.stderr


@pytest.mark.parametrize("option", ["listing", "archive", "hidden", "quiet", "verbose"])
def test_switch_variable_requires_on_or_off(site, option):
    done = run("uvhttp", "serve", site, environment={variable(option): "perhaps"})
    assert done.returncode == 2
    assert f"{variable(option)}: 'perhaps' is invalid; allowed are 1, yes" in done.stderr


def config_options():
    """All numbers of the config that affect files. The others apply to streams, handlers or
    events."""
    header = (ROOT / "include/uvhttp/config.h").read_text()
    return [
        field.replace("_", "-")
        for field in re.findall(r"^    size_t (\w+);", header, re.M)
        if not field.startswith(("write_backlog", "handler_timeout", "blocking_",
                                 "event_heartbeat"))
    ]


SWITCHES = {"http2", "overload-guard"}


@pytest.mark.parametrize("option", sorted(set(config_options()) - SWITCHES))
def test_limit_out_of_range_is_reported_with_range(site, option):
    done = run("uvhttp", "serve", f"--{option}", "99999999999999999999999", site)
    assert done.returncode == 2
    assert re.match(
        rf"uvhttp: --{option}: {option.replace('-', '_')} is \d+; allowed are \d+ to \d+ \w+\n",
        done.stderr)


def test_inconsistent_limits_are_rejected(site):
    done = run("uvhttp", "serve", "--max-header-size", "1M", site)
    assert done.returncode == 2
    assert done.stderr == ("uvhttp: --buffer-size is 65536; it must be at least twice "
                           "--max-header-size (1048576) and --max-trailer-size (8192)\n")


def test_quoted_values_are_not_changed_to_options(tmp_path):
    directory = tmp_path / "without try_files"
    directory.mkdir()
    done = run("uvhttp", "serve", "--error-pages=404=/clean_urls", directory)
    assert done.stderr == (f"uvhttp: --error-pages: the file '{directory}/clean_urls' does not "
                           "exist\n")


@pytest.mark.parametrize("flags, message", [
    (["--upload-overwrite"], "--upload-overwrite: has no effect without --uploads"),
    (["--archive", "--no-listing"], "--archive: has no effect without --listing"),
    (["--try-files=a", "--clean-urls"], "--try-files cannot be combined with --clean-urls; write "
     "{path}.html in --try-files instead"),
    (["--compress", "--compress-min-size=9M"],
     "--compress-min-size: the minimum size (9437184 bytes) exceeds the maximum size (8388608 "
     "bytes)"),
    (["--error-pages=499=/x"],
     "--error-pages: '499' is never sent here; allowed are 401, 403, 404, 429, 500, 503, 4xx, 5xx "
     "and the status at the end of --try-files"),
    (["--index=a/b"], "--index: 'a/b' contains a slash; a file name without a path is required"),
])
def test_conflicts_name_options(site, flags, message):
    done = run("uvhttp", "serve", *flags, site)
    assert (done.returncode, done.stderr) == (2, f"uvhttp: {message}\n")


# Start errors


def test_missing_directory_is_reported(tmp_path):
    done = run("uvhttp", "serve", tmp_path / "nowhere")
    assert done.returncode == 1
    assert done.stderr == f"uvhttp: the directory '{tmp_path}/nowhere' does not exist\n"


def test_special_file_instead_of_directory_is_reported(site):
    os.mkfifo(site / "fifo")
    done = run("uvhttp", "serve", "-p", "0", site / "fifo")
    assert done.returncode == 1
    assert f"'{site}/fifo' is not a directory or regular file\n" in done.stderr


# Commands


@pytest.mark.parametrize("arguments", [["site"], ["./site/"], ["--no-hidden", "site"]])
def test_directory_without_command_is_served(site, arguments):
    program = Program("uvhttp", *arguments, cwd=site.parent,
                      environment={"UVHTTP_LISTEN": "127.0.0.1:0"})
    assert program.request("/").body == b"the index\n" and f"serving {site} at" in program.line
    assert program.stop() == 0


@pytest.mark.parametrize("arguments", [["serve", "file.txt"], ["file.txt"]])
@pytest.mark.parametrize("index", [True, False])
def test_single_file_is_served(site, arguments, index):
    if not index:
        (site / "index.html").unlink()
    program = Program("uvhttp", *arguments, "--header=X-A: b", cwd=site,
                      environment={"UVHTTP_LISTEN": "127.0.0.1:0"})
    try:
        assert f"serving {site}/file.txt at" in program.line
        for target in ("/", "/file.txt", "/any/name"):
            response = program.request(target)
            assert response.body == b"a file\n" and response.get("X-A") == "b"
        assert program.request("/file.txt", "Range: bytes=2-5").body == b"file"
    finally:
        assert program.stop() == 0


def test_single_hidden_file_is_served(site):
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", site / ".hidden")
    assert program.request("/").body == b"hidden\n"
    assert program.stop() == 0


def test_single_file_is_printed_as_configuration(site):
    path = site / "uvhttp.yaml"
    path.write_text(
        run("uvhttp", "serve", "--print-config", "-l127.0.0.1:0", site / "file.txt").stdout)
    program = Program("uvhttp", "run", path)
    assert program.request("/x").body == b"a file\n"
    assert program.stop() == 0


@pytest.mark.parametrize("option", [
    "--uploads", "--spa", "--fallback=x", "--try-files={path}", "--clean-urls", "--more-root=."])
def test_options_for_directories_are_rejected_for_single_file(site, option):
    done = run("uvhttp", "serve", option, site / "file.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"uvhttp: {option.split('=')[0]} requires a directory; "
                           f"'{site}/file.txt' is a file\n")


def test_many_additional_directories_and_files(site):
    flags = 64 * [f"--more-root={site}"] + [f"--alias=/{i}={site}/file.txt" for i in range(64)]
    done = run("uvhttp", "serve", "--print-config", *flags, "--prewarm=/file.txt", site)
    assert done.returncode == 0 and done.stdout.count("file: \"file.txt\"") == 64


@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_directory_without_permission_is_reported(site, mode):
    closed = site / "closed"
    closed.mkdir(mode=mode)
    as_whom = {}
    if os.geteuid() == 0:
        # Root can read every file. Another user must at least have access to the program and the
        # directory.
        program = pathlib.Path(shutil.copy(built("uvhttp"), site / "uvhttp"))
        for directory in [site, *site.parents][:-1]:
            if directory.stat().st_uid == 0 and directory.is_relative_to(
                    "/tmp") and directory != pathlib.Path("/tmp"):
                directory.chmod(0o755)
        program.chmod(0o755)
        as_whom = {"user": 65534, "group": 65534, "extra_groups": []}
    done = subprocess.run(
        [str(site / "uvhttp") if as_whom else built("uvhttp"), "serve", "-p", "0",
         str(closed)], capture_output=True, text=True, env=clean_environment(),
        timeout=3 * SAFETY_TIMEOUT, **as_whom)
    assert done.returncode == 1
    assert "no permission to read the directory" in done.stderr and str(closed) in done.stderr


def test_port_in_use_is_reported(site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("uvhttp", "serve", "-l", "127.0.0.1", "-p", port, site)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"uvhttp: port {port} is in use; choose another with --port\n"


def test_foreign_address_is_reported(site):
    done = run("uvhttp", "serve", "-l", "198.51.100.77:0", site)
    assert done.returncode == 1
    assert ("uvhttp: this machine has no address 198.51.100.77; choose another with --listen\n"
            in done.stderr)


# Start output


def test_start_output_is_one_line(serve, site):
    program = serve()
    assert re.fullmatch(rf"uvhttp: serving {re.escape(str(site))} at http://127\.0\.0\.1:\d+/",
                        program.line)
    assert program.request("/file.txt").body == b"a file\n"
    assert program.stop() == 0
    assert program.output == program.line + "\n"
    # The following lines are on standard error.
    assert re.fullmatch(r"(\S+Z info .*\n)+", program.log()) and "stopped" in program.log()


@pytest.mark.parametrize("name", ["www.conf", "site.yaml"])
def test_directory_with_the_name_of_a_configuration_is_served(site, name):
    (site / name).mkdir()
    program = Program("uvhttp", "-l127.0.0.1:0", site / name)
    assert program.stop() == 0


def test_default_root_is_working_directory(site):
    program = Program("uvhttp", "serve", "-l", "127.0.0.1:0", cwd=site)
    assert f"serving {site} at" in program.line
    assert program.request("/").body == b"the index\n"
    assert program.stop() == 0


def test_start_output_has_absolute_root(serve, site):
    program = serve(directory="../site/./empty", cwd=site)
    assert f"serving {site}/empty at" in program.line


def test_start_output_escapes_control_characters(serve, site):
    strange = site / "a\x1b[2Jb\nc"
    strange.mkdir()
    assert f"serving {site}/a?[2Jb?c at" in serve(directory=strange).line


@pytest.mark.parametrize("flags", [["-p0"], ["-l0"], ["-l:0"], ["-l*:0"]])
def test_default_address_is_all_interfaces(site, flags):
    program = Program("uvhttp", "serve", *flags, "--verbose", site)
    try:
        hosts = [
            ipaddress.ip_address(re.match(r"http://\[?([0-9a-f.:]+?)\]?:\d+/$", url).group(1))
            for url in program.urls
        ]
        assert str(hosts[0]) == "127.0.0.1"
        assert has_ipv6() == (ipaddress.ip_address("::1") in hosts)
        assert len({url.rsplit(":", 1)[1] for url in program.urls}) == 1
        assert all(not host.is_loopback for host in hosts[1 + has_ipv6():])
        for host in hosts:
            with socket.create_connection((str(host), program.port), SAFETY_TIMEOUT) as connection:
                connection.sendall(raw.request("GET", "/file.txt", "Connection: close"))
                assert connection.makefile("rb").read().endswith(b"a file\n")
    finally:
        assert program.stop() == 0
    assert " debug 127.0.0.1 GET /file.txt" in program.log(), "not ::ffff:127.0.0.1"


def without_ipv6():
    """Makes socket(AF_INET6) fail with EAFNOSUPPORT, as on a machine without IPv6 (seccomp(2))."""
    call = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
    load, equal, answer = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JEQ, BPF_RET
    program = b"".join(
        struct.pack("HBBI", *line)
        for line in [(load, 0, 0, 0), (equal, 0, 3, call), (load, 0, 0, 16), (
            equal, 0, 1, socket.AF_INET6), (answer, 0, 0, 0x50000 | errno.EAFNOSUPPORT),
                     (answer, 0, 0, 0x7FFF0000)])
    code = ctypes.create_string_buffer(program)
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 6, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, filters) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


@pytest.mark.skipif(os.uname().machine not in ("x86_64", "aarch64"),
                    reason="numbers of system calls")
def test_default_address_without_ipv6_is_ipv4(site):
    program = Program("uvhttp", "serve", "-p0", site, preexec_fn=without_ipv6)
    try:
        assert program.urls[0].startswith("http://127.0.0.1:") and "[" not in program.line
        assert program.request("/file.txt").body == b"a file\n"
    finally:
        assert program.stop() == 0


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_ipv4_and_ipv6_addresses_are_separate(site):
    def start():
        port = free_port()
        return Program("uvhttp", "serve", f"-l0.0.0.0:{port}", f"-l[::]:{port}", site)

    program = with_free_port(start)
    port = program.port
    try:
        for host in ("127.0.0.1", "::1"):
            socket.create_connection((host, port), SAFETY_TIMEOUT).close()
    finally:
        assert program.stop() == 0


def terminal_output(site, environment):
    """The output on a terminal."""
    master, terminal = pty.openpty()
    process = subprocess.Popen([built("uvhttp"), "serve", "-l", "127.0.0.1:0",
                                str(site)], stdin=subprocess.DEVNULL, stdout=terminal,
                               stderr=terminal, env=clean_environment(environment))
    os.close(terminal)
    output = b""
    try:
        while b"Ctrl+C" not in output or not output.endswith(b"\n"):
            ready, _, _ = select.select([master], [], [], SAFETY_TIMEOUT)
            assert ready, output
            output += os.read(master, 65536)
    finally:
        process.terminate()
        assert process.wait(SAFETY_TIMEOUT) == 0
        os.close(master)
    return output.decode().replace("\r\n", "\n")


def test_start_output_on_terminal(site):
    output = terminal_output(site, {"TERM": "xterm"})
    assert "\x1b[" in output
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    assert "\x1b" not in plain
    assert re.search(rf"Serving +{re.escape(str(site))}\n", plain)
    assert re.search(r"Local +http://127\.0\.0\.1:\d+/\n", plain)
    assert "Index: index.html. Directory listings: on. Hidden files: off.\n  Press" in plain


def test_start_output_of_single_file_on_terminal(site):
    output = terminal_output(site / "file.txt", {"TERM": "dumb"})
    assert f"Serving  {site}/file.txt\n" in output and "Index:" not in output


def test_start_output_lists_enabled_options(site):
    output = terminal_output(site,
                             {"TERM": "dumb", "UVHTTP_COMPRESS": "true", "UVHTTP_WATCH": "true"})
    assert "  Enabled: watch, compress.\n" in output or "  Enabled: compress, watch.\n" in output


@pytest.mark.parametrize("environment", [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_color_disables_colours(site, environment):
    output = terminal_output(site, environment)
    assert "\x1b" not in output and "Serving" in output


# Addresses


def test_addresses_share_free_port(serve):
    program = with_free_port(lambda: serve("--listen", "127.0.0.2:0", "-l127.0.0.3:0"))
    assert program.urls == [f"http://127.0.0.{n}:{program.port}/" for n in (1, 2, 3)]
    for n in (1, 2, 3):
        with socket.create_connection((f"127.0.0.{n}", program.port), SAFETY_TIMEOUT) as connection:
            connection.sendall(raw.request("GET", "/file.txt", "Connection: close"))
            assert connection.makefile("rb").read().endswith(b"a file\n")


def test_addresses_with_different_ports(serve):
    port = free_port()
    program = serve("--listen", f"127.0.0.2:{port}")
    assert program.urls[1] == f"http://127.0.0.2:{port}/"
    socket.create_connection(("127.0.0.2", port), SAFETY_TIMEOUT).close()


def curl_unix(path, *arguments):
    return subprocess.run(["curl", "-sS", "--max-time", "60", "--unix-socket", path, *arguments],
                          capture_output=True, env=clean_environment())


def test_unix_socket(serve, tmp_path):
    path = str(tmp_path / "socket")
    program = serve("--listen", f"unix:{path}", "--verbose")
    assert program.line.endswith(f" unix:{path}")
    assert curl_unix(path, "http://site/file.txt").stdout == b"a file\n"
    assert program.request("/file.txt").body == b"a file\n"
    assert program.stop() == 0
    assert not os.path.exists(path)
    assert " debug unix: GET /file.txt 200 " in program.log()


def test_unix_socket_in_use_or_other_file_is_kept(serve, site, tmp_path):
    path = str(tmp_path / "socket")
    serve("--listen", f"unix:{path}")
    second = run("uvhttp", "serve", "-l", f"unix:{path}", site)
    assert second.returncode == 1
    assert f"cannot listen on '{path}': address already in use" in second.stderr
    assert curl_unix(path, "http://site/file.txt").stdout == b"a file\n"
    other = tmp_path / "text"
    other.write_text("mine")
    rejected = run("uvhttp", "serve", "-l", f"unix:{other}", site)
    assert rejected.returncode == 1 and "the file exists and is not a socket" in rejected.stderr
    assert other.read_text() == "mine"


def test_unix_socket_of_a_killed_server_is_replaced(serve, tmp_path):
    path = str(tmp_path / "socket")
    first = serve("--listen", f"unix:{path}")
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    assert os.path.exists(path)
    serve("--listen", f"unix:{path}")
    assert curl_unix(path, "http://site/file.txt").stdout == b"a file\n"


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("spelling", ["[::1]", "::1"])
def test_ipv6_address(site, spelling):
    program = Program("uvhttp", "serve", "-l", spelling, "-p0", site)
    assert program.urls == [f"http://[::1]:{program.port}/"]
    with socket.create_connection(("::1", program.port), SAFETY_TIMEOUT) as connection:
        connection.sendall(raw.request("GET", "/file.txt", "Connection: close"))
        assert connection.makefile("rb").read().endswith(b"a file\n")
    assert program.stop() == 0


@pytest.mark.parametrize("address, host", [("localhost", "127.0.0.1"), ("127.0.0.5", "127.0.0.5"),
                                           (":0", "127.0.0.1"), ("*:0", "127.0.0.1")])
def test_address_formats(serve, address, host):
    program = serve(*([] if ":" in address else ["--port=0"]), listen=address)
    assert program.urls[0] == f"http://{host}:{program.port}/"


# The environment


@pytest.mark.parametrize("command", ["serve", "run"])
def test_help_names_variable_of_own_option(command):
    text = run("uvhttp", "help", command).stdout
    switch, = re.findall(r"UVHTTP_(\w+)=off for --no-", text)
    assert f"--[no-]{switch.lower()} " in text


def test_variables_act_as_flags(site):
    program = Program(
        "uvhttp", "serve", site, environment={
            "UVHTTP_PORT": "0", "UVHTTP_LISTEN": "127.0.0.1, 127.0.0.2", "UVHTTP_LISTING": "off",
            "UVHTTP_HIDDEN": "yes", "UVHTTP_INDEX": "start.htm"
        })
    try:
        assert program.urls == [f"http://127.0.0.{n}:{program.port}/" for n in (1, 2)]
        assert program.request("/empty/").status == 403
        assert program.request("/.hidden").body == b"hidden\n"
        assert program.request("/").body == b"another index\n"
    finally:
        assert program.stop() == 0


def test_flags_override_variables(serve):
    program = serve(
        "--listing", "--no-hidden", "--index", "start.htm", "--max-header-count", "50",
        environment={
            "UVHTTP_LISTEN": "127.0.0.7:0", "UVHTTP_LISTING": "0", "UVHTTP_HIDDEN": "1",
            "UVHTTP_INDEX": "file.txt", "UVHTTP_MAX_HEADER_COUNT": "2"
        })
    assert program.urls == [f"http://127.0.0.1:{program.port}/"]
    assert program.request("/empty/").status == 200
    assert program.request("/.hidden").status == 404
    assert program.request("/", "A: 1", "B: 2", "C: 3").body == b"another index\n"


def test_empty_variable_is_ignored(serve):
    program = serve(environment={variable(name): "" for name in option_names()})
    assert program.request("/").body == b"the index\n"


def test_quiet_by_variable(site):
    port = free_port()
    check_quiet(
        Program("uvhttp", "serve", "-l", f"127.0.0.1:{port}", site, wait=False,
                environment={"UVHTTP_QUIET": "true"}), port)


# Files


def test_listing_flag(serve):
    listing = serve().request("/empty/")
    assert listing.status == 200 and listing.get("Content-Type").startswith("text/html")
    assert serve("--no-listing").request("/empty/").status == 403


def test_hidden_flag(serve, site):
    (site / "empty" / ".secret").write_text("")
    (site / "empty" / "open").write_text("")
    without, with_hidden = serve(), serve("--hidden")
    assert without.request("/.hidden").status == 404
    assert b".secret" not in without.request("/empty/").body and b"open" in without.request(
        "/empty/").body
    assert with_hidden.request("/.hidden").body == b"hidden\n"
    assert b".secret" in with_hidden.request("/empty/").body


def test_index_flag(serve, site):
    assert serve("--index",
                 "nothing.html start.htm index.html").request("/").body == b"another index\n"
    assert b"file.txt" in serve("--index=").request("/").body


def open_files(program, directory):
    """The open files of the program in a directory."""
    names = []
    for link in pathlib.Path(f"/proc/{program.process.pid}/fd").iterdir():
        try:
            target = pathlib.Path(os.readlink(link))
        except OSError:
            continue
        if target.parent == directory and target.is_file():
            names.append(target.name)
    return names


def test_memory_file_size_flag(serve, site):
    for size, is_open in (("1K", True), ("1M", False)):
        program = serve("--memory-file-size", size, "--workers", "1")
        for _ in range(2):
            assert program.request("/large.bin").body == raw.pattern(LARGE)
        assert open_files(program, site) == (["large.bin"] if is_open else [])


def test_cache_memory_flag(serve, site):
    """A file that does not fit into the cache memory is cached as a descriptor."""
    for size, is_open in (("100K", True), ("1M", False)):
        program = serve("--memory-file-size", "1M", "--cache-memory", size, "--workers", "1")
        for _ in range(2):
            assert program.request("/large.bin").body == raw.pattern(LARGE)
        assert open_files(program, site) == (["large.bin"] if is_open else [])


def test_cache_entries_flag(serve, site):
    for i in range(12):
        (site / f"{i}.bin").write_bytes(raw.pattern(LARGE, i))
    for entries in (4, 100):
        program = serve("--memory-file-size", "1", "--cache-entries", str(entries), "--workers",
                        "1")
        for i in range(12):
            assert program.request(f"/{i}.bin").body == raw.pattern(LARGE, i)
        kept = len([name for name in open_files(program, site) if name[0].isdigit()])
        assert 1 <= kept <= 4 if entries == 4 else kept == 12


def thread_count(program):
    return len(os.listdir(f"/proc/{program.process.pid}/task"))


@pytest.mark.parametrize("given, threads", [("1", 1), ("3", 3), ("0", None), ("auto", None),
                                            (None, None)])
def test_workers_flag(serve, given, threads):
    program = serve(*(["--workers", given] if given else []))
    cores = len(os.sched_getaffinity(0))
    jobs = 4 + min(4, cores)  # the quick and the heavy job threads, shared by all workers
    wanted = jobs + (threads or cores) + 1  # which watches for stuck loops
    eventually(lambda: thread_count(program) == wanted, f"{wanted} threads")


def test_stuck_loop_ms_flag(serve):
    watched, unwatched = serve("--workers=1"), serve("--workers=1", "--stuck-loop-ms=0")
    assert thread_count(watched) == thread_count(unwatched) + 1


def test_revalidate_ms_flag(serve, site):
    # One worker: each worker has its own cache, and another one would read the file only now.
    lazy, eager = serve("--revalidate-ms", "3600000", "--workers",
                        "1"), serve("--revalidate-ms", "1")
    for program in (lazy, eager):
        assert program.request("/file.txt").body == b"a file\n"
    (site / "file.txt").write_text("changed to something longer\n")
    eventually(lambda: eager.request("/file.txt").body == b"changed to something longer\n",
               "the changed file is detected")
    assert lazy.request("/file.txt").body == b"a file\n"


def test_uploads_flag(serve, site):
    def put(program, target, body=b"abc"):
        return program.request(target, f"Content-Length: {len(body)}", method="PUT",
                               body=body).status

    assert put(serve(), "/new") == 405
    careful, bold = serve("--uploads"), serve("--uploads", "--upload-overwrite",
                                              "--upload-directories", "--upload-sync",
                                              "--upload-max-size", "1K")
    assert [put(careful, "/new"), put(careful, "/new"), put(careful, "/a/b/new")] == [201, 409, 409]
    assert [put(bold, "/new"),
            put(bold, "/a/b/new"),
            put(bold, "/x", b"x" * 1025)] == [204, 201, 413]
    assert (site / "a" / "b" / "new").read_bytes() == b"abc"


# Limits


def test_max_connections_flag(serve):
    program = serve("--max-connections", "2")
    with program.connect() as first, program.connect() as second:
        assert first.request("GET", "/").status == 200 and second.request("GET", "/").status == 200
        with program.connect() as third:
            assert third.response().status == 503
            third.assert_closed()
        assert first.request("GET", "/").status == 200


def test_max_requests_per_connection_flag(serve):
    program = serve("--max-requests-per-connection", "2")
    with program.connect() as connection:
        assert not connection.request("GET", "/").has_close()
        assert connection.request("GET", "/").has_close()
        connection.assert_closed()


@pytest.mark.parametrize("flags, fits, too_much, status",
                         [(["--max-target-size", "64"], raw.request(
                             "GET", "/?" + "x" * 60), raw.request("GET", "/?" + "x" * 80), 414),
                          (["--max-header-size", "1K"], raw.request("GET", "/", "A: " + "x" * 600),
                           raw.request("GET", "/", "A: " + "x" * 1100), 431),
                          (["--max-header-count", "3"], raw.request("GET", "/", "A: 1", "B: 2"),
                           raw.request("GET", "/", "A: 1", "B: 2", "C: 3"), 431),
                          (["--max-body-size", "10"], raw.request("GET", "/", body=b"x" * 10),
                           raw.request("GET", "/", body=b"x" * 11), 413),
                          (["--max-trailer-size", "200"],
                           raw.request("GET", "/", "Transfer-Encoding: chunked", body=raw.chunked(
                               b"abc", trailers=["T: " + "x" * 100])),
                           raw.request("GET", "/", "Transfer-Encoding: chunked", body=raw.chunked(
                               b"abc", trailers=["T: " + "x" * 300])), 431),
                          (["--max-chunk-extension", "20"],
                           raw.request("GET", "/", "Transfer-Encoding: chunked", body=raw.chunked(
                               b"abc", extension=";a=" + "b" * 10)),
                           raw.request("GET", "/", "Transfer-Encoding: chunked", body=raw.chunked(
                               b"abc", extension=";a=" + "b" * 40)), 400), ])
def test_request_limit_flags(serve, flags, fits, too_much, status):
    program = serve(*flags)
    with program.connect() as connection:
        connection.send(fits)
        assert connection.response().status == 200
        connection.send(too_much)
        assert connection.response().status == status
    # The same request succeeds without the flag.
    with serve().connect() as connection:
        connection.send(too_much)
        assert connection.response().status == 200


def listen_backlog(port):
    """The accept queue limit of the listener on a port of 127.0.0.1, from the kernel
    (sock_diag(7))."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4) as diag:  # NETLINK_SOCK_DIAG
        states = 1 << 10  # TCP_LISTEN
        body = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, states) + bytes(48)
        diag.sendto(struct.pack("=IHHII", 16 + len(body), 20, 0x301, 1, 0) + body, (0, 0))
        while True:
            data = diag.recv(1 << 16)
            while data:
                length, kind = struct.unpack_from("=IH", data)
                if kind in (2, 3):  # an error, or the end of the list
                    raise AssertionError(f"no listener on port {port}")
                if struct.unpack_from(">H", data, 16 + 4)[0] == port:
                    return struct.unpack_from("=I", data, 16 + 4 + 48 + 8)[0]  # idiag_wqueue
                data = data[(length + 3) & ~3:]


def test_listen_backlog_flag(serve):
    assert listen_backlog(serve("--listen-backlog", "17").port) == 17


def test_buffer_size_flag(serve):
    """A head must fit into half of a buffer, so a larger buffer allows a larger head."""
    head = raw.request("GET", "/", *(f"A{i}: " + "x" * 8000 for i in range(10)))
    program = serve("--buffer-size", "256K", "--max-header-size", "128K")
    with program.connect() as connection:
        connection.send(head)
        assert connection.response().status == 200


# Timeouts. Each test waits for an event after the short timeout, and would fail with the long
# default.

LONG_TIMEOUTS = [
    "--header-timeout", "600", "--body-timeout", "600", "--keep-alive-timeout", "600",
    "--write-timeout", "600", "--drain-timeout", "600"
]


def test_keep_alive_timeout_flag(serve):
    program = serve(*LONG_TIMEOUTS, "--keep-alive-timeout", "1")
    with program.connect() as connection:
        assert connection.request("GET", "/").status == 200
        connection.assert_closed()


def test_header_timeout_flag(serve):
    program = serve(*LONG_TIMEOUTS, "--header-timeout", "1")
    with program.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost:")
        assert connection.response().status == 408
        connection.assert_closed()


def test_body_timeout_flag(serve):
    program = serve(*LONG_TIMEOUTS, "--body-timeout", "1")
    with program.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123")
        assert connection.response().status == 408
        connection.assert_closed()


def start_download(program):
    """A connection with a download in progress that the client does not read."""
    connection = program.connect(receive_buffer=65536)
    connection.send(raw.request("GET", "/big.bin"))
    _, _, fields, _ = connection.head()
    assert ("Content-Length", str(BIG)) in fields
    return connection


def test_write_timeout_flag(serve):
    program = serve(*LONG_TIMEOUTS, "--write-timeout", "1")
    with start_download(program):
        # With a drain timeout of 600 s, only the write timeout can close the connection now.
        program.send_signal(signal.SIGTERM)
        assert program.wait() == 0


def test_drain_timeout_flag(serve):
    program = serve(*LONG_TIMEOUTS, "--drain-timeout", "1")
    with start_download(program):
        program.send_signal(signal.SIGTERM)
        assert program.wait() == 0


def test_linger_timeout_flag(serve):
    """A rejected client that neither reads nor closes keeps its connection for that time only."""
    program = serve(*LONG_TIMEOUTS, "--linger-timeout", "1", "--max-body-size", "10")
    with program.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n123")
        assert connection.response().status == 413
        program.send_signal(signal.SIGTERM)
        assert program.wait() == 0


# Output


def check_quiet(program, port):
    def listens():
        try:
            return raw.Connection(port)
        except ConnectionRefusedError:
            return None

    with eventually(listens, "the server listens") as connection:
        assert connection.request("GET", "/file.txt").body == b"a file\n"
    assert program.stop() == 0
    assert program.output == "" and program.log() == ""


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_quiet_flag(site, flag):
    port = free_port()
    check_quiet(Program("uvhttp", "serve", "-l", f"127.0.0.1:{port}", site, flag, wait=False), port)


def provoke_log(program, site):
    """Causes a log line: a file that is truncated while it is sent."""
    with start_download(program) as connection:
        os.truncate(site / "big.bin", 1000)
        with pytest.raises((AssertionError, ConnectionResetError)):
            connection.receive_exactly(BIG)
    eventually(lambda: program.log(), "a log line is written")
    return program.log()


@pytest.mark.parametrize("flags", [[], ["-q"]])
def test_log_lines_have_time_and_level(serve, site, flags):
    program = serve(*flags, wait=not flags, listen="127.0.0.1:0") if not flags else None
    if program is None:
        port = free_port()
        program = serve(*flags, wait=False, listen=f"127.0.0.1:{port}")
        program.port = port
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0,
                   "the server listens")
    line, = provoke_log(program, site).splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (warning|error) .*big\.bin.*", line)


@pytest.mark.parametrize("flag", ["-v", "--verbose"])
def test_verbose_shows_requests(serve, flag):
    said = [r"GET /file\.txt\?a=1 200 \d+ B", r"HEAD /nowhere 404 \d+ B", r"GET /large\.bin 200 "
            r"200\.\d KiB", "- 400 \\d+ B", "GET /x 400 \\d+ B"]
    for flags, expected in (([], []), ([flag], said)):
        program = serve(*flags, "--workers=1")  # one worker logs in the order of the requests
        assert program.request("/file.txt?a=1").status == 200
        assert program.request("/nowhere", method="HEAD").status == 404
        assert program.request("/large.bin").status == 200
        for bad in (b"nonsense\r\n\r\n", b"GET /x HTTP/1.1\r\n\r\n"):
            with program.connect() as connection:
                connection.send(bad)
                assert connection.response().status == 400
        assert program.stop() == 0
        lines = re.findall(r"^\S+Z debug 127\.0\.0\.1 (.* m?s)$", program.log(), re.M)
        assert len(lines) == len(expected)
        for line, pattern in zip(lines, expected):
            assert re.fullmatch(pattern + r" \d+\.\d\d? ms", line), line


def test_verbose_shows_aborted_requests(serve):
    program = serve("-v")
    start_download(program).reset()
    eventually(lambda: re.search(r"GET /big\.bin 200 [\d.]+ [KM]iB [\d.]+ m?s, aborted\n",
                                 program.log()), "the request is logged")


# Access log and metrics


COMBINED = r'127\.0\.0\.1 - - \[[^]]+\] "GET (\S+) HTTP/1\.1" (\d+) \d+ "-" "-"'


@pytest.mark.parametrize("options, environment", [
    (["--access-log=access.log"], {}), (["-v", "--access-log=access.log"], {}),
    ([], {"UVHTTP_ACCESS_LOG": "access.log"})])
def test_access_log_flag(serve, tmp_path, options, environment):
    program = serve(*options, "--workers=1", cwd=tmp_path, environment=environment)
    assert program.request("/file.txt").status == 200
    (tmp_path / "access.log").rename(tmp_path / "old.log")
    program.send_signal(signal.SIGUSR1)
    eventually((tmp_path / "access.log").exists, "a new access log")
    assert program.request("/nowhere").status == 404
    assert program.stop() == 0
    for name, line in (("old", ("/file.txt", "200")), ("access", ("/nowhere", "404"))):
        assert re.findall(COMBINED, (tmp_path / f"{name}.log").read_text()) == [line]
    assert ("GET /nowhere 404 " in program.log()) == ("-v" in options)


def test_access_log_flag_without_file_is_standard_output(site):
    program = Program("uvhttp", "serve", "--access-log", "-l127.0.0.1:0", site)
    assert program.request("/file.txt").status == 200
    assert program.stop() == 0
    assert re.findall(COMBINED, program.output) == [("/file.txt", "200")]


def test_access_log_that_cannot_be_opened_is_reported(site):
    done = run("uvhttp", "serve", "-l127.0.0.1:0", f"--access-log={site}/none/a.log", site)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"uvhttp: the access log '{site}/none/a.log' cannot be written: no such "
                           "file or directory\n")


@pytest.mark.parametrize("option, path", [("--metrics", "/metrics"), ("--metrics=/m", "/m")])
def test_metrics_flag(serve, option, path):
    program = serve(option)
    assert program.request("/file.txt").status == 200
    assert b"uvhttp_build_info{" in program.request(path).body
    assert serve().request(path).status == 404


def test_metrics_require_the_password(serve, site):
    hashed = subprocess.run([built("uvhttp"), "hash-password", "ann"], input=b"x",
                            capture_output=True, check=True).stdout
    (site / ".staff").write_bytes(hashed)
    assert serve("--metrics", "--auth", site / ".staff").request("/metrics").status == 401


def test_invalid_metrics_path_is_reported(site):
    done = run("uvhttp", "serve", "-l127.0.0.1:0", "--metrics=m", site)
    assert (done.returncode, done.stderr) == (
        2, 'uvhttp: --metrics: route "m" refused: it does not begin with "/"\n')


# Other origins


ORIGIN = "Origin: https://app.test"
PREFLIGHT = (ORIGIN, "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: x-a")


@pytest.mark.parametrize("options, allowed", [
    (["--cors", "*"], "*"), (["--cors", "https://app.test"], "https://app.test"),
    (["--cors=https://b.test", "--cors=https://app.test"], "https://app.test"),
    (["--cors=https://b.test"], None), ([], None)])
def test_cors_flag(serve, options, allowed):
    program = serve(*options)
    for target in ("/file.txt", "/none"):
        assert program.request(target, ORIGIN).get("Access-Control-Allow-Origin") == allowed
    preflight = program.request("/file.txt", *PREFLIGHT, method="OPTIONS")
    assert preflight.status == (403 if options and not allowed else 204)
    assert preflight.get("Access-Control-Allow-Origin") == allowed


def test_cors_allows_no_upload(serve):
    program = serve("--cors=*", "--uploads")
    preflight = program.request("/new.txt", ORIGIN, "Access-Control-Request-Method: PUT",
                                method="OPTIONS")
    assert preflight.get("Access-Control-Allow-Methods") == "GET, HEAD"


def test_cors_preflight_needs_no_password(serve, site):
    (site / ".staff").write_text(
        "ann:$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n")
    program = serve("--cors=*", "--auth", site / ".staff")
    assert program.request("/file.txt", *PREFLIGHT, method="OPTIONS").status == 204
    rejected = program.request("/file.txt", ORIGIN)
    assert (rejected.status, rejected.get("Access-Control-Allow-Origin")) == (401, "*")


def test_invalid_origin_is_reported(site):
    done = run("uvhttp", "serve", "-l127.0.0.1:0", "--cors=app.test", site)
    assert done.returncode == 2
    assert done.stderr.startswith("uvhttp: --cors: 'app.test' is invalid; allowed are")
    assert done.stderr.count("\n") == 1


def test_access_log_metrics_and_cors_are_printed_as_configuration(site, tmp_path):
    options = [
        "--access-log=a.log", "--metrics", "--cors=https://a.test", "--cors=https://b.test",
        "--workers=1"
    ]
    printed = run("uvhttp", "serve", "--print-config", "-l127.0.0.1:0", *options, site,
                  cwd=tmp_path).stdout
    path = site / "printed.yaml"
    path.write_text(printed)
    program = Program("uvhttp", "run", path)
    try:
        response = program.request("/file.txt", "Origin: https://b.test")
        assert response.get("Access-Control-Allow-Origin") == "https://b.test"
        assert program.request("/metrics").status == 200
    finally:
        assert program.stop() == 0
    assert [line for line, _ in re.findall(COMBINED, (tmp_path / "a.log").read_text())] == [
        "/file.txt", "/metrics"]


def test_verbose_shows_why_403(serve, site, tmp_path):
    (site / "out").symlink_to(tmp_path)
    os.mkfifo(site / "fifo")
    (site / "loop").symlink_to("loop")
    program = serve("-v", "--no-listing", "--uploads")
    for target in ("/empty/", "/empty/", "/out/x", "/fifo", "/loop"):
        assert program.request(target).status == 403
    assert program.request("/.x", "Content-Length: 0", method="PUT").status == 403
    assert program.stop() == 0
    index = "/empty/ is denied: a directory without an index file, and listings are off"
    assert re.findall(r"Z debug (?:static files|uploads): (.*)$", program.log(), re.M) == [
        index, index, "/out/x is denied: it leads out of the directory",
        "/fifo is denied: not a regular file",
        "/loop is denied: a symbolic link that may not be followed",
        "/.x is denied: the name is hidden"]


# Signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_signal_stops_server(serve, number):
    program = serve()
    with program.connect() as idle:
        assert idle.request("GET", "/").status == 200
        assert program.stop(number) == 0
        idle.assert_closed()
    assert f" info signal {number.name}\n" in program.log()


def wait_until_rejected(program):
    eventually(
        lambda: socket.socket().connect_ex(("127.0.0.1", program.port)) == errno.ECONNREFUSED,
        "new connections are refused")


def test_signal_finishes_open_requests(serve):
    program = serve(*LONG_TIMEOUTS)
    with start_download(program) as connection:
        program.send_signal(signal.SIGTERM)
        wait_until_rejected(program)
        assert program.process.poll() is None
        received = 0
        while received < BIG:
            received += len(connection.receive_exactly(min(1 << 20, BIG - received)))
        connection.assert_closed()
    assert program.wait() == 0


@pytest.mark.parametrize("first, second", [(signal.SIGTERM, signal.SIGTERM),
                                           (signal.SIGINT, signal.SIGTERM),
                                           (signal.SIGQUIT, signal.SIGTERM),
                                           (signal.SIGQUIT, signal.SIGQUIT)])
def test_second_signal_stops_at_once(serve, first, second):
    program = serve(*LONG_TIMEOUTS)
    with start_download(program):
        program.send_signal(first)
        wait_until_rejected(program)
        assert program.process.poll() is None
        program.send_signal(second)
        assert program.wait() == 0


def test_health_flag(serve, site, tmp_path):
    hashed = subprocess.run([built("uvhttp"), "hash-password", "ann"], input=b"x",
                            capture_output=True, check=True).stdout
    (site / ".staff").write_bytes(hashed)
    log = tmp_path / "access.log"
    program = serve("--health", "--auth", site / ".staff", f"--access-log={log}")
    assert program.request("/file.txt").status == 401
    for path, body in ("/healthz", b"alive\n"), ("/readyz", b"ready\n"):
        response = program.request(path)
        assert (response.status, response.body) == (200, body)
        assert response.get("Cache-Control") == "no-store"
    assert program.stop() == 0
    assert "/file.txt" in log.read_text() and "z HTTP" not in log.read_text()
    assert serve().request("/readyz").status == 404


def test_overload_guard_spares_probes(serve):
    program = serve("--health", "--overload-guard", "--overload-target-ms=1",
                    "--overload-interval-ms=1", "--workers=1")
    shed = 0
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(program.connect()) for _ in range(2000)]
        for client in clients:
            client.send(raw.request("GET", "/file.txt"))
        for client in clients:
            client.response()
        while not shed:
            # All connections have a request at the same time, which takes several iterations of
            # the loop, and the requests have waited.
            program.send_signal(signal.SIGSTOP)
            for i, client in enumerate(clients):
                client.send(raw.request("GET", "/healthz" if i % 10 == 9 else "/file.txt"))
            time.sleep(0.05)
            program.send_signal(signal.SIGCONT)
            for i, client in enumerate(clients):
                status = client.response().status
                assert status == 200 or (status == 503 and i % 10 != 9)
                shed += status == 503


def test_drain_delay_serves_while_not_ready(serve, tmp_path):
    log = tmp_path / "access.log"
    program = serve("--health", "--drain-delay=3600", f"--access-log={log}")
    program.send_signal(signal.SIGTERM)
    eventually(lambda: program.request("/readyz").status == 503, "it is not ready")
    assert program.request("/readyz").body == b"not ready: stopping\n"
    assert program.request("/healthz").status == 200
    with program.connect() as connection:
        assert connection.request("GET", "/file.txt").status == 200
        assert connection.request("GET", "/file.txt").get("Connection") != "close"
        program.send_signal(signal.SIGTERM)
        assert program.wait() == 0
    assert "stopping in 3600 seconds" in program.log()
    assert '"GET /readyz HTTP/1.1" 503' in log.read_text()


def test_drain_begins_after_its_delay(serve):
    program = serve("--drain-delay=1", "--drain-grace=0")
    program.send_signal(signal.SIGTERM)
    assert program.wait() == 0
    assert [line.split(" ", 2)[2] for line in program.log().splitlines()[-3:]] == [
        "stopping in 1 seconds: not ready", "stopping: 0 connections open", "stopped"]


def test_log_tells_what_the_drain_did(serve, site):
    (site / "big").write_bytes(raw.pattern(30_000_000))
    program = serve("--drain-grace=60", "--drain-timeout=60")
    with program.connect() as idle, program.connect(receive_buffer=4096) as slow:
        slow.send(raw.request("GET", "/big"))
        slow.receive_exactly(1000)
        assert idle.request("GET", "/").status == 200
        program.send_signal(signal.SIGTERM)
        eventually(lambda: "stopping: 2 connections open" in program.log(), "the drain")
        # The line is written before the count begins.
        eventually(lambda: idle.request("GET", "/").has_close(), "a response of the drain")
        program.send_signal(signal.SIGTERM)
        assert program.wait() == 0
    assert re.search(r" info drained in \d+ ms: 2 connections, [12] of them cut; 1 responses, "
                     r"1 aborted; 0 streams ended\n\S+ info stopped\n$", program.log())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_signals_until_the_end_keep_exit_status(serve, number):
    program = serve()
    program.send_signal(signal.SIGTERM)
    while program.process.poll() is None:
        os.kill(program.process.pid, number)
    assert program.process.returncode == 0


def test_disconnect_does_not_end_server(serve):
    program = serve()
    for _ in range(5):
        start_download(program).reset()
    assert program.request("/file.txt").status == 200


def test_descriptor_limit_is_raised_to_hard_limit(tmp_path):
    # With a shell's default soft limit a few idle clients would block all others.
    hard = 2000
    program = Program("uvhttp", "serve", tmp_path, "-l", "127.0.0.1:0",
                      wrapper=["prlimit", f"--nofile=64:{hard}"])
    limits = pathlib.Path(f"/proc/{program.process.pid}/limits").read_text()
    assert program.stop() == 0, program.log()
    assert re.search(rf"Max open files\s+{hard}\s+{hard}\s", limits)


@pytest.mark.parametrize("where", ["sites", "metrics"])
def test_privileged_port_error_has_remedy(site, where):
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    if first <= 1:
        pytest.skip("every user may bind every port here")
    without = ["setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service"
               ] if os.geteuid() == 0 else []
    command, option = [*without, built("uvhttp"), "serve", "-l", "127.0.0.1:1", site], "--port"
    if where == "metrics":
        (site / "a.yaml").write_text("listen: 127.0.0.1:0\nmetrics: {listen: '127.0.0.1:1'}\n"
                                     "sites: [{routes: [{path: /, static: .}]}]\n")
        command[-4:], option = ["run", site / "a.yaml"], "'listen' of 'metrics'"
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "uvhttp: no permission to listen on port 1, which needs CAP_NET_BIND_SERVICE; choose one "
        f"above 1023 with {option}, or permit it: "
        f"sudo setcap 'cap_net_bind_service=+ep' {built('uvhttp')}, "
        "AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd unit, or "
        "sudo sysctl net.ipv4.ip_unprivileged_port_start=1\n")
