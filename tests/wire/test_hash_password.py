"""`uvhttp hash-password`: hashes from standard input and from a terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import termios

import pytest

from program import Program, clean_environment, run
from test_passwords import credentials, crypt
from wire_server import SAFETY_TIMEOUT, built


def hashed(*arguments, given="secret\n"):
    return subprocess.run([built("uvhttp"), "hash-password", *arguments], input=given,
                          capture_output=True, text=True, env=clean_environment())


@pytest.mark.parametrize("flags, form", [([], r"\$y\$j9T\$[./0-9A-Za-z]+\$[./0-9A-Za-z]{43}"),
                                         (["--bcrypt"], r"\$2b\$10\$[./0-9A-Za-z]{53}")])
@pytest.mark.parametrize("given", ["secret\n", "secret", "secret\r\n", "secret\nnext line\n"])
def test_hash_of_standard_input(flags, form, given):
    one, other = hashed(*flags, given=given), hashed(*flags, given=given)
    assert (one.returncode, one.stderr) == (0, "") and re.fullmatch(form + "\n", one.stdout)
    assert one.stdout != other.stdout, "the salt is random"
    assert crypt("secret", one.stdout.strip()) == one.stdout.strip()


@pytest.mark.parametrize("flags", [[], ["--bcrypt"]])
def test_line_with_name_is_a_password_file(tmp_path, flags):
    (tmp_path / "index.html").write_text("the index")
    (tmp_path / "staff").write_text(
        hashed(*flags, "ann").stdout + hashed("böb", given="sécret: x\n").stdout)
    program = Program("uvhttp", "serve", "-l127.0.0.1:0", "--auth", tmp_path / "staff", tmp_path)
    try:
        assert program.request("/").status == 401
        assert program.request("/", credentials("ann", "secret")).body == b"the index"
        assert program.request("/", credentials("böb", "sécret: x")).body == b"the index"
        assert program.request("/", credentials("ann", "secret ")).status == 401
    finally:
        assert program.stop() == 0


@pytest.mark.parametrize("arguments, given, code, message", [
    ([], "", 1, "standard input has no password of 1 to 511 bytes"),
    ([], "\n", 1, "the password is empty"),
    ([], "a\0b\n", 1, "standard input has no password of 1 to 511 bytes"),
    ([], "x" * 512, 1, "standard input has no password of 1 to 511 bytes"),
    (["--bcrypt"], "x" * 73, 1, "bcrypt uses only 72 bytes of a password; omit --bcrypt"),
    (["ann", "secret"], "", 2,
     "only one NAME is allowed; the password is read from standard input"),
    (["a:b"], "", 2, "a NAME has neither a colon nor a control character"),
    ([""], "", 2, "a NAME has neither a colon nor a control character"),
])
def test_invalid_password_or_name(arguments, given, code, message):
    done = hashed(*arguments, given=given)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == f"uvhttp hash-password: {message}\n"


def test_longest_passwords():
    assert hashed(given="x" * 511).returncode == 0 and hashed("--bcrypt",
                                                              given="x" * 72).returncode == 0


def test_unknown_option_suggests_nearest():
    done = hashed("--bcrpt")
    assert done.returncode == 2
    assert "did you mean '--bcrypt'?\nTry 'uvhttp hash-password --help'" in done.stderr


def test_help():
    done = run("uvhttp", "hash-password", "--help")
    assert done.returncode == 0 and done.stdout == run("uvhttp", "help", "hash-password").stdout
    assert max(len(line) for line in done.stdout.split("\n")) <= 80


class Terminal:
    """The command on a terminal; its standard output is separate."""
    def __init__(self):
        self.master, terminal = pty.openpty()
        self.process = subprocess.Popen([built("uvhttp"), "hash-password", "ann"], stdin=terminal,
                                        stdout=subprocess.PIPE, stderr=terminal, text=True,
                                        env=clean_environment(), start_new_session=True)
        self.terminal = terminal
        self.shown = ""

    def echoes(self):
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def expect(self, text):
        while not self.shown.endswith(text):
            assert select.select([self.master], [], [], SAFETY_TIMEOUT)[0], self.shown
            self.shown += os.read(self.master, 4096).decode()

    def type(self, text):
        os.write(self.master, text.encode())

    def close(self):
        output = self.process.communicate(timeout=SAFETY_TIMEOUT)[0]
        os.close(self.master)
        os.close(self.terminal)
        return self.process.returncode, output


@pytest.mark.parametrize("again", ["secret", "other"])
def test_password_from_terminal_is_not_shown(again):
    terminal = Terminal()
    terminal.expect("Password: ")
    assert not terminal.echoes()
    terminal.type("secret\n")
    terminal.expect("Repeat: ")
    terminal.type(again + "\n")
    if again == "other":
        terminal.expect("uvhttp hash-password: the passwords differ\r\n")
    terminal.process.wait(SAFETY_TIMEOUT)
    assert terminal.echoes()
    terminal.expect("\n")
    assert "secret" not in terminal.shown and "other" not in terminal.shown
    code, output = terminal.close()
    assert (code, output == "") == (int(again == "other"), again == "other")
    assert output == "" or crypt("secret", output.strip()[4:]) == output.strip()[4:]


def test_interrupted_command_restores_terminal():
    terminal = Terminal()
    terminal.expect("Password: ")
    terminal.process.send_signal(signal.SIGINT)
    terminal.process.wait(SAFETY_TIMEOUT)
    assert terminal.echoes()
    assert terminal.close() == (-signal.SIGINT, "")
