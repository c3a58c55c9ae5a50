"""The files of packaging/: they fit the program, and the tools they are for accept them.

A tool that is not installed skips its tests; packaging/README.md names the packages. The tests of
Debian packages, which are built for them, run with UVHTTP_TEST_PACKAGES=1.
"""

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time

import pytest
import yaml

from test_install import BUILD, ROOT, VERSION, run

sys.path.insert(0, str(ROOT / "tests/wire"))

import pages  # noqa: E402  (beside the wire tests)

PACKAGING = ROOT / "packaging"
PROGRAM = BUILD / "dist/bin/uvhttp"


def tool(name):
    """The path of a tool; without it the test is skipped."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


# Generated files


def test_generated_files_fit_the_build():
    """After a change of options or functions run packaging/generate.py."""
    run(PACKAGING / "generate.py", "--check", "--build", BUILD)


def manual_options():
    text = (ROOT / "docs/man/uvhttp.1").read_text()
    return {f"--{name}" for line in re.findall(r"^\.It Fl (.*)$", text, re.M)
            for name in re.findall(r"(?:^|[ ,])-([a-z][\w-]+)", line)}


def test_manual_has_every_command():
    usage = run(PROGRAM, "help").split("\nCommon options:")[0]
    commands = re.findall(r"^  uvhttp \[?([a-z-]+)", usage, re.M)
    text = (ROOT / "docs/man/uvhttp.1").read_text()
    synopsis = text[text.index(".Sh SYNOPSIS"):text.index(".Sh DESCRIPTION")]
    assert re.findall(r"^\.(?:Op )?Cm ([a-z-]+)$", synopsis, re.M) == commands
    described = re.findall(r"^\.Nm\n\.Cm ([a-z-]+)$", text.replace(synopsis, ""), re.M)
    described += [name.lower() for name in re.findall(r"^\.Sh ([A-Z-]+)$", text, re.M)]
    assert {*commands} - {*described} == {"help", "version"}


# How a shell completes the last word.
SHELLS = {
    "bash": 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _uvhttp; '
            'printf "%s\\n" "${COMPREPLY[@]}"',
    "fish": "source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])",
    # zsh completes on a terminal only, so this prints the arguments of _arguments.
    "zsh": 'f=$1; shift; words=("$@"); CURRENT=$#; compdef() { }; '
           '_describe() { print -l -- "${(P@)4%%:*}" }; _arguments() { print -l -- "$@" }; '
           'autoload -Uz -- $f; _uvhttp',
}
FILES = {"bash": "uvhttp.bash", "fish": "uvhttp.fish", "zsh": "_uvhttp"}


def complete(shell, *words):
    path = PACKAGING / "completions" / FILES[shell]
    options = {"zsh": ["-f"], "fish": ["--no-config"], "bash": ["--norc"]}[shell]
    name = [] if shell == "fish" else [shell]
    output = run(tool(shell), *options, "-c", SHELLS[shell], *name, path, *words,
                 env={**os.environ, "HOME": "/nonexistent"})
    if shell == "zsh":
        return {word for line in output.splitlines()
                for word in re.findall(r"(?:^|\))\*?(--?[\w-]+?)(?=[+=\[])|^([\w-]+)$", line)
                for word in word if word}
    return {line.split("\t")[0] for line in output.splitlines()}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_has_every_option_of_the_manual(shell):
    found = set()
    for command in ("serve", "run", "precompress", "cert", "hash-password"):
        found |= complete(shell, "uvhttp", command, "--")
    missing = manual_options() - found
    assert missing <= {"--version", "--http"}, missing


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_has_the_options_of_the_command(shell):
    assert "--symlinks" in complete(shell, "uvhttp", "--")
    assert "--symlinks" in complete(shell, "uvhttp", "serve", "--")
    assert "--symlinks" not in complete(shell, "uvhttp", "run", "--")
    assert "--test" in complete(shell, "uvhttp", "run", "--")
    assert "--codings" in complete(shell, "uvhttp", "precompress", "--")


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_has_commands_and_values(shell):
    assert {"run", "reload"} <= complete(shell, "uvhttp", "r")
    assert complete(shell, "uvhttp", "serve", "--symlinks", "") == {
        "inside", "all", "none", "owner"}
    assert "reload" in complete(shell, "uvhttp", "help", "")


# Versions


def spec(name):
    return re.search(rf"^{name}:\s+(\S+)", (PACKAGING / "rpm/uvhttp.spec").read_text(), re.M)[1]


def test_versions_are_those_of_cmake():
    changelog = (PACKAGING / "debian/changelog").read_text()
    vcpkg = json.loads((PACKAGING / "vcpkg/uvhttp/vcpkg.json").read_text())
    image, = load("kubernetes/kustomization.yaml")["images"]
    assert {re.match(r"uvhttp \((.*)-", changelog)[1], spec("Version"), vcpkg["version"],
            image["newTag"]} == {VERSION}
    major_minor = ".".join(VERSION.split(".")[:2])
    assert f"%global soversion {major_minor}\n" in (PACKAGING / "rpm/uvhttp.spec").read_text()


def test_names_of_library_packages_follow_the_soname():
    control = (PACKAGING / "debian/control").read_text()
    packages = set(re.findall(r"^Package: (lib\S+\d)$", control, re.M))
    assert packages == {path.stem for path in (PACKAGING / "debian").glob("*.symbols")}
    assert packages == {path.name.removesuffix(".install")
                        for path in (PACKAGING / "debian").glob("lib*[0-9].install")}


# systemd


def load(name):
    return yaml.safe_load((PACKAGING / name).read_text())


def unit(name, file="uvhttp.service"):
    """The values of a setting."""
    return re.findall(rf"^{name}=(.*)$", (PACKAGING / "systemd" / file).read_text(), re.M)


def test_units_are_valid(tmp_path):
    for path in (PACKAGING / "systemd").glob("uvhttp.s[eo]*"):
        text = path.read_text().replace("/usr/bin/uvhttp", str(PROGRAM))
        (tmp_path / path.name).write_text(text)
    done = subprocess.run([tool("systemd-analyze"), "verify", "--man=no",
                           *map(str, tmp_path.iterdir())], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if "uvhttp" in line]
    assert ours == [] and done.returncode == 0, done.stderr


def test_service_has_few_rights():
    output = run(tool("systemd-analyze"), "security", "--offline=true", "--no-pager",
                 PACKAGING / "systemd/uvhttp.service")
    assert float(re.search(r"exposure level for uvhttp.service: ([\d.]+)", output)[1]) < 3.0


def test_directories_of_the_service_are_those_of_the_configuration():
    config = load("etc/uvhttp.yaml")
    name, = unit("RuntimeDirectory")
    assert config["pid_file"].startswith(f"/run/{name}/")
    name, = unit("LogsDirectory")
    assert config["access_log"].startswith(f"/var/log/{name}/")
    assert config["sites"][0]["routes"][0]["static"] == "/usr/share/uvhttp/site"
    assert unit("User") == unit("Group") == ["uvhttp"]


def seconds(text):
    number, unit_ = re.fullmatch(r"([\d.]+)(s|min)?", str(text)).groups()
    return float(number) * (60 if unit_ == "min" else 1)


def drain(config):
    """The longest time of a stop by default or by a configuration."""
    printed = yaml.safe_load(run(PROGRAM, "serve", "--print-config", ROOT))["server"]
    server = {**printed, **config.get("server", {})}
    return sum(seconds(server.get(key, 0)) for key in ("drain_delay", "drain_timeout"))


def test_systemd_waits_for_open_requests():
    limit, = unit("TimeoutStopSec")
    assert float(limit) > drain(load("etc/uvhttp.yaml"))


def test_user_of_the_service_is_created(tmp_path):
    (tmp_path / "etc").mkdir()
    run(tool("systemd-sysusers"), f"--root={tmp_path}", PACKAGING / "systemd/uvhttp.sysusers")
    assert re.search(r"^uvhttp:x:\d+:\d+:.*:/var/lib/uvhttp:/usr/sbin/nologin$",
                     (tmp_path / "etc/passwd").read_text(), re.M)


# The default configuration


class Server:
    """The program with a configuration of packaging/, whose paths and ports are replaced."""
    def __init__(self, name, directory, *replaced):
        site = directory / "site"
        shutil.copytree(PACKAGING / "site", site, dirs_exist_ok=True)
        text = (PACKAGING / name).read_text()
        for old, new in (("/usr/share/uvhttp/site", site), ("/srv", site),
                         ("/run/uvhttp", directory), ("/var/log/uvhttp", directory), *replaced):
            text = text.replace(old, str(new))
        self.path = directory / "uvhttp.yaml"
        self.path.write_text(text)
        self.port = free_port()
        environment = {"UVHTTP_LISTEN": f"127.0.0.1:{self.port}"}
        self.process = subprocess.Popen([PROGRAM, "run", self.path], stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **environment})
        assert self.process.stdout.readline().startswith("uvhttp: running")

    def request(self, target="/", port=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        connection.request("GET", target, headers={key.replace("_", "-"): value
                                                   for key, value in fields.items()})
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response.status, body

    def stop(self):
        self.process.terminate()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.fixture
def start(tmp_path):
    running = []

    def starter(name, *replaced):
        running.append(Server(name, tmp_path, *replaced))
        return running[-1]

    yield starter
    for server in running:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        server.process.stdout.close()


def test_default_configuration_serves_the_page(start):
    server = start("etc/uvhttp.yaml")
    assert server.request() == (200, (PACKAGING / "site/index.html").read_text())
    assert (server.path.parent / "uvhttp.pid").read_text() == f"{server.process.pid}\n"
    assert server.stop() == 0


def test_logrotate_rotates_the_access_log(start, tmp_path):
    server = start("etc/uvhttp.yaml")
    log = tmp_path / "access.log"
    assert server.request("/?before")[0] == 200
    rules = (PACKAGING / "etc/uvhttp.logrotate").read_text()
    assert "systemctl kill --kill-who=main --signal=USR1 uvhttp.service" in rules
    rules = re.sub(r"(?s)(postrotate\n).*?( *endscript)", rf"\1kill -USR1 {server.process.pid}\n\2",
                   re.sub(r" +su .*\n", "", rules)).replace("/var/log/uvhttp", str(tmp_path))
    (tmp_path / "rules").write_text(rules)
    tmp_path.chmod(0o700)
    # Lines are written after a second; an empty log is not rotated.
    wait_for(lambda: log.stat().st_size > 0)
    run(tool("logrotate"), "-f", "-s", tmp_path / "state", tmp_path / "rules")
    wait_for(log.exists)
    assert server.request("/?after")[0] == 200
    assert server.stop() == 0
    assert "?before" in (tmp_path / "access.log.1").read_text() and "?after" in log.read_text()
    assert "?before" not in log.read_text()


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


# Proxies in front


def nginx_configuration(directory, front, server):
    text = (PACKAGING / "front/nginx.conf").read_text().replace("listen 80;", f"listen {front};")
    text = re.sub(r" *listen \[::\].*\n", "", text).replace(":8080", f":{server}")
    paths = "".join(f"{name}_temp_path {directory}/{name};\n"
                    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path = directory / "nginx.conf"
    path.write_text(f"daemon off;\npid {directory}/nginx.pid;\nevents {{}}\n"
                    f"http {{\naccess_log off;\n{paths}{text}}}\n")
    return path


def test_nginx_in_front(start, tmp_path):
    nginx = tool("nginx")
    server = start("front/uvhttp.yaml", ("drain_delay: 5s", "drain_delay: 0s"))
    front = free_port()
    path = nginx_configuration(tmp_path, front, server.port)
    command = [nginx, "-e", str(tmp_path / "errors"), "-c", str(path)]
    run(*command, "-t")
    in_front(subprocess.Popen(command), server, front)


def test_haproxy_in_front(start, tmp_path):
    haproxy = tool("haproxy")
    run(haproxy, "-c", "-f", PACKAGING / "front/haproxy.cfg")
    server = start("front/uvhttp.yaml", ("drain_delay: 5s", "drain_delay: 0s"))
    front = free_port()
    text = (PACKAGING / "front/haproxy.cfg").read_text()
    (tmp_path / "haproxy.cfg").write_text(text.replace("bind :80\n", f"bind 127.0.0.1:{front}\n")
                                          .replace(":8080\n", f":{server.port}\n")
                                          .replace("maxconn 20000", "maxconn 100"))
    in_front(subprocess.Popen([haproxy, "-db", "-f", str(tmp_path / "haproxy.cfg")],
                              stdout=subprocess.DEVNULL), server, front)


def in_front(proxy, server, front):
    """The page comes through the proxy, and clients cannot forge their address."""
    def listens():
        assert proxy.poll() is None
        try:
            return server.request(port=front)[0] == 200
        except ConnectionError:
            return False

    try:
        wait_for(listens)
        page = (PACKAGING / "site/index.html").read_text()
        assert server.request("/?seen", port=front, X_Forwarded_For="192.0.2.1") == (200, page)
    finally:
        proxy.terminate()
        proxy.wait(60)
    assert server.stop() == 0
    log = (server.path.parent / "access.log").read_text()
    line, = [line for line in log.splitlines() if "?seen" in line]
    assert line.startswith("127.0.0.1 ")


# Prometheus and Grafana


def test_prometheus_rules():
    promtool, directory = tool("promtool"), PACKAGING / "prometheus"
    run(promtool, "check", "rules", directory / "uvhttp.rules.yml")
    run(promtool, "check", "config", directory / "prometheus.yml")
    run(promtool, "test", "rules", "uvhttp.test.yml", cwd=directory)


def test_every_alert_is_tested():
    alerts = {rule["alert"] for group in load("prometheus/uvhttp.rules.yml")["groups"]
              for rule in group["rules"]}
    tested = {case["alertname"] for test in load("prometheus/uvhttp.test.yml")["tests"]
              for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert tested == alerts


def dashboard():
    """[(title, expression)] of the panels."""
    panels = json.loads((PACKAGING / "grafana/uvhttp.json").read_text())["panels"]
    return [(panel["title"], target["expr"]) for panel in panels
            for target in panel.get("targets", [])]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """The names of all metrics of a server with TLS and statistics of routes."""
    directory = tmp_path_factory.mktemp("metrics")
    port = free_port()
    process = subprocess.Popen(
        [PROGRAM, "serve", f"-l127.0.0.1:{port}", "--tls-self-signed", "--metrics",
         "--route-stats=10", directory], stdout=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(directory)})
    process.stdout.readline()
    for _ in range(2):  # the first request is in the second response
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60,
                                                 context=ssl._create_unverified_context())
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
    process.terminate()
    process.wait(60)
    process.stdout.close()
    return set(re.findall(r"^(uvhttp_\w+)", text, re.M))


def test_metrics_of_rules_and_dashboard_exist(metrics):
    rules = (PACKAGING / "prometheus/uvhttp.rules.yml").read_text()
    shown = " ".join(expression for _, expression in dashboard())
    assert set(re.findall(r"uvhttp_\w+", rules)) <= metrics
    assert set(re.findall(r"uvhttp_\w+", shown)) <= metrics
    # A new metric needs a place.
    base = {re.sub(r"_(bucket|sum|count)$", "", name) for name in metrics}
    assert base - {re.sub(r"_(bucket|sum|count)$", "", name)
                   for name in re.findall(r"uvhttp_\w+", shown)} == {
        "uvhttp_request_latency_seconds"}  # percentiles since the start


def test_expressions_of_the_dashboard_are_valid(tmp_path):
    values = {"$__rate_interval": "5m", "$job": "uvhttp", "$instance": "a"}
    rules = []
    for number, (_, expression) in enumerate(dashboard()):
        for name, value in values.items():
            expression = expression.replace(name, value)
        rules.append({"record": f"panel:{number}", "expr": expression})
    (tmp_path / "rules.yml").write_text(yaml.dump({"groups": [{"name": "d", "rules": rules}]}))
    run(tool("promtool"), "check", "rules", tmp_path / "rules.yml")


def test_metric_of_autoscaler_is_valid(tmp_path, metrics):
    rule, = load("kubernetes/adapter.yaml")["rules"]["custom"]
    query = rule["metricsQuery"].replace("<<.GroupBy>>", "pod")
    query = query.replace("<<.LabelMatchers>>", 'pod="a"')
    assert set(re.findall(r"uvhttp_\w+", query)) <= metrics
    rules = [{"record": rule["name"]["as"], "expr": query}]
    (tmp_path / "rules.yml").write_text(yaml.dump({"groups": [{"name": "a", "rules": rules}]}))
    run(tool("promtool"), "check", "rules", tmp_path / "rules.yml")


def test_panels_of_the_dashboard_do_not_overlap():
    panels = json.loads((PACKAGING / "grafana/uvhttp.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y) for panel in panels
              for x in range(panel["gridPos"]["w"]) for y in range(panel["gridPos"]["h"])]
    assert len(set(places)) == len(places) and max(x for x, _ in places) < 24


# Containers


def test_image_is_without_root():
    text = (PACKAGING / "docker/Dockerfile").read_text()
    last = text.split("\nFROM ")[-1]
    assert last.startswith("scratch\n") and re.search(r"^USER [1-9]\d*:[1-9]\d*$", last, re.M)
    packages = re.search(r"--no-install-recommends (.*?)\nCOPY", text, re.S)[1].split()
    needed = re.search(r'^serve="(.*?)"', (ROOT / "tools/setup.sh").read_text(), re.M | re.S)[1]
    assert {one for one in packages if one != "\\"} == set(needed.split())


def test_image_gets_the_files_of_its_build():
    ignored = (PACKAGING / "docker/Dockerfile.dockerignore").read_text()
    assert "\n*\n" in ignored
    for name in re.findall(r"^!(.*)$", ignored, re.M):
        assert (ROOT / name).exists(), name


def test_configuration_of_the_image_serves(start):
    server = start("docker/uvhttp.yaml", ("*:9180", f"127.0.0.1:{free_port()}"))
    assert [server.request(path)[0] for path in ("/", "/healthz", "/readyz")] == [200, 200, 200]
    assert server.stop() == 0


def manifests():
    names = load("kubernetes/kustomization.yaml")["resources"]
    found = [load(f"kubernetes/{name}") for name in names]
    return {manifest["kind"]: manifest for manifest in found}


def test_probes_of_kubernetes_fit_the_configuration(start):
    config = load("kubernetes/uvhttp.yaml")
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert pod["terminationGracePeriodSeconds"] > drain(config)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["http"] == config["listen"]
    assert config["metrics"]["listen"].endswith(f":{ports['metrics']}")
    ready, live = container["readinessProbe"], container["livenessProbe"]
    assert seconds(config["server"]["drain_delay"]) > (ready["periodSeconds"] *
                                                       ready["failureThreshold"])
    # The user of the image, whose ports are above 1023.
    image = (PACKAGING / "docker/Dockerfile").read_text()
    assert f"USER {pod['securityContext']['runAsUser']}:" in image and min(ports.values()) > 1023
    server = start("kubernetes/uvhttp.yaml", ("*:9180", f"127.0.0.1:{free_port()}"),
                   ("drain_delay: 6s", "drain_delay: 0s"))
    for probe in (ready, live):
        assert probe["httpGet"]["port"] == "http"
        assert server.request(probe["httpGet"]["path"])[0] == 200
    assert server.stop() == 0


def test_kubernetes_manifests_name_each_other():
    found = manifests()
    assert set(found) == {"Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"}
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    deployment = found["Deployment"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])
    metrics = found["HorizontalPodAutoscaler"]["spec"]["metrics"]
    rule, = load("kubernetes/adapter.yaml")["rules"]["custom"]
    assert metrics[0]["pods"]["metric"]["name"] == rule["name"]["as"]
    kustomization = load("kubernetes/kustomization.yaml")
    pod = deployment["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert pod["volumes"][0]["configMap"]["name"] == kustomization["configMapGenerator"][0]["name"]
    assert [container["image"]] == [image["name"] for image in kustomization["images"]]
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]
    assert (found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] ==
            kustomization["labels"][0]["pairs"])


def test_kubernetes_accepts_the_manifests(tmp_path):
    """With the schemas of the Python package kubernetes-validate; kustomize completes them."""
    validate = tool("kubernetes-validate")
    (tmp_path / "all.yaml").write_text(run(tool("kustomize"), "build", PACKAGING / "kubernetes"))
    run(validate, "--strict", tmp_path / "all.yaml")


# Scripts and recipes


def test_scripts_are_valid():
    scripts = [*PACKAGING.glob("*.sh"), PACKAGING / "debian/uvhttp.postrm"]
    run(tool("shellcheck"), "-x", *scripts, cwd=ROOT)
    run(tool("shellcheck"), "-s", "bash", PACKAGING / "completions/uvhttp.bash")


def test_options_of_recipes_are_those_of_cmake():
    known = set(re.findall(r"\| `(BUILD_WITH_\w+)`", (ROOT / "docs/building.md").read_text()))
    known.remove("BUILD_WITH_SECCOMP")  # of the program, which recipes of the library do not build
    conan = (PACKAGING / "conan/conanfile.py").read_text()
    vcpkg = (PACKAGING / "vcpkg/uvhttp/portfile.cmake").read_text()
    features = json.loads((PACKAGING / "vcpkg/uvhttp/vcpkg.json").read_text())["features"]
    assert set(re.findall(r"BUILD_WITH_\w+", conan)) == known
    assert set(re.findall(r"BUILD_WITH_\w+", vcpkg)) == known
    assert set(re.findall(r"^ +(\w+) +BUILD_WITH", vcpkg, re.M)) == set(features)


# docs/deploy.md

PAGE = ROOT / "docs/deploy.md"


@pytest.mark.parametrize("text", pages.code(PAGE, "yaml"))
def test_configuration_of_page_is_accepted(tmp_path, text):
    (tmp_path / "site").mkdir()
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-subj", "/CN=site", "-keyout", "site.key", "-out", "site.pem", cwd=tmp_path)
    (tmp_path / "uvhttp.yaml").write_text(text.replace("/srv/www", str(tmp_path / "site")))
    run(PROGRAM, "check", tmp_path / "uvhttp.yaml",
        env={**os.environ, "CREDENTIALS_DIRECTORY": str(tmp_path)})


def drop_ins():
    """The sections of units on the page."""
    text = re.sub(r"^```.*?^```$", "", PAGE.read_text(), flags=re.M | re.S)
    return [re.sub(r"^    ", "", block, flags=re.M)
            for block in re.findall(r"^    \[\w+\]\n(?:    .*\n)+", text, re.M)]


@pytest.mark.parametrize("text", drop_ins())
def test_drop_in_of_page_is_accepted(tmp_path, text):
    name = "uvhttp.socket" if text.startswith("[Socket]") else "uvhttp.service"
    for path in (PACKAGING / "systemd").glob("uvhttp.s[eo]*"):
        (tmp_path / path.name).write_text(
            path.read_text().replace("/usr/bin/uvhttp", str(PROGRAM)))
    directory = tmp_path / f"{name}.d"
    directory.mkdir()
    (directory / "page.conf").write_text(text)
    done = subprocess.run([tool("systemd-analyze"), "verify", "--man=no", tmp_path / name],
                          capture_output=True, text=True,
                          env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    assert [line for line in done.stderr.splitlines() if "uvhttp" in line or "page.conf" in line
            ] == [] and done.returncode == 0, done.stderr


def test_page_has_every_alert_and_drop_in():
    alerts = {rule["alert"] for group in load("prometheus/uvhttp.rules.yml")["groups"]
              for rule in group["rules"]}
    assert set(re.findall(r"`(Uvhttp\w+)`", PAGE.read_text())) == alerts
    assert len(drop_ins()) == 4 and len(pages.code(PAGE, "yaml")) == 4


def test_numbers_of_page_are_those_of_the_files():
    text = PAGE.read_text()
    config = load("kubernetes/uvhttp.yaml")["server"]
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    for name, value in (("drain_delay", config["drain_delay"].replace("s", " s")),
                        ("drain_timeout", config["drain_timeout"].replace("s", " s")),
                        ("terminationGracePeriodSeconds", pod["terminationGracePeriodSeconds"])):
        assert f"| `{name}` | {value} |" in text
    assert f"unit, {unit('TimeoutStopSec')[0]}, is more" in text
    assert f"for {unit('WatchdogSec')[0]} seconds (`WatchdogSec`)" in text
    front = load("front/uvhttp.yaml")["server"]
    assert yaml.safe_load(pages.code(PAGE, "yaml")[2])["server"] == front


# Packages, which take minutes


with_packages = pytest.mark.skipif(not os.environ.get("UVHTTP_TEST_PACKAGES"),
                                   reason="UVHTTP_TEST_PACKAGES=1 builds packages")


@pytest.fixture(scope="module")
def debian_packages(tmp_path_factory):
    tool("dh")
    directory = tmp_path_factory.mktemp("debian")
    run(PACKAGING / "build_debian.sh", directory)
    return directory


@with_packages
def test_lintian_finds_no_mistake(debian_packages):
    changes, = debian_packages.glob("*.changes")
    run(tool("lintian"), "--allow-root", "--fail-on", "error,warning", "--suppress-tags",
        "initial-upload-closes-no-bugs", changes)


@with_packages
@pytest.mark.parametrize("script", ["try_debian.sh", "try_systemd.sh"])
def test_packages_in_a_tree(debian_packages, script):
    tool("debootstrap")
    assert run(PACKAGING / script, debian_packages).endswith("nothing is left\n")


@with_packages
def test_image_is_built_and_runs():
    tool("buildah")
    assert "readyz: ready\n" in run(PACKAGING / "try_image.sh")


@with_packages
def test_conan_package():
    output = run(PACKAGING / "try_conan.py", tool("conan"))
    assert output == f"static: uvhttp {VERSION}\nshared: uvhttp {VERSION}\n"
