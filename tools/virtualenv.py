"""Virtual environments with pinned packages from PyPI."""

import shutil
import sys


def install(name, directory, pinned, run):
    """Installs the versions of the file `pinned`, unless they are installed. Returns the path of
    Python. `run` runs a command, and raises an exception if it fails."""
    python, done = directory / "bin/python", directory / "installed"
    if not done.exists() or done.read_text() != pinned.read_text():
        print(f"Installing {name} from PyPI", file=sys.stderr, flush=True)
        shutil.rmtree(directory, ignore_errors=True)
        run([sys.executable, "-m", "venv", directory])
        run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
             "-r", pinned])
        done.write_text(pinned.read_text())
    return python
