#!/usr/bin/python3
"""./dev bench report: the figures of `./dev bench http --json FILE` as one HTML page or as Markdown.

Without --html and --markdown the Markdown goes to standard output. A file that is no such result ends with exit code 2 and its fault.
"""

import argparse
import json
import pathlib
import sys

from benchlib import report
from benchlib.report_data import Malformed


def read_options():
    parser = argparse.ArgumentParser(prog="./dev bench report", description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="FILE.json", help="what ./dev bench http --json wrote")
    parser.add_argument("--html", metavar="OUT", help="write one self-contained page")
    parser.add_argument("--markdown", metavar="OUT", help="write Markdown")
    return parser.parse_args()


def load(path):
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Malformed(error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8: {error}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error


def main():
    options = read_options()
    try:
        result = load(options.file)
        if options.html:
            report.write_html(result, options.html)
        if options.markdown:
            report.write_markdown(result, options.markdown)
        if not options.html and not options.markdown:
            sys.stdout.write(report.markdown(result))
    except Malformed as error:
        print(f"bench report: {options.file}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"bench report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
