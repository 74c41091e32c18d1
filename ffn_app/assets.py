"""The app's own JavaScript and CSS, served as files that browsers may keep for good.

The address holds a digest of the contents, so that a new version has a new address; modules import
each other by relative paths and so stay within one version.
"""

import hashlib
from functools import cache
from pathlib import Path

import plotly
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ffn_app.exercise import python
from ffn_app.security import WORKER_POLICY

ROOT = Path(__file__).parent
FOLDERS = ("board", "exercise", "frame", "live_plot")
# Said here, since a system's own table of types may lack them, and browsers run no script of another type.
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
PREFIX = "lib/hourglass"
PLOTLY_PREFIX = f"lib/plotly/{plotly.__version__}"
PLOTLY_FILE = "plotly.min.js"
BRYTHON_PREFIX = f"lib/brython/{python.VERSION}"
WORKER = "exercise/worker.js"
PYTHON_PARTS = "exercise/python.json"
KEEP = "public, max-age=31536000, immutable"


def _files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).iterdir() if path.suffix in TYPES)


@cache
def version() -> str:
    """A digest of every asset's name and contents."""
    digest = hashlib.sha256()
    for path in _files():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(python.python_parts())
    return digest.hexdigest()[:12]


class _Assets(StaticFiles):
    """Only the folders' .js and .css files: the Python beside them is not served."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        folder, _, name = Path(path).as_posix().partition("/")
        if folder not in FOLDERS or "/" in name or Path(name).suffix not in TYPES:
            raise HTTPException(status_code=404)
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = KEEP
        response.headers["content-type"] = TYPES[Path(name).suffix]
        if f"{folder}/{name}" == WORKER:
            response.headers["content-security-policy"] = WORKER_POLICY
        return response


class _Library(StaticFiles):
    """One file of an installed package, which browsers may keep: its address holds the version."""

    def __init__(self, directory: Path, file: str) -> None:
        super().__init__(directory=directory)
        self.file = file

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path != self.file:
            raise HTTPException(status_code=404)
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = KEEP
        response.headers["content-type"] = TYPES[".js"]
        return response


def _python_parts(request: Request) -> Response:
    return Response(python.python_parts(), media_type="application/json", headers={"cache-control": KEEP})


def asset_routes() -> list[BaseRoute]:
    """The routes for `st.App(routes=...)`."""
    own = f"/{PREFIX}/{version()}"
    plotly_folder = Path(plotly.__file__).parent / "package_data"
    return [
        Route(f"{own}/{PYTHON_PARTS}", _python_parts),
        Mount(own, _Assets(directory=ROOT)),
        Mount(f"/{PLOTLY_PREFIX}", _Library(plotly_folder, PLOTLY_FILE)),
        Mount(f"/{BRYTHON_PREFIX}", _Library(python.FOLDER, python.FILE)),
    ]


def plotly_address(base_path: str) -> str:
    """Where the browser finds plotly.min.js, from the host on."""
    return f"{_base(base_path)}{PLOTLY_PREFIX}/{PLOTLY_FILE}"


def python_addresses(base_path: str) -> dict[str, str]:
    """Where the browser finds what it runs Python with, from the host on: the worker, Brython, and the rest."""
    base = _base(base_path)
    return {
        "worker": f"{base}{PREFIX}/{version()}/{WORKER}",
        "library": f"{base}{BRYTHON_PREFIX}/{python.FILE}",
        "parts": f"{base}{PREFIX}/{version()}/{PYTHON_PARTS}",
    }


def _base(base_path: str) -> str:
    inner = base_path.strip("/")
    return f"/{inner}/" if inner else "/"


def module_loader(module: str, base_path: str) -> str:
    """JavaScript for a v2 component that loads its code from one of the files.

    What a component returns ends it. Streamlit calls that also for a drawing that a newer one has overtaken, whose
    element is still there, in which the newer one draws: only a component whose element has left the page has ended.

    Args:
        module: such as "board/board.js"; its default export is the component's.
        base_path: Streamlit's `server.baseUrlPath`, where the app is not at the root of its host.
    """
    address = f"{_base(base_path)}{PREFIX}/{version()}/{module}"
    return (
        f'const module = await import(new URL("{address}", window.location.origin).href);\n'
        "export default (component) => {\n"
        "  const end = module.default(component);\n"
        "  return () => component.parentElement.isConnected || end();\n"
        "};\n"
    )
