#!/usr/bin/python3
"""Runs Doxygen on the public headers, with XML output: tools/reference.py [--output DIRECTORY].

Called by tools/docs.py, which makes pages of the XML, and by tools/check_reference.py.
tools/apidoc.py converts the headers first, because their comments are plain C comments. A warning
of Doxygen is an error: an undocumented function or type, or a name that does not exist.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import apidoc
import csource

SETTINGS = """
PROJECT_NAME = uvhttp
OUTPUT_DIRECTORY = "{output}"
INPUT = "{copy}"
RECURSIVE = YES
STRIP_FROM_PATH = "{copy}"
STRIP_FROM_INC_PATH = "{copy}"
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
WARN_LOGFILE = "{output}/warnings"
WARN_IF_UNDOCUMENTED = YES
QUIET = YES
JAVADOC_AUTOBRIEF = YES
OPTIMIZE_OUTPUT_FOR_C = YES
TYPEDEF_HIDES_STRUCT = YES
SORT_MEMBER_DOCS = NO
MAX_INITIALIZER_LINES = 0
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = UVHTTP_EXPORT= __attribute__(x)= __cplusplus=202002L
EXCLUDE_SYMBOLS = *_MAP
HAVE_DOT = NO
"""
# Names of fields and constants may be enough, and sentences describe parameters.
IGNORED_WARNINGS = re.compile(
    r"Member \w+ *(\[[^\]]*\])? *\((variable|enumvalue|macro definition|enumeration)\)|"
    r"parameters? of member|Member \w+\)\(|return type of member|the following parameters?|"
    r"\.hpp:|^ +parameter ")
CODE_LINE = re.compile(r"(?<=<codeline>).*?(?=</codeline>)")
NOT_PUBLIC = re.compile(r'<sectiondef kind="(private|protected)-.*?</sectiondef>', re.S)
# Doxygen misinterprets these as functions with the name of the class.
DEDUCTION_GUIDE = re.compile(r"^template <[^;{]*?\) -> [^;{]*;$", re.M)


def copy_headers(root, copy):
    """Writes the headers with comments in the syntax of Doxygen."""
    # A link to a declaration without a comment would be broken.
    names = apidoc.documented_names(root)
    for path in (root / "include").rglob("*.h*"):
        target = copy / path.relative_to(root / "include")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(DEDUCTION_GUIDE.sub("", apidoc.Header(path.read_text(), names).text))


def remove_highlighting(xml):
    """Makes each line of code plain text, which Sphinx highlights: Breathe removes the indentation
    before a link or a keyword."""

    def plain(line):
        text = re.sub("</?(?:highlight|ref)[^>]*>", "", line[0])
        return f'<highlight class="normal">{text}</highlight>'

    for path in xml.glob("*.xml"):
        path.write_text(CODE_LINE.sub(plain, path.read_text()))


def keep_public(xml):
    """Removes private members, and the namespace detail except for bases of public classes."""
    paths = {*xml.glob("*uvhttp*.xml"), *xml.glob("*_8hpp.xml")}
    texts = {path: path.read_text() for path in paths}
    public = "".join(text for path, text in texts.items() if "_1_1detail" not in path.name)
    bases = set(re.findall(r'<basecompoundref refid="(\w+_1_1detail_1_1\w+)"', public))

    def inner(match):
        return match[0] if "_1_1detail" not in match[1] or match[1] in bases else ""

    for path, text in texts.items():
        text = NOT_PUBLIC.sub("", text)
        text = re.sub(r'<inner(?:class|namespace) refid="(\w+)".*', inner, text)
        path.write_text(text)


def build(root, output):
    """Writes output/xml. Returns a list of errors, one line each."""
    copy = output / "include"
    shutil.rmtree(output, ignore_errors=True)
    copy.mkdir(parents=True)
    copy_headers(root, copy)
    settings = SETTINGS.format(output=output, copy=copy)
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True)
    keep_public(output / "xml")
    remove_highlighting(output / "xml")
    warnings = (output / "warnings").read_text() if (output / "warnings").exists() else done.stderr
    lines = dict.fromkeys(line.replace(f"{copy}/", "include/") for line in warnings.splitlines())
    errors = [line for line in lines if line.strip() and not IGNORED_WARNINGS.search(line)]
    if done.returncode:
        errors.append(f"doxygen ended with {done.returncode}: {done.stderr}")
    return errors


def main():
    arguments = csource.root_argument("Runs Doxygen on the public headers.")
    arguments.add_argument("--output", type=pathlib.Path, help="default: build/docs/reference")
    options = arguments.parse_args()
    root = options.root.resolve()
    return csource.report(build(root, (options.output or root / "build/docs/reference").resolve()))


if __name__ == "__main__":
    sys.exit(main())
