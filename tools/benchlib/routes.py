"""Sets of routes for `./dev bench router`: patterns, and the paths to look up, the same in every
run. No set has a literal and a parameter as alternatives, which some routers do not support.
"""

import random

LOOKUPS = 1024
SIZES = (10, 100, 1000, 10000)

# An API like those of code hosts. {} is one of several services.
API = """
/{}/users
/{}/users/:user
/{}/users/:user/keys
/{}/users/:user/keys/:key
/{}/users/:user/followers
/{}/users/:user/starred/:owner/:project
/{}/teams/:team
/{}/teams/:team/members
/{}/teams/:team/members/:user
/{}/projects/:owner/:project
/{}/projects/:owner/:project/branches
/{}/projects/:owner/:project/branches/:branch
/{}/projects/:owner/:project/commits/:commit
/{}/projects/:owner/:project/commits/:commit/status
/{}/projects/:owner/:project/issues
/{}/projects/:owner/:project/issues/:number
/{}/projects/:owner/:project/issues/:number/comments
/{}/projects/:owner/:project/issues/:number/labels/:label
/{}/projects/:owner/:project/releases/:release/files
/{}/projects/:owner/:project/tree/*path
/{}/search/projects
/{}/search/issues
/{}/status
/{}/events
/{}/assets/*path
""".split()

# Reordered, so that small sets are mixed, too.
MIXTURE = [API[number * 7 % len(API)] for number in range(len(API))]


def words(count, rng):
    """Different names of four to thirteen letters."""
    found = {}
    while len(found) < count:
        name = "".join(rng.choice("bcdfghklmnprstvz") + rng.choice("aeiou")
                       for _ in range(rng.randint(2, 6)))
        found[name + ("" if name not in found else rng.choice("xyz"))] = None
    return list(found)[:count]


def patterns(shape, count, rng):
    if shape == "mixed":
        names = words(count // len(API) + 1, rng)
        return [template.replace("{}", name) for name in names for template in MIXTURE][:count]
    form = {"static": "/{}/{}/list", "one parameter": "/{}/{}/:id",
            "two parameters": "/{}/:owner/{}/:id", "wildcard": "/{}/{}/*path"}[shape]
    outer = words(max(1, round(count ** 0.5)), rng)
    inner = words(count // len(outer) + 1, rng)
    return [form.replace("{}", one, 1).replace("{}", other, 1)
            for one in outer for other in inner][:count]


def fill(pattern, rng):
    """Returns a path for a pattern, and its number of parameters."""
    segments, count = [], 0
    for segment in pattern.split("/"):
        if segment.startswith(":"):
            number = rng.random() < 0.5
            segment = (str(rng.randint(1, 10**rng.randint(1, 9))) if number
                       else rng.choice(VALUES))
            count += 1
        elif segment.startswith("*"):
            segment = "/".join(rng.choice(VALUES) for _ in range(rng.randint(1, 3)))
            count += 1
        segments.append(segment)
    return "/".join(segments), count


VALUES = words(200, random.Random(1))
SHAPES = ("static", "one parameter", "two parameters", "wildcard", "mixed")


def write(file, shape, count):
    """Writes a set: patterns, an empty line, and `route parameters path` for each lookup."""
    rng = random.Random(f"{shape} {count}")
    chosen = patterns(shape, count, rng)
    with open(file, "w", encoding="ascii") as out:
        out.write("\n".join(chosen) + "\n\n")
        for _ in range(LOOKUPS):
            number = rng.randrange(len(chosen))
            path, params = fill(chosen[number], rng)
            out.write(f"{number} {params} {path}\n")
