"""`uvhttp precompress`: its siblings decompress to their source, files that it leaves unchanged,
and its error messages."""

import contextlib
import gzip
import os
import pathlib
import pty
import random
import re
import signal
import stat
import subprocess

import pytest

from program import clean_environment, run
from wire_server import SAFETY_TIMEOUT, built

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = "".join(f"<p class=\"line\">line {i} of a text</p>\n" for i in range(400)).encode()
SUFFIXES = {".br", ".gz", ".zst"}


def undone(path):
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    command = ["brotli", "-dc", path] if path.suffix == ".br" else ["zstd", "-qdc", path]
    return subprocess.run(command, capture_output=True, check=True, timeout=SAFETY_TIMEOUT).stdout


@pytest.fixture
def site(tmp_path):
    directory = tmp_path / "site"
    (directory / "css/deep").mkdir(parents=True)
    for name in ("index.html", "css/style.css", "css/deep/app.js", "a name with spaces.txt",
                 "grüße.svg"):
        (directory / name).write_bytes(name.encode() + TEXT)
    (directory / "small.txt").write_bytes(b"x" * 1023)
    (directory / "photo.jpg").write_bytes(TEXT)
    (directory / "done.js.gz").write_bytes(TEXT)
    (directory / ".hidden.txt").write_bytes(TEXT)
    (directory / ".git").mkdir()
    (directory / ".git/config.txt").write_bytes(TEXT)
    return directory


def listing(directory):
    return {
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if not path.is_dir()
    }


SOURCES = {"index.html", "css/style.css", "css/deep/app.js", "a name with spaces.txt", "grüße.svg"}


def siblings(*names):
    return {name + suffix for name in (names or SOURCES) for suffix in SUFFIXES}


def precompress(*arguments, code=0, **extra):
    done = run("uvhttp", "precompress", *arguments, **extra)
    assert done.returncode == code, done
    return done


def test_siblings_decompress_and_have_time_of_source(site):
    os.utime(site / "index.html", ns=(1, 1_600_000_000_123_456_789))
    os.chmod(site / "index.html", 0o640)
    before = listing(site)
    done = precompress(site)
    assert done.stderr == ""
    assert done.stdout.startswith(
        "5 files: 15 created, 0 up to date, 0 not smaller, 0 failed; compressed to ")
    assert listing(site) == before | siblings()
    for name in siblings():
        path = site / name
        source = path.with_suffix("")
        assert undone(path) == source.read_bytes()
        assert path.stat().st_size < source.stat().st_size
        assert path.stat().st_mtime_ns == source.stat().st_mtime_ns
        assert path.stat().st_mode == source.stat().st_mode
    assert stat.S_IMODE((site / "index.html.br").stat().st_mode) == 0o640


def test_siblings_are_reproducible(site, tmp_path):
    precompress(site)
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.html").write_bytes((site / "index.html").read_bytes())
    os.utime(other / "index.html", ns=(0, 0))
    precompress("-j", 1, other)
    for suffix in SUFFIXES:
        assert (other / f"index.html{suffix}").read_bytes() == (site /
                                                                f"index.html{suffix}").read_bytes()


def test_only_outdated_siblings_are_replaced(site):
    precompress(site)
    assert "0 created, 15 up to date" in precompress(site).stdout
    old = (site / "index.html.br").stat()
    (site / "index.html").write_bytes(b"new" + TEXT)
    os.utime(site / "index.html", ns=(0, old.st_mtime_ns + 1))  # the smallest time difference
    assert "3 created, 12 up to date" in precompress(site).stdout
    assert undone(site / "index.html.br") == b"new" + TEXT
    # A newer sibling of any origin is current.
    os.utime(site / "index.html.gz", ns=(0, old.st_mtime_ns + 10 ** 10))
    (site / "index.html.gz").write_bytes(b"by somebody else")
    assert "0 created, 15 up to date" in precompress(site).stdout
    assert (site / "index.html.gz").read_bytes() == b"by somebody else"
    assert "15 created, 0 up to date" in precompress("--force", site).stdout
    assert undone(site / "index.html.gz") == b"new" + TEXT


def test_sibling_not_smaller_is_not_created(site):
    (site / "noise.txt").write_bytes(random.Random(1).randbytes(5000))
    (site / "noise.txt.gz").write_bytes(b"old")
    os.utime(site / "noise.txt.gz", ns=(0, 0))
    assert "15 created, 0 up to date, 3 not smaller" in precompress(site).stdout
    assert not {name for name in listing(site) if name.startswith("noise.txt.")}


def test_precompress_options(site):
    (site / "index.html").write_bytes((ROOT / "docs/architecture.md").read_bytes())
    precompress("--codings", "gzip,br", site)
    assert {name for name in listing(site) if name.endswith(".zst")} == set()
    assert gzip.decompress((site / "index.html.gz").read_bytes())
    best = (site / "index.html.gz").stat().st_size
    precompress("--codings=gzip", "--level=1", "-f", site)
    assert (site / "index.html.gz").stat().st_size > best
    assert (site / "small.txt.gz").exists() is False
    precompress("--min-size", "1023", site)
    assert (site / "small.txt.gz").exists()
    verbose = precompress("-v", "-f", "--codings", "br", site).stdout.split("\n")
    assert len(verbose) == 7 and any(
        line.startswith("created css/style.css.br: ") for line in verbose)
    assert precompress("-q", "-f", site).stdout == ""


def test_dry_run_changes_nothing(site):
    before = listing(site)
    done = precompress("-n", site)
    assert "would create index.html.br\n" in done.stdout and "5 files: 15 to create" in done.stdout
    assert listing(site) == before
    precompress(site)
    made = listing(site)
    done = precompress("--remove", "--dry-run", site)
    assert "would remove index.html.br\n" in done.stdout and listing(site) == made


def test_remove_deletes_siblings(site):
    before = listing(site)
    precompress(site)
    assert precompress("--remove", "--codings=br", site).stdout == "6 files: 5 removed\n"
    # A file that has become too small for siblings still has them.
    (site / "index.html").write_bytes(b"<p>away")
    assert precompress("--remove", "--min-size=1K", site).stdout == "4 files: 8 removed\n"
    assert precompress("--remove", site).stdout == "6 files: 2 removed\n"
    assert listing(site) == before


def test_symlinks_are_not_followed(site, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(TEXT)
    (site / "folder").symlink_to(outside)
    (site / "file.txt").symlink_to(outside / "secret.txt")
    # A symlink with the name of a sibling is replaced, not followed.
    (site / "index.html.br").symlink_to(outside / "secret.txt")
    precompress(site)
    assert listing(outside) == {"secret.txt"} and (outside / "secret.txt").read_bytes() == TEXT
    assert not (site / "index.html.br").is_symlink() and undone(
        site / "index.html.br") == (site / "index.html").read_bytes()
    assert not (site / "file.txt.br").exists()
    # The argument itself may be a symlink to a directory.
    (tmp_path / "link").symlink_to(site)
    assert "15 up to date" in precompress(tmp_path / "link").stdout
    (site / "style.css").write_bytes(TEXT)
    (site / "style.css.gz").symlink_to(outside / "secret.txt")
    assert precompress("--remove", site).stdout.endswith(" 15 removed\n")
    assert (site / "style.css.gz").is_symlink() and (outside / "secret.txt").exists()


def test_special_files_do_not_block(site):
    os.mkfifo(site / "pipe.txt")
    (site / "folder.txt").mkdir()
    (site / "index.html.br").mkdir()
    done = precompress(site, code=1)
    assert "index.html.br: Is a directory" in done.stderr
    assert "14 created" in done.stdout
    assert "1 failed" in done.stdout
    assert not [name for name in listing(site) if name.endswith(".part")]


@pytest.mark.parametrize(
    "arguments, message",
    [([], "missing DIR"), (["a", "b"], "only one DIR is allowed"),
     (["--codings", "deflate", "."], "--codings is 'deflate'"),
     (["--codings", "", "."], "--codings is ''"),
     (["--codings", "br,,gzip", "."], "--codings is 'br,,gzip'"),
     (["--level", "0", "."], "--level is '0'"), (["--level", "23", "."], "--level is '23'"),
     (["--level", "-1", "."], "--level is '-1'"), (["--min-size", "1X", "."], "--min-size is '1X'"),
     (["--min-size", "99999999999999999999", "."], "--min-size is '99999999999999999999'"),
     (["-j", "0", "."], "--jobs is '0'"), (["-j", "257", "."], "--jobs is '257'"),
     (["--nonsense", "."], "--nonsense"), ])
def test_usage_errors(arguments, message):
    done = precompress(*arguments, code=2)
    assert message in done.stderr and "uvhttp precompress --help" in done.stderr
    assert done.stdout == ""


def test_missing_directory_is_reported(tmp_path):
    assert "nowhere: No such file or directory" in precompress(tmp_path / "nowhere", code=1).stderr
    (tmp_path / "file").write_bytes(b"")
    assert "file: Not a directory" in precompress(tmp_path / "file", code=1).stderr
    assert precompress(tmp_path).stdout.startswith("0 files: 0 created")


def test_full_disk_is_reported_and_leaves_no_file(site):
    before = listing(site)
    # RLIMIT_FSIZE simulates a full disk: siblings have about 150 bytes and more.
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$0" precompress "$1"',
         built("uvhttp"), site], capture_output=True, text=True, env=clean_environment(),
        timeout=SAFETY_TIMEOUT)
    assert done.returncode == 1, done
    assert done.stderr.count(": File too large\n") == 15
    assert listing(site) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root has all permissions")
def test_unreadable_files_are_reported(site):
    (site / "index.html").chmod(0)
    (site / "css").chmod(0)
    done = precompress(site, code=1)
    assert "index.html.br: Permission denied" in done.stderr
    assert "css: Permission denied" in done.stderr


def test_interrupt_leaves_complete_files(site):
    noise = random.Random(2)
    words = [bytes(noise.choices(range(97, 123), k=noise.randint(2, 9))) for _ in range(5000)]
    for i in range(40):
        (site / f"large{i}.txt").write_bytes(b" ".join(noise.choices(words, k=40000)))
    process = subprocess.Popen([built("uvhttp"), "precompress", "-v", "-j2", site],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**clean_environment(), "LC_ALL": "C"})
    while not list(site.glob("*.br")) and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=SAFETY_TIMEOUT)
    assert process.returncode == 130 and errors == "uvhttp precompress: interrupted\n"
    made = [
        path for path in site.rglob("*") if path.suffix in SUFFIXES and path.name != "done.js.gz"
    ]
    assert 0 < len(made) < 120
    for path in made:
        assert undone(path) == path.with_suffix("").read_bytes()
    assert not [name for name in listing(site) if name.endswith(".part")]


def test_progress_on_terminal_only(site):
    here, there = pty.openpty()
    done = subprocess.run([built("uvhttp"), "precompress", site], stdout=subprocess.PIPE,
                          stderr=there, env=clean_environment(), timeout=SAFETY_TIMEOUT)
    os.close(there)
    drawn = ""
    with contextlib.suppress(OSError):  # EIO at the end
        while data := os.read(here, 65536):
            drawn += data.decode()
    os.close(here)
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1
    assert "/15" in drawn and "[###" in drawn and drawn.endswith("\r\033[K")
    first, *_, last = (line for line in drawn.split("\r") if line.startswith("["))
    assert re.match(r"\[ +\]   0 %  0/15  .+\.\w+\033\[K$", first), first
    assert "] 100 %  15/15" in last


def test_progress_counts_bytes_and_shows_remaining_time(tmp_path):
    """One large file among small ones: the jobs of the small ones are nearly nothing. The name is
    shortened, and a control character in it does not reach the terminal."""
    (tmp_path / ("a" * 40 + "\x1b.txt")).write_bytes(os.urandom(300_000).hex().encode())
    for number in range(10):
        (tmp_path / f"{number}.txt").write_bytes(b"x" * 2000)
    here, there = pty.openpty()
    done = subprocess.run([
        built("uvhttp"), "precompress", "--jobs", "1", tmp_path], stdout=subprocess.PIPE,
                          stderr=there, env=clean_environment(), timeout=SAFETY_TIMEOUT)
    os.close(there)
    drawn = os.read(here, 65536).decode()
    os.close(here)
    assert done.returncode == 0
    lines = [line for line in drawn.split("\r") if line.startswith("[")]
    shares = [(int(line[22:26]), int(re.search(r"(\d+)/33", line)[1])) for line in lines]
    assert (32, 1) in shares or (64, 2) in shares
    assert "  ..." + "a" * 23 + "?.txt" in drawn
    assert re.search(r"  \d+:\d\d left", drawn)


def test_precompress_help(site):
    for arguments in (["precompress", "--help"], ["precompress", "-h"], ["help", "precompress"]):
        done = run("uvhttp", *arguments)
        assert done.returncode == 0 and done.stdout.startswith(
            "Usage: uvhttp precompress") and done.stderr == ""
        assert max(len(line) for line in done.stdout.split("\n")) <= 80
    manual = (ROOT / "docs/man/uvhttp.1").read_text().split(".Sh PRECOMPRESS", 1)[1]
    options = re.findall(r"--([a-z-]+)", done.stdout)
    assert len(options) == 10
    for option in options:
        assert re.search(rf"^\.It Fl .*-{option}\b", manual, re.M), option
