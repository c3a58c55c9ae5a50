"""Habits of users of nginx, Caddy, miniserve and Python's http.server: what does not work names
what does, and values that can never work are refused at the start."""

import signal

import pytest

from program import run
from test_config_file import get, problems, start, write  # noqa: F401 (fixtures)


def refused(*arguments, code=2, **options):
    """The first line of the error."""
    done = run("uvhttp", *arguments, **options)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    return done.stderr.splitlines()[0]


# Arguments


@pytest.mark.parametrize("arguments, message", [
    ([""], "uvhttp: '' is not a directory or file; the current directory is '.'"),
    (["serve", "-p0", ""], "uvhttp: '' is not a directory or file; the current directory is '.'"),
    (["-p0", ""], "uvhttp: '' is not a directory or file; the current directory is '.'"),
    (["run", ""], "uvhttp: '' is not a configuration file; without one it is 'uvhttp.yaml'"),
    (["check", ""], "uvhttp: '' is not a configuration file; without one it is 'uvhttp.yaml'"),
    (["--fallback", "", "."], "uvhttp: --fallback: the value is empty; allowed is FILE, or omit "
                              "the option"),
    (["--access-log=", "."], "uvhttp: --access-log: the value is empty; allowed is FILE, or omit "
                             "the option"),
    (["--cors", "", "."], "uvhttp: --cors: the value is empty; allowed is ORIGIN, or omit the "
                          "option"),
])
def test_empty_argument_is_refused(arguments, message):
    assert refused(*arguments) == message


DIRECTORY = "the directory as an argument, as in 'uvhttp DIR'"
LISTEN = "'--listen HOST:PORT'"


@pytest.mark.parametrize("arguments, word, hint", [
    (["-c", "nginx.conf"], "option '-c'", "'uvhttp run FILE'"),
    (["-t"], "option '-t'", "'uvhttp check FILE'"),
    (["-s", "reload"], "option '-s'", "'kill -TERM PID' to stop a server, or '--spa'"),
    (["file-server", "--browse"], "command 'file-server'", "'uvhttp serve DIR'"),
    (["validate"], "command 'validate'", "'uvhttp check FILE'"),
    (["reload"], "command 'reload'",
     "'kill -HUP PID', which reloads certificates and reopens logs"),
    (["--listen", ":0", "--root", "site"], "option '--root'", DIRECTORY),
    (["--root=site"], "option '--root'", DIRECTORY),
    (["--browse", "site"], "option '--browse'", "'--listing', which is the default"),
    (["-p", "0", "-i", "127.0.0.1"], "option '-i'", LISTEN),
    (["-r", "site"], "option '-r'", "'--archive', or " + DIRECTORY),
    (["-u", "site"], "option '-u'", "'--uploads'"),
    (["-H", "site"], "option '-H'", "'--hidden'"),
    (["--bind", "127.0.0.1"], "option '--bind'", LISTEN),
    (["-b", "127.0.0.1"], "option '-b'", LISTEN),
    (["-d", "site"], "option '-d'", DIRECTORY),
    (["--directory", "site"], "option '--directory'", DIRECTORY),
    (["run", "--config", "x"], "option '--config'", "'uvhttp run FILE'"),
])
def test_option_of_another_server_has_hint(arguments, word, hint):
    assert refused(*arguments) == f"uvhttp: unknown {word}; did you mean {hint}?"


@pytest.mark.parametrize("value, foreign, ours", [
    ("/a=/b$uri", "$uri", "{path}"), ("/a=https://$host/", "$host", "{host}"),
    ("/a/*=/b/$1", "$1", "{rest}"), ("/a=/b$request_uri", "$request_uri", "{target}"),
    ("/a=/b$is_args$args", "$is_args", "{query}"),
])
def test_variable_of_nginx_in_option_has_hint(value, foreign, ours):
    message = f"'{foreign}' is a variable of nginx; the placeholder is {ours}"
    assert refused("--redirect", value, ".") == f"uvhttp: --redirect: {message}"
    assert refused("--rewrite", value, ".") == f"uvhttp: --rewrite: {message}"


def test_try_files_with_variables_of_nginx_have_hint():
    assert refused("--try-files", "$uri $uri/ =404", ".") == (
        "uvhttp: --try-files: '$uri' is a variable of nginx; the placeholder is {path}")


@pytest.mark.parametrize("text, message", [
    ("/b$uri", "'$uri' is a variable of nginx; the placeholder is {path}"),
    ("https://$host/", "'$host' is a variable of nginx; the placeholder is {host}"),
    ("/${host}", "the environment variable 'host' does not exist; ${host:-default} sets a "
     "default, and the value of a request is {host}"),
    ("/$1$salt", "'$' must be followed by {NAME} or {NAME:-default}; write a dollar sign as $$"),
])
def test_variable_of_nginx_in_file_has_hint(write, text, message):
    path = write(f"sites: [{{routes: [{{path: /a, redirect: '{text}'}}]}}]\n")
    assert problems(path) == [f"1:40: {message}"]


@pytest.mark.parametrize("foreign, ours", [("{uri}", "{target}"), ("{remote_host}", "{client}")])
def test_placeholder_of_caddy_has_hint(write, foreign, ours):
    path = write(f"sites: [{{routes: [{{path: /a, respond: {{body: 'x{foreign}'}}}}]}}]\n")
    assert f"{foreign} is not a placeholder; did you mean {ours}?" in problems(path)[0]


# Help about a word


@pytest.mark.parametrize("word, lines, other", [
    ("port", ["  -p, --port PORT ", "      --redirect-http PORT ",
              "In a configuration file: use 'listen' at the top level"], "--hsts"),
    ("--port", ["  -p, --port PORT "], "--hsts"),
    ("-p", ["  -p, --port PORT "], "--listen"),
    ("compress", ["      --[no-]compress "], "--port"),
    ("COMPRESSED", ["  uvhttp precompress DIR ", "      --[no-]precompressed"], "--port"),
    ("autoindex", ["In a configuration file: use 'listing' of a route"], "--"),
])
def test_help_about_word(word, lines, other):
    done = run("uvhttp", "help", word)
    assert (done.returncode, done.stderr) == (0, "")
    for line in lines:
        assert f"\n{line}" in "\n" + done.stdout, done.stdout
    assert other not in done.stdout


@pytest.mark.parametrize("word", ["", "zzz", "-Z"])
def test_help_about_unknown_word(word):
    assert refused("help", word) == (
        f"uvhttp: no command and no option is about '{word}'; all options: uvhttp help serve")


# Signals


def test_upgrade_signal_of_nginx_is_ignored(start):
    program = start("sites: [{routes: [{path: /, respond: {body: x}}]}]\n")
    program.send_signal(signal.SIGUSR2)
    assert get(program).status_code == 200
    assert program.stop() == 0


# Values that can never work

EMPTY = "is an empty list; give a value, or omit the key"
STATIC = "sites: [{routes: [{path: /, static: site, %s}]}]\n"
SITE = "sites: [{routes: [{path: /, respond: {body: x}}], %s}]\n"


@pytest.mark.parametrize("text, message", [
    (STATIC % "prewarm: []", f"1:52: prewarm {EMPTY}"),
    (STATIC % "more_roots: []", f"1:55: more_roots {EMPTY}"),
    (STATIC % "rules: []", f"1:50: rules {EMPTY}"),
    (STATIC % "error_pages: ''", "1:56: error_pages is empty; give a value, or omit the key"),
    (STATIC % "fallback: ''", "1:53: fallback is empty; give a value, or omit the key"),
    (SITE % "cors: ''", "1:57: cors is empty; give a value, or omit the key"),
    (SITE % "cors: []", f"1:57: cors {EMPTY}"),
    (SITE % "rewrites: []", f"1:61: rewrites {EMPTY}"),
    (SITE % "allow: []", f"1:58: allow {EMPTY}"),
])
def test_empty_value_in_file_is_refused(write, text, message):
    assert problems(write(text)) == [message]


@pytest.mark.parametrize("addresses", [["127.0.0.1:0"], ["127.0.0.1:0", "http://127.0.0.2:0"],
                                       ["unix:socket"]])
def test_port_without_effect_is_refused(write, addresses):
    flags = [word for one in addresses for word in ("--listen", one)]
    message = ("uvhttp: --port: '9000' has no effect: every address of {} has a port; omit one "
               "of them")
    assert refused("-p9000", *flags, ".") == message.format("--listen")
    path = write(f"listen: {addresses}\nsites: [{{routes: [{{path: /, respond: {{}}}}]}}]\n")
    assert refused("run", "--port=9000", path) == message.format("'listen'")
    assert refused("check", "--port=9000", path) == message.format("'listen'")


def test_port_is_default_of_some_addresses(write):
    path = write("listen: [127.0.0.1:0, 127.0.0.2]\nsites: [{routes: [{path: /, respond: {}}]}]\n")
    assert run("uvhttp", "check", "--port=9000", path).returncode == 0
    path = write("listen: [127.0.0.1:0]\nsites: [{routes: [{path: /, respond: {}}]}]\n")
    assert run("uvhttp", "check", path, environment={"UVHTTP_PORT": "9000"}).returncode == 0


# Logs


@pytest.mark.parametrize("text, arguments", [
    ("access_log: access.log\n", []), ("access_log: {path: access.log}\n", []),
    ("", ["--access-log={directory}/access.log"]),
])
def test_access_log_is_combined_by_default(start, tmp_path, text, arguments):
    program = start(f"{text}sites: [{{routes: [{{path: /, respond: {{body: x}}}}]}}]\n",
                    *[one.format(directory=tmp_path) for one in arguments])
    program.request("/", "User-Agent: a browser")
    assert program.stop() == 0
    assert (tmp_path / "access.log").read_text().endswith(' "-" "a browser"\n')
