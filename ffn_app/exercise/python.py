"""The Python that runs in the student's browser: Brython, out of the installed package, and what goes with it.

Nothing that a student types comes here. The server gives files away; a worker in the browser runs them
(worker.js), under a policy of its own (`ffn_app.security.WORKER_POLICY`).
"""

import json
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from ffn_core.exercises import marking

VERSION = version("brython")
FILE = "brython.js"
FOLDER = Path(str(files("brython"))) / "data"
MODULES = ("math", "sys", "itertools", "operator", "_operator", "_json")
"""What can be imported there of Brython's library: the modules that load at once. Others take many seconds to start."""
OWN_MODULES = Path(__file__).with_name("modules")
"""Short ones of our own in place of some of the others."""


def _library() -> dict[str, list[object]]:
    """Brython's standard library by module, out of the script that holds it as one JSON object."""
    script = (FOLDER / "brython_stdlib.js").read_text(encoding="utf-8")
    text = script.partition("var scripts = ")[2].rpartition("\n__BRYTHON__.update_VFS")[0]
    library: dict[str, list[object]] = json.loads(text)
    return library


@cache
def python_parts() -> bytes:
    """What Brython is given, as JSON: `modules` to import, and `marking`, the text that marks a solution."""
    library = _library()
    own = {
        path.stem: [".py", path.read_text(encoding="utf-8"), []] for path in sorted(OWN_MODULES.glob("*.py"))
    }
    parts = {
        "modules": {name: library[name] for name in MODULES} | own,
        "marking": Path(marking.__file__).read_text(encoding="utf-8"),
    }
    return json.dumps(parts).encode()
