#!/usr/bin/python3
"""Checks includes between directories against tools/layers.txt, and that there are no cycles.

The table describes its format. Violations: an include that the table does not list, a third-party
or system header that a directory may not include, a project header that does not exist or has no
path from src/, a cycle between files, a cycle in the table, and a directory without a row.
"""

import re

import csource

C11 = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads
    time uchar wchar wctype""".split()
# Headers of the compiler: instruction sets and the interface of sanitizers.
COMPILER = re.compile(r"^(sanitizer/.*|\w*intrin|cpuid|arm_neon|arm_acle)\.h$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
ANY = "*"


class Layer:
    def __init__(self, directories, headers, system):
        self.directories, self.headers, self.system = directories, headers, system


def read_table(root, violations):
    layers = {}
    for number, line in enumerate(csource.read(root, "tools/layers.txt").splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([\w/]+):([^|]*)\|([^|]*)\|([^|]*)", line)
        if not match:
            violations.append(
                f"tools/layers.txt:{number}: not of the form 'name: directories | headers | posix'")
            continue
        name, *cells = match.groups()
        layers[name] = Layer(*[cell.split() for cell in cells])
    for name, layer in layers.items():
        for directory in layer.directories:
            if directory != ANY and not rows_of(directory, layers):
                violations.append(
                    f"tools/layers.txt: {name} may include {directory}, which has no row")
    return layers


def rows_of(directory, layers):
    """Returns the rows for a directory: its own, or those of its subdirectories."""
    return {name for name in layers if name == directory or name.startswith(f"{directory}/")}


def find_cycle(edges):
    """Returns a cycle of a graph {node: nodes}, as a list with the same first and last node, or
    None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for target in sorted(edges.get(node, ())):
            cycle = visit(target)
            if cycle:
                return cycle
        done.add(path.pop())
        return None

    for node in sorted(edges):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def layer_of(path, layers):
    """Returns the row for a file. In `src/codec/text/` it is `codec/text` if it exists, else
    `codec`."""
    if path.parts[0] == "include":
        return "public"
    if path.parts[0] != "src" or len(path.parts) < 3:
        return path.parts[0]
    inner = "/".join(path.parts[1:3])
    return inner if inner in layers else path.parts[1]


def resolve(path, name, files):
    """Returns the project file of an include, or None: from include/ or src/, and outside src/ also
    from the same directory or the root."""
    candidates = [f"src/{name}", f"include/{name}"]
    if path.parts[0] != "src":
        candidates += [f"{path.parent.as_posix()}/{name}", f"{path.parts[0]}/{name}", name]
    return next((candidate for candidate in candidates if candidate in files), None)


def check_system_header(layer, name, cxx):
    if name.removesuffix(".h") in C11 or COMPILER.match(name) or "posix" in layer.system:
        return None
    if cxx and re.fullmatch(r"\w+", name):
        return None
    if ANY in layer.headers or name in layer.headers or name.split("/")[0] + "/" in layer.headers:
        return None
    return f"may not include <{name}>"


def check(root):
    violations = []
    layers = read_table(root, violations)
    allowed = {
        name: set().union(*(rows_of(directory, layers) for directory in layer.directories))
        for name, layer in layers.items()}
    cycle = find_cycle(allowed)
    if cycle:
        violations.append(
            f"tools/layers.txt: the directories form a circle: {' -> '.join(cycle)}")
    paths = csource.c_files(root, suffixes=(".c", ".h", ".cpp", ".hpp", ".inc"))
    files = {path.as_posix() for path in paths}
    edges = {}
    for path in paths:
        directory = layer_of(path, layers)
        layer = layers.get(directory)
        if layer is None:
            violations.append(f"{path}: tools/layers.txt has no row for the directory {directory}")
            continue
        edges[path.as_posix()] = set()
        text = csource.without_comments(csource.read(root, path), strings=False)
        for match in INCLUDE.finditer(text):
            where = f"{path}:{csource.line_of(text, match.start())}"
            kind, name = match.groups()
            target = resolve(path, name, files)
            if target is None and kind == '"':
                violations.append(
                    f"{where}: there is no \"{name}\" (project headers are written from src/)")
            elif target is None and re.match(r"uvhttp(/|\.h$)", name):
                violations.append(f"{where}: there is no <{name}>")
            elif target is None:
                fault = check_system_header(layer, name, path.suffix in (".cpp", ".hpp"))
                if fault:
                    violations.append(f"{where}: {directory} {fault}")
            else:
                edges[path.as_posix()].add(target)
                to = layer_of(csource.pathlib.Path(target), layers)
                anywhere = to == directory or ANY in layer.directories
                if not anywhere and to not in allowed[directory]:
                    violations.append(f"{where}: {directory} may not include {to} ({name})")
    cycle = find_cycle(edges)
    if cycle:
        violations.append(f"{cycle[0]}: includes form a circle: {' -> '.join(cycle)}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
