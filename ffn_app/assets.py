"""The app's own JavaScript and CSS, served as files that browsers may keep for good.

The address holds a digest of the contents, so that a new version has a new address; modules import
each other by relative paths and so stay within one version.
"""

import hashlib
from functools import cache
from pathlib import Path

import plotly
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

ROOT = Path(__file__).parent
FOLDERS = ("board", "frame", "live_plot")
# Said here, since a system's own table of types may lack them, and browsers run no script of another type.
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
PREFIX = "lib/hourglass"
PLOTLY_PREFIX = f"lib/plotly/{plotly.__version__}"
PLOTLY_FILE = "plotly.min.js"
KEEP = "public, max-age=31536000, immutable"


def _files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).iterdir() if path.suffix in TYPES)


@cache
def version() -> str:
    """A digest of every asset's name and contents."""
    digest = hashlib.sha256()
    for path in _files():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
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
        return response


class _Library(StaticFiles):
    """One file of an installed package, which browsers may keep: its address holds the version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path != PLOTLY_FILE:
            raise HTTPException(status_code=404)
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = KEEP
        response.headers["content-type"] = TYPES[".js"]
        return response


def asset_routes() -> list[BaseRoute]:
    """The routes for `st.App(routes=...)`."""
    return [
        Mount(f"/{PREFIX}/{version()}", _Assets(directory=ROOT)),
        Mount(f"/{PLOTLY_PREFIX}", _Library(directory=Path(plotly.__file__).parent / "package_data")),
    ]


def plotly_address(base_path: str) -> str:
    """Where the browser finds plotly.min.js, from the host on."""
    return f"{_base(base_path)}{PLOTLY_PREFIX}/{PLOTLY_FILE}"


def _base(base_path: str) -> str:
    inner = base_path.strip("/")
    return f"/{inner}/" if inner else "/"


def module_loader(module: str, base_path: str) -> str:
    """JavaScript for a v2 component that loads its code from one of the files.

    Args:
        module: such as "board/board.js"; its default export is the component's.
        base_path: Streamlit's `server.baseUrlPath`, where the app is not at the root of its host.
    """
    address = f"{_base(base_path)}{PREFIX}/{version()}/{module}"
    return (
        f'const module = await import(new URL("{address}", window.location.origin).href);\n'
        "export default module.default;\n"
    )
