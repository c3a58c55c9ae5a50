"""A directory and `uvhttp serve` for the tests of static files."""

import os
import resource
import shutil
import tempfile
import urllib.parse

import pytest

from program import Program

SECRET = b"SECRET-of-the-parent-folder"
KIB, MIB = 1024, 1024 * 1024


class StaticServer(Program):
    """One running `uvhttp serve ROOT` on a free port of 127.0.0.1. Flags are those of the command
    line. The default is one worker, so that all connections use the same cache. test_workers.py
    tests several."""
    def __init__(self, root, *flags, descriptors=None, prepare=None):
        def limit():
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
            if prepare is not None:
                prepare()

        super().__init__("uvhttp", "serve", root, "--listen", "127.0.0.1:0", "--workers", "1",
                         *flags, preexec_fn=limit)

    def finish(self):
        """Stops the server. A finding of a sanitizer or a leak changes the exit code."""
        code = self.stop()
        assert code == 0, f"exit code {code}: {self.log()}"


@pytest.fixture
def root():
    """A document root, next to a file that must never be served."""
    parent = tempfile.mkdtemp(prefix="uvhttp-static-")
    with open(os.path.join(parent, "secret.txt"), "wb") as file:
        file.write(SECRET)
    root = os.path.join(parent, "root")
    os.mkdir(root)
    yield root
    shutil.rmtree(parent)


@pytest.fixture
def serve(root):
    """serve(flags...) starts a server of the root, by default without listings. It is stopped and
    checked at the end of the test."""
    running = []

    def starter(*flags, **options):
        listing = () if "--listing" in flags else ("--no-listing", )
        running.append(StaticServer(root, *listing, *flags, **options))
        return running[-1]

    yield starter
    for one in running:
        one.finish()


def write(root, name, content=b""):
    """Creates a file and its parent directories. A name is text or bytes."""
    path = os.path.join(os.fsencode(root), os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


def replace(root, name, content):
    """Replaces a file atomically."""
    os.replace(write(root, name + ".new", content),
               os.path.join(os.fsencode(root), os.fsencode(name)))


def url(name):
    return "/" + urllib.parse.quote_from_bytes(os.fsencode(name))
