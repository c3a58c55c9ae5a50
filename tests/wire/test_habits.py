"""Habits of users of nginx, Caddy, miniserve and Python's http.server: what does not work names
what does, and values that can never work are refused at the start."""

import resource

import pytest

from program import Program, run
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
    (["-s", "reload"], "option '-s'",
     "'kill -TERM PID' to stop a server, 'uvhttp reload', or '--spa'"),
    (["--log-format", "json"], "option '--log-format'",
     "'format' of 'access_log', in a file for 'uvhttp run'"),
    (["--auth-file", "staff"], "option '--auth-file'", "'--auth FILE'"),
    (["file-server", "--browse"], "command 'file-server'", "'uvhttp serve DIR'"),
    (["validate"], "command 'validate'", "'uvhttp check FILE'"),
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
    (["--redirect-status", "301"], "option '--redirect-status'",
     "'status' beside 'redirect', in a file for 'uvhttp run'"),
    (["run", "--config", "x"], "option '--config'", "'uvhttp run FILE'"),
    (["--log=a"], "option '--log'", "'--access-log=FILE', or '2>FILE' for messages"),
    (["--pid", "a"], "option '--pid'",
     "'--pid-file'"),
    (["run", "--daemon"], "option '--daemon'", "a service of systemd, or 'nohup uvhttp ... &'"),
])
def test_option_of_another_server_has_hint(arguments, word, hint):
    assert refused(*arguments) == f"uvhttp: unknown {word}; did you mean {hint}?"


@pytest.mark.parametrize("option, hint", [
    ("--auth", "use 'basic_auth' of a site or route"),
    ("--hide", "'hide' is a key of a route, in the list 'routes' of a site"),
    ("--no-listing", "'listing' is a key of a route, in the list 'routes' of a site"),
    ("--tls-cert", "use a key of 'tls'"), ("--more-root", "use a key of a site or route"),
])
def test_option_of_serve_with_run_has_hint(option, hint):
    for command in "run", "check":
        assert refused(command, option, "a") == (
            f"uvhttp: unknown option '{option}' of this command; in the file {hint}")


def test_password_file_with_colon_has_hint():
    assert refused("--auth", "ann:secret", ".", code=1) == (
        "uvhttp: --auth: 'ann:secret' cannot be opened: no such file or directory; a file is "
        "required, with lines of 'uvhttp hash-password NAME'")


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


def test_dollar_sign_in_option_without_placeholders(write, tmp_path):
    write("")
    assert run("uvhttp", "serve", "--print-config", "--header=X-A: $uri",
               tmp_path / "site").returncode == 0


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


def test_same_problem_of_a_value_is_reported_once(write):
    path = write("sites: [{routes: [{path: /, static: site, try_files: '$uri $uri/'}]}]\n")
    assert problems(path) == [
        "1:54: '$uri' is a variable of nginx; the placeholder is {path}"]


@pytest.mark.parametrize("value", ["false", "staff"])
def test_password_that_is_no_map_has_hint(write, value):
    path = write(f"sites: [{{routes: [{{path: /a, respond: {{}}, basic_auth: {value}}}]}}]\n")
    assert problems(path) == [
        "1:55: basic_auth: expected a map, such as {file: staff}, or off"]


@pytest.mark.parametrize("value", ["*.a.test", "&.a.test"])
def test_value_that_must_be_quoted_has_hint(write, value):
    path = write(f"sites:\n  - hosts: {value}\n")
    assert problems(path)[0].endswith(
        "invalid YAML: a value that begins with '*' or '&' must be quoted")


@pytest.mark.parametrize("text, message", [
    ("access_log: -\n", '1:13: invalid YAML: the value "-" must be quoted; a list begins in a line '
     "of its own"),
    ("try_files: {path} =410\n", "1:19: invalid YAML: a key was expected here; check the "
     "indentation, and quote a value that begins with '{' or '['"),
])
def test_invalid_yaml_of_unquoted_value_has_hint(write, text, message):
    assert problems(write(text)) == [message]


@pytest.mark.parametrize("text", [
    "{\n  email a@a.test\n}\na.test {\n  root * /srv\n}\n", '[server]\nport = 80\n',
])
def test_file_of_another_format_names_help(write, text):
    assert problems(write(text))[0].endswith(
        "invalid YAML: the file goes on after the end of its map or list; to translate a "
        "configuration of another server see 'uvhttp help nginx'")


def test_path_without_slash_is_named_without_host(write):
    path = write("sites: [{hosts: a.test, routes: [{path: x, redirect: /y}]}]\n")
    assert problems(path) == ['1:41: route "x" refused: it does not begin with "/"']


@pytest.mark.parametrize("foreign, ours", [("{uri}", "{target}"), ("{remote_host}", "{client}")])
def test_placeholder_of_caddy_has_hint(write, foreign, ours):
    path = write(f"sites: [{{routes: [{{path: /a, respond: {{body: 'x{foreign}'}}}}]}}]\n")
    assert f"{foreign} is not a placeholder; did you mean {ours}?" in problems(path)[0]


@pytest.mark.parametrize("foreign, ours", [
    ("{http.request.uri.path}", "{path}"), ("{http.request.uri}", "{target}"),
    ("{http.request.header.X-A}",
     "one of {target}, {path}, {query}, {host}, {scheme}, {method} and {client}"),
])
def test_long_placeholder_of_caddy_has_hint(write, foreign, ours):
    message = f"{foreign} is a placeholder of Caddy; use {ours}"
    for route in (f"redirect: 'https://x.test{foreign}'", f"respond: {{body: 'x{foreign}'}}"):
        path = write(f"sites: [{{routes: [{{path: /a, {route}}}]}}]\n")
        assert problems(path)[0].endswith(f": {message}")
    path = write(f"sites: [{{rewrites: [{{path: /a, to: '/b{foreign}'}}], "
                 "routes: [{path: /, respond: {}}]}]\n")
    assert problems(path)[0].endswith(f": {message}")
    for flag in "redirect", "rewrite":
        assert refused(f"--{flag}", f"/a=/b{foreign}", ".") == f"uvhttp: --{flag}: {message}"


@pytest.mark.parametrize("body", ["{{http.request.uri}}", "f={http.get}"])
def test_body_may_have_braces_with_dots(start, body):
    program = start(f"sites: [{{routes: [{{path: /a, respond: {{body: '{body}'}}}}]}}]\n")
    assert get(program, "/a").text == body


@pytest.mark.parametrize("location", ["/news/article,301", "/b=302", "/b;id=308",
                                      "https://x.test/b,307"])
def test_location_may_end_with_a_number(start, location):
    program = start(f"sites: [{{routes: [{{path: /a, redirect: '{location}'}}]}}]\n")
    assert get(program, "/a").headers["location"] == location


# Help about a word


@pytest.mark.parametrize("word, lines, other", [
    ("port", ["  -p, --port PORT ", "      --redirect-http PORT ",
              "In a configuration file: use 'listen' at the top level"], "--hsts"),
    ("--port", ["  -p, --port PORT "], "--hsts"),
    ("-p", ["  -p, --port PORT "], "--listen"),
    ("compress", ["      --[no-]compress "], "--port"),
    ("COMPRESSED", ["  uvhttp precompress DIR ", "      --[no-]precompressed"], "--port"),
    ("nginx", ["  location, handle ",
               "forwarded to other servers. All of it: docs/coming-from.md"], "Options of"),
    ("signals", ["  SIGHUP ", "  SIGUSR1 "], "Options of"),
    ("Signal", ["  SIGINT, SIGTERM, SIGQUIT "], "Options of"),
    ("reload", ["  certificates and keys ", "  configuration ", "Usage: uvhttp reload "], "--spa"),
    ("variables", ["  UVHTTP_MAX_CONNECTIONS ", "  {host} {scheme} {method} "], "Options of"),
    ("config", ["  listen: 8080", "Commands:", "  uvhttp run [CONFIG] "], "--port"),
    ("spa", ["      --[no-]spa ", "In a configuration file: 'spa' is a key of a route, in the "
             "list 'routes' of a site"], "--port"),
    ("autoindex", ["In a configuration file: use 'listing' of a route"], "--"),
    ("ServerName", ["In a configuration file: use 'hosts' of a site"], "--"),
    ("DocumentRoot", ["In a configuration file: use 'static' of a route"], "--"),
    ("VirtualHost", ["In a configuration file: use 'sites', a list"], "--"),
    ("kubernetes", ["In a configuration file: use 'health' at the top level"], "--"),
    ("regex", ["In a configuration file: there are no regular expressions; paths have"], "--"),
    ("Caddyfile", ["  location, handle "], "Options of"),
    ("$uri", ["  $uri, $args, $host "], "Options of"),
    ("HUP", ["  SIGHUP "], "Options of"), ("logrotate", ["  SIGUSR1 "], "Options of"),
    ("env", ["  UVHTTP_MAX_CONNECTIONS "], "--port"),
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


@pytest.mark.parametrize("option, example", [
    ("error_pages", "404=/404.html 5xx=/sorry.html"), ("try_files", "{path} /index.html"),
])
def test_map_instead_of_words_is_refused(write, option, example):
    assert problems(write(STATIC % f"{option}: {{404: /404.html}}")) == [
        f"1:{45 + len(option)}: {option}: expected words such as '{example}', or a list of them, "
        "found a map"]


def test_braces_without_quotes_have_a_hint(write):
    assert problems(write(STATIC % "try_files: [{path}, /index.html]")) == [
        "1:55: expected a single value, found a map; quote a value that begins with '{'"]
    assert problems(write("sites:\n - routes:\n   - path:\n       a:\n     respond: {}\n")) == [
        "4:8: path: expected a single value, found a map"]


def test_error_pages_can_be_a_list(start, tmp_path):
    program = start(STATIC % "error_pages: [403=/index.html, 404=/index.html]")
    response = get(program, "/none")
    assert (response.status_code, response.text) == (404, "the index\n")


def test_error_pages_may_be_missing_beside_an_alias(tmp_path):
    for path in ("site/404.html", "other/file"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(path)
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", "--error-pages=404=/404.html",
                      f"--alias=/z={tmp_path}/other/file", tmp_path / "site")
    assert program.request("/z").body == b"other/file"
    assert program.request("/none").body == b"site/404.html"
    assert program.stop() == 0


def test_last_file_of_try_files_may_be_missing_in_alias(write, tmp_path):
    write("")
    site = tmp_path / "site"
    assert run("uvhttp", "serve", "--print-config", "--try-files={path} /index.html",
               f"--alias=/a/={tmp_path}", site).returncode == 0


@pytest.mark.parametrize("text, allowed", [
    ("10.1.2.3/8", "10.0.0.0/8 (the network) and 10.1.2.3 (this address)"),
    ("10.1.2.3/23", "10.1.2.0/23 (the network) and 10.1.2.3 (this address)"),
    ("2001:db8::1/33", "2001:db8::/33 (the network) and 2001:db8::1 (this address)"),
    ("10.0.0.1/0", "0.0.0.0/0 (the network) and 10.0.0.1 (this address)"),
    ("10.0.0.1/33", "all, unix, an address such as 192.0.2.1, and a prefix such as 10.0.0.0/8 "
     "without host bits"),
])
def test_prefix_with_host_bits_names_its_network(text, allowed):
    assert refused("--allow", text, ".") == (
        f"uvhttp: --allow: '{text}' is invalid; allowed are {allowed}")


NO_CLIENT = ("allow: no client can have the address '{}': no address that is listened on has its "
             "family; add one, or allow others")


@pytest.mark.parametrize("listen, allow, good", [
    ("127.0.0.1:0", "['::1']", False), ("'[::1]:0'", "127.0.0.1", False),
    ("127.0.0.1:0", "unix", False), ("unix:s", "192.0.2.1", False),
    ("127.0.0.1:0", "['::1', 127.0.0.1]", True), ("['[::1]:0', 127.0.0.1:0]", "127.0.0.1", True),
    ("'*:0'", "'::1'", True), ("unix:s", "unix", True), ("127.0.0.1:0", "all", True),
    ("127.0.0.1:0", "'::ffff:192.0.2.1'", True),
])
def test_allow_of_another_family_is_refused(write, listen, allow, good):
    site = f"sites: [{{allow: {allow}, routes: [{{path: /, respond: {{}}}}]}}]\n"
    route = f"sites: [{{routes: [{{path: /, respond: {{}}, allow: {allow}}}]}}]\n"
    for text in (site, route):
        path = write(f"listen: {listen}\n{text}")
        if good:
            assert run("uvhttp", "check", path).returncode == 0
        else:
            address = allow.strip("[]'")
            assert problems(path)[0].endswith(": " + NO_CLIENT.format(address))
            proxy = write(f"listen: {listen}\ntrusted_proxies: 127.0.0.1\n{text}")
            assert run("uvhttp", "check", proxy).returncode == 0


def test_allow_flag_of_another_family_is_refused():
    assert refused("-l127.0.0.1:0", "--allow=::1", ".",
                   code=1) == "uvhttp: --" + NO_CLIENT.format("::1")


@pytest.mark.parametrize("route, good", [
    ("path: /a, redirect: /a", False),
    ("path: /a, redirect: '/a{query}'", False),
    ("path: /a, redirect: '/a?x'", False),
    ("path: /*, redirect: '{target}'", False),
    ("path: /*, redirect: '{scheme}://{host}{target}'", False),
    ("path: /*, redirect: 'http://{host}{path}'", False),
    ("path: /*, redirect: 'http://a.test/{rest}'", False),
    ("path: /u/:id(int)/x, redirect: '/u/{id}/x'", False),
    ("path: /old/*, redirect: '/old/{rest}{query}'", False),
    ("path: /old/*, redirect: /old/new", False),
    ("path: /*, redirect: /maintenance", False),
    ("path: /*, redirect: /maintenance}, {path: /maintenance, respond: {}", True),
    ("path: /*, redirect: /assets/x}, {path: /assets/, static: site", True),
    ("path: /*, redirect: 'https://{host}{target}'", True),
    ("path: /*, redirect: 'http://www.a.test{target}'", True),
    ("path: /a, redirect: /a/", True),
    ("path: /a, redirect: /b", True),
    ("path: /old/*, redirect: '/new/{rest}'", True),
    ("path: /a, methods: [POST], redirect: /a, status: 303", True),
])
def test_redirect_to_itself_is_refused(write, route, good):
    path = write(f"sites: [{{hosts: [a.test], routes: [{{{route}}}]}}]\n")
    if good:
        assert run("uvhttp", "check", path).returncode == 0
    else:
        assert " leads to itself at '/" in problems(path)[0]


NO_REGEX = ("paths such as /old/* (all below /old/) and /user/:name (one segment), not regular "
            "expressions")
LAST_STAR = "paths with '*' as the last segment only, such as /old/*"


@pytest.mark.parametrize("path, allowed", [
    ("/old/(.*)", NO_REGEX), ("^/old/(.*)$", NO_REGEX), ("~ ^/old", NO_REGEX),
    ("/old/[0-9]+", NO_REGEX), ("^~ /old/", NO_REGEX), ("/old(/x)?", NO_REGEX),
    ("/old/*.html", LAST_STAR), ("/old*", LAST_STAR), ("/*/old", LAST_STAR),
])
def test_path_with_regular_expression_is_refused(write, path, allowed):
    message = f"'{path}' is invalid; allowed are {allowed}"
    for site in (f"routes: [{{path: '{path}', redirect: /b}}]",
                 f"rewrites: [{{path: '{path}', to: /b}}], routes: [{{path: /, respond: {{}}}}]"):
        first, *extra = problems(write(f"sites: [{{{site}}}]\n"))
        assert first.endswith(f": {message}") and not extra
    for flag in "redirect", "rewrite":
        assert refused(f"--{flag}", f"{path}=/b", ".") == (
            f"uvhttp: --{flag}: '{path}=/b' is invalid; allowed are {allowed}")


@pytest.mark.parametrize("path", ["/a.b/*", "/a(b)/x+y", "/:id(int)/*rest", "/a.txt"])
def test_path_with_special_characters_is_accepted(write, path):
    path = write(f"sites: [{{routes: [{{path: '{path}', redirect: /b}}]}}]\n")
    assert run("uvhttp", "check", path).returncode == 0


def test_redirect_of_unfinished_pattern_is_refused_by_router(write):
    path = write("sites: [{routes: [{path: '/:id(int', redirect: /x}]}]\n")
    assert 'route "/:id(int" refused' in problems(path)[0]


def test_redirect_flag_to_itself_is_refused():
    assert refused("-l127.0.0.1:0", "--redirect=/a=/a", ".", code=1) == (
        "uvhttp: --redirect: '/a' leads to itself at '/a', so clients would give up; change the "
        "location")


def test_redirect_from_https_to_https_is_refused(write):
    path = write("tls: {self_signed: true}\n"
                 "sites: [{routes: [{path: /*, redirect: 'https://{host}{target}'}]}]\n")
    assert problems(path)[0].endswith("change the location, or use redirect_http")


def test_lowest_version_above_highest_is_refused(write):
    path = write("tls: {self_signed: true, min_version: '1.3', max_version: '1.2'}\n"
                 "sites: [{routes: [{path: /, respond: {}}]}]\n")
    assert problems(path) == ["1:6: min_version is above max_version; omit one of them"]


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


@pytest.mark.parametrize("flags, keys, name, option", [
    (["--fallback=/app.html"], "fallback: /app.html", "app.html", "fallback"),
    (["--spa", "--index=a.html b.html"], "spa: true, index: a.html b.html", "a.html", "spa"),
    (["--error-pages=404=/404.html"], "error_pages: 404=/404.html", "404.html", "error_pages"),
    (["--try-files={path} /app.html "], "try_files: ['{path}', /app.html]", "app.html",
     "try_files"),
])
def test_missing_file_of_option_is_reported_at_start(write, tmp_path, flags, keys, name, option):
    message = f"the file '{tmp_path}/site/{name}' does not exist"
    flag = "--" + option.replace("_", "-")
    for more in ([], ["--print-config"]):
        assert refused(*flags, *more, "-l127.0.0.1:0", tmp_path / "site",
                       code=1) == f"uvhttp: {flag}: {message}"
    path = write(f"sites: [{{routes: [{{path: /, static: site, {keys}}}]}}]\n")
    assert problems(path) == [f"1:{45 + len(option)}: {option}: {message}"]
    (tmp_path / "out").write_text("")
    for target in (tmp_path / "out", "../out", tmp_path / "site" / "index.html"):
        (tmp_path / "site" / name).symlink_to(target)
        assert problems(path) == [
            f"1:{45 + len(option)}: {option}: the file '{tmp_path}/site/{name}' is outside of the "
            "directory, by a link, or an absolute link"]
        (tmp_path / "site" / name).unlink()
    (tmp_path / "site" / name).symlink_to("index.html")
    assert run("uvhttp", "check", path).returncode == 0
    (tmp_path / "site" / name).unlink()
    (tmp_path / "site" / name).symlink_to(tmp_path / "out")
    path = write(f"sites: [{{routes: [{{path: /, static: site, symlinks: all, {keys}}}]}}]\n")
    assert run("uvhttp", "check", path).returncode == 0
    (tmp_path / "site" / name).unlink()
    (tmp_path / "site" / name).write_text("")
    assert run("uvhttp", "check", path).returncode == 0


@pytest.mark.parametrize("flags, message", [
    (["--access-log={0}/none/log"], "the access log '{0}/none/log' cannot be written: no such file "
     "or directory"),
    (["-l192.0.2.99:0"], "--listen: this machine has no address 192.0.2.99; choose another, or *"),
    (["-lunix:{0}/none/socket"], "--listen: the directory of '{0}/none/socket' cannot be used: no "
     "such file or directory"),
    (["--auth={0}/site/index.html"], "--auth: '{0}/site/index.html', line 1, is \"(not shown)\"; "
     "must be NAME:HASH"),
    (["--tls-cert={0}/site/index.html"], "tls: the certificate of {0}/site/index.html "),
    (["--alias=/x/={0}/none"], "--alias: '{0}/none' cannot be served: no such file or directory"),
    (["--redirect=/a={{foo}}"], "--redirect: {{foo}} is not a placeholder; "),
    (["--error-pages=404=/none"], "--error-pages: the file '{0}/site/none' does not exist"),
])
def test_print_config_checks_as_start_does(write, tmp_path, flags, message):
    write("")
    done = run("uvhttp", "serve", "--print-config", *[one.format(tmp_path) for one in flags],
               tmp_path / "site")
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.startswith("uvhttp: " + message.format(tmp_path)), done.stderr


def test_check_finds_addresses_of_other_machines(write, tmp_path):
    path = write("listen: [127.0.0.1:80, 192.0.2.99:80, 'unix:none/socket']\n"
                 "metrics: {listen: '192.0.2.99:9100'}\n"
                 "sites: [{routes: [{path: /, respond: {}}]}]\n")
    found = ["1:24: listen: this machine has no address 192.0.2.99; choose another, or *",
             f"1:39: listen: the directory of '{tmp_path}/none/socket' cannot be used: no such "
             "file or directory",
             "2:10: metrics: this machine has no address 192.0.2.99; choose another, or *"]
    assert problems(path) == found
    done = run("uvhttp", "run", "--print-config", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "".join(f"{path}:{line}\n" for line in found)
    assert problems(path, "--listen=192.0.2.98")[0] == (
        "--listen: this machine has no address 192.0.2.98; choose another, or *")


def test_check_accepts_port_in_use(start, write):
    program = start("sites: [{routes: [{path: /, respond: {}}]}]\n")
    path = write(f"listen: 127.0.0.1:{program.port}\n"
                 "sites: [{routes: [{path: /, respond: {}}]}]\n")
    assert run("uvhttp", "check", path).returncode == 0


def test_descriptor_limit_below_connections_is_reported(start, write):
    text = ("server: {max_connections: %d, workers: 1}\n"
            "sites: [{routes: [{path: /, respond: {}}]}]\n")
    limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))}
    warning = ("warning: max_connections is 301, but this process may have 300 descriptors only; "
               "raise the limit (ulimit -Hn, or LimitNOFILE in a systemd unit), or lower "
               "max_connections\n")
    for most in (300, 301):
        done = run("uvhttp", "check", write(text % most), **limited)
        assert done.returncode == 0 and done.stderr.endswith(warning) == (most == 301)
        assert start(text % most, **limited).log().count("max_connections is") == 1


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
