"""All contenders of `./dev bench http`, in the order of reports."""

from . import Refused, family_built, family_debian, family_own

ALL = [family_own.Floor, family_own.FloorInMemory, family_own.Uvhttp, family_debian.Nginx, family_debian.NginxWorkers, family_debian.H2o, family_debian.Lighttpd,
       family_debian.Apache, family_debian.Caddy, family_built.Microhttpd, family_built.Evhttp, family_built.Go, family_built.Node,
       family_built.Actix, family_built.Python, family_built.Granian]
NAMES = [contender.name for contender in ALL]
# What is measured without --peers.
USUAL = ["floor", "uvhttp", "nginx"]


def choose(names):
    """New contenders of these names, in the order of the roster; "all" is all of them."""
    return [contender() for contender in ALL if "all" in names or contender.name in names]


def prepare(contenders, place, progress):
    """Gets each of them ready; one that cannot be has its `reason` from then on. Refused for one of ours."""
    for contender in contenders:
        progress(f"Preparing {contender.title}")
        try:
            contender.prepare(place)
        except Refused as error:
            if contender.own:
                raise
            contender.reason = str(error)
            progress(f"{contender.title} is not available: {contender.reason}")
