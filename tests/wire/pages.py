"""Contents of the documentation pages: their blocks, and commands with their expected output.

A block "console" has lines "$ COMMAND", each followed by the output of the command. A line "..."
matches any lines.
"""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """[(language, text)] in order; the language is "" if the block has none."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S)


def code(page, *languages):
    return [text for language, text in blocks(page) if language in languages]


def indented(page):
    """The lines of blocks that are indented by four spaces, outside of fenced blocks: shell
    commands."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return re.findall(r"^    (\S.*)$", text, re.M)


def commands(page):
    """[(command, output)] of all "console" blocks."""
    return [
        pair for text in code(page, "console")
        for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)
    ]


def matches(output, promised):
    pattern = "".join("(?:.*\n)*?" if line == "...\n" else re.escape(line)
                      for line in promised.splitlines(keepends=True))
    return re.fullmatch(pattern, output) is not None


def run_commands(page, port, directory):
    """Runs each command of a page with the server at `port`, and compares the output. Returns the
    number of commands."""
    shown = commands(page)
    for command, promised in shown:
        command_line = re.sub(r"\bcurl ", "curl -sS --max-time 60 ",
                              command).replace(":8080/", f":{port}/")
        done = subprocess.run(["sh", "-c", command_line], cwd=directory, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "no_proxy": "*"})
        output = done.stdout.replace("\r", "").replace(f":{port}/", ":8080/")
        if output and not output.endswith("\n"):
            output += "\n"
        assert matches(
            output,
            promised), f"{command}\n--- printed\n{output}{done.stderr}\n--- instead of\n{promised}"
    return len(shown)
