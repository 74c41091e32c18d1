"""What the application answers over HTTP, asked as an ASGI server asks it: no socket, no browser."""

import asyncio
import base64
import hashlib
import json
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette

from app import app
from ffn_app import assets
from ffn_app.exercise import python
from ffn_app.security import SecurityHeaders, security_headers
from ffn_core.exercises import marking

Message = MutableMapping[str, Any]
DIRECTIVES = {
    "default-src", "script-src", "style-src", "img-src", "font-src", "connect-src", "worker-src", "object-src",
    "base-uri", "form-action", "frame-ancestors",
}  # fmt: skip
LIBRARY = f"/{assets.PREFIX}/{assets.version()}"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


async def request(application: Callable[..., Awaitable[None]], path: str) -> Answer:
    sent: list[Message] = []
    unread = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not unread:
            await asyncio.Event().wait()  # the client stays until it has its answer
        return unread.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "root_path": "", "query_string": b"",
        "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "server": ("localhost", 80),
    }  # fmt: skip
    await application(scope, receive, send)
    start, *rest = sent
    headers: dict[str, str] = {}
    for name, value in start[
        "headers"
    ]:  # one sent twice is its values with a comma between, as browsers read it
        key = name.decode().lower()
        headers[key] = f"{headers[key]}, {value.decode()}" if key in headers else value.decode()
    return Answer(start["status"], headers, b"".join(message.get("body", b"") for message in rest).decode())


@pytest.fixture(scope="module")
def get() -> Iterator[Callable[[str], Answer]]:
    """Ask the whole application, Streamlit's part included; it is started once and stopped at the end."""
    with asyncio.Runner() as loop:
        to_app: asyncio.Queue[Message] = asyncio.Queue()
        from_app: asyncio.Queue[Message] = asyncio.Queue()

        async def start() -> asyncio.Task[None]:
            scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
            life = asyncio.create_task(app(scope, to_app.get, from_app.put))
            await to_app.put({"type": "lifespan.startup"})
            assert (await from_app.get())["type"] == "lifespan.startup.complete"
            return life

        async def stop(life: asyncio.Task[None]) -> None:
            await to_app.put({"type": "lifespan.shutdown"})
            await life

        life = loop.run(start())
        yield lambda path: loop.run(request(app, path))
        loop.run(stop(life))


def ask_assets(path: str) -> Answer:
    return asyncio.run(request(Starlette(routes=assets.asset_routes()), path))


def policy(header: str) -> dict[str, list[str]]:
    """A Content-Security-Policy by directive, read as browsers do: a comma would begin another policy."""
    parts = [part.split() for part in re.split("[;,]", header)]
    return {name: sources for name, *sources in parts}


# Security headers


@pytest.mark.parametrize(
    "path", ["/", "/weights", "/no/such/page", "/_stcore/health", f"{LIBRARY}/board/board.js"]
)
def test_every_answer_has_the_security_headers(get, path):
    answer = get(path)
    assert answer.status == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    rules = policy(answer.headers["content-security-policy"])
    assert set(rules) == DIRECTIVES
    assert rules["frame-ancestors"] == ["'self'"]
    assert rules["object-src"] == ["'none'"]


def test_the_policy_runs_streamlits_own_inline_scripts_and_no_others(get):
    answer = get("/")
    sources = policy(answer.headers["content-security-policy"])["script-src"]
    assert "'unsafe-inline'" not in sources
    assert "'unsafe-eval'" not in sources
    assert not any("*" in source or "http" in source for source in sources)
    scripts = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", answer.body, flags=re.DOTALL)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts}
    assert {source for source in sources if source.startswith("'sha")} == hashes


def test_nothing_may_be_asked_of_another_host(get):
    rules = policy(get("/").headers["content-security-policy"])
    own = {"'self'", "'none'", "'unsafe-inline'", "data:", "blob:", "ws:", "wss:"}
    others = {
        source for sources in rules.values() for source in sources if not source.startswith("'sha")
    } - own
    assert others == set()


def test_who_may_frame_the_app_can_be_configured():
    header = security_headers({"HOURGLASS_FRAME_ANCESTORS": "'self' https://school.example"})
    assert policy(header["content-security-policy"])["frame-ancestors"] == [
        "'self'",
        "https://school.example",
    ]


@pytest.mark.parametrize(
    "value",
    [
        "*; script-src *",
        "*\nscript-src *",
        "*\r\nset-cookie: a=b",
        "*, script-src *",
        "'none';;default-src *",
        "*\0",
    ],
)
def test_the_configuration_of_frames_cannot_bring_in_another_directive_or_header(value):
    header = security_headers({"HOURGLASS_FRAME_ANCESTORS": value})["content-security-policy"]
    rules = policy(header)
    assert set(rules) == DIRECTIVES
    assert rules["script-src"] == policy(security_headers({})["content-security-policy"])["script-src"]
    assert header.isprintable(), "a server refuses to send control characters, and so every page"


def test_the_headers_replace_those_that_the_application_sets_itself():
    async def own(scope: Message, receive: Any, send: Any) -> None:
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"X-Content-Type-Options", b"sniff")]}
        )
        await send({"type": "http.response.body", "body": b""})

    answer = asyncio.run(request(SecurityHeaders(own), "/"))
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_websocket_passes_untouched():
    passed: list[Any] = []

    async def socket(scope: Message, receive: Any, send: Any) -> None:
        passed.extend((scope, receive, send))

    scope, receive, send = {"type": "websocket"}, object(), object()
    asyncio.run(SecurityHeaders(socket)(scope, receive, send))  # type: ignore[arg-type]
    assert [one is other for one, other in zip(passed, (scope, receive, send), strict=True)] == [True] * 3


# The worker that runs a student's Python

WORKER = f"{LIBRARY}/{assets.WORKER}"


def test_the_worker_may_make_code_of_text_and_load_or_ask_nothing(get):
    answer = get(WORKER)
    assert answer.status == 200
    # One policy, without 'self': no script, no request, no worker of its own, from any host.
    assert policy(answer.headers["content-security-policy"]) == {
        "default-src": ["'none'"],
        "script-src": ["'unsafe-eval'"],
    }
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_workers_policy_is_on_no_other_file(get):
    scripts = [
        path.relative_to(assets.ROOT).as_posix()
        for folder in assets.FOLDERS
        for path in (assets.ROOT / folder).glob("*.js")
    ]
    assert assets.WORKER in scripts
    for path in ("/", "/exercises", *(f"{LIBRARY}/{script}" for script in scripts)):
        allows = "'unsafe-eval'" in get(path).headers["content-security-policy"]
        assert allows == (path == WORKER), path


def test_a_response_cannot_bring_any_other_policy():
    async def own(scope: Message, receive: Any, send: Any) -> None:
        looser = b"default-src 'none'; script-src 'unsafe-eval' *"
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-security-policy", looser)]}
        )
        await send({"type": "http.response.body", "body": b""})

    answer = asyncio.run(request(SecurityHeaders(own), "/"))
    assert set(policy(answer.headers["content-security-policy"])) == DIRECTIVES


def test_the_browsers_python_comes_out_of_the_installed_package_for_good():
    addresses = assets.python_addresses("")
    library = ask_assets(addresses["library"])
    assert library.status == 200
    assert library.body == (python.FOLDER / python.FILE).read_text(encoding="utf-8")
    assert python.VERSION in addresses["library"]
    assert library.headers["cache-control"] == "public, max-age=31536000, immutable"
    for other in ("brython_stdlib.js", "demo.html", "../__main__.py"):
        assert ask_assets(f"/{assets.BRYTHON_PREFIX}/{other}").status == 404


def test_what_marks_a_solution_in_the_browser_is_the_text_that_marks_it_here():
    answer = ask_assets(assets.python_addresses("")["parts"])
    assert answer.status == 200
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    parts = json.loads(answer.body)
    assert parts["marking"] == Path(marking.__file__).read_text(encoding="utf-8")
    assert set(parts["modules"]) == {*python.MODULES, "functools", "typing"}
    kinds = {kind for kind, *_ in parts["modules"].values()}
    assert kinds <= {".js", ".py"}, "as Brython wants its modules"


def test_all_of_the_browsers_python_is_found_below_the_apps_base_path():
    for address in assets.python_addresses("course").values():
        assert address.startswith("/course/lib/")


def test_the_address_changes_when_the_marking_does(monkeypatch):
    version = assets.version.__wrapped__
    before = version()
    monkeypatch.setattr(python, "python_parts", lambda: b"marked otherwise")
    assert version() != before


# The app's own scripts and styles


def test_every_script_and_style_is_served_for_good_under_an_address_with_their_version():
    root = Path(assets.ROOT)
    files = [
        path
        for folder in assets.FOLDERS
        for path in (root / folder).iterdir()
        if path.suffix in (".js", ".css")
    ]
    assert len(files) > 10
    for path in files:
        answer = ask_assets(f"{LIBRARY}/{path.relative_to(root).as_posix()}")
        assert answer.status == 200
        assert answer.body == path.read_text(encoding="utf-8")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        kind = answer.headers["content-type"].partition(";")[0]  # with nosniff a browser insists on it
        assert (
            kind in {".js": ("text/javascript", "application/javascript"), ".css": ("text/css",)}[path.suffix]
        )


@pytest.mark.parametrize(
    "path",
    [
        "board/data.py", "board/__init__.py", "session.py", "../app.py", "board/../session.py", "board/../../app.py",
        "board/%2e%2e/session.py", "..%2f..%2fapp.py", "/etc/passwd", "board//etc/passwd", "board/", "", "board",
        "board/nothing.js", "board/__pycache__/data.cpython-311.pyc", "board\\data.py", "board/\0.js",
    ],
)  # fmt: skip
def test_nothing_else_is_served_from_beside_them(get, path):
    assert ask_assets(f"{LIBRARY}/{path}").status == 404
    # The whole application may refuse with a 400 of its own.
    answer = get(f"{LIBRARY}/{path}")
    assert answer.status in (400, 404)
    assert "import" not in answer.body


def test_the_address_changes_with_any_files_contents_or_name(tmp_path, monkeypatch):
    for folder in assets.FOLDERS:
        shutil.copytree(assets.ROOT / folder, tmp_path / folder)
    monkeypatch.setattr(assets, "ROOT", tmp_path)
    version = assets.version.__wrapped__  # without the cache
    before = version()
    assert before == assets.version()
    (tmp_path / "board" / "data.py").write_text("# Python is not served")
    assert version() == before
    board = tmp_path / "board" / "board.js"
    board.write_text(board.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    after = version()
    board.rename(board.with_name("board_.js"))  # its place in the order stays
    assert len({before, after, version()}) == 3


@pytest.mark.parametrize(
    ("base", "address"), [("", "/lib/"), ("/", "/lib/"), ("course", "/course/lib/"), ("/a/b/", "/a/b/lib/")]
)
def test_a_components_code_is_found_below_the_apps_base_path(base, address):
    loader = assets.module_loader("board/board.js", base)
    assert f'"{address}hourglass/{assets.version()}/board/board.js"' in loader
