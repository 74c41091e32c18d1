"""Who may import whom, and what no file may do: read from the sources, so that it holds for code that no test runs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE, APP, PAGES = (sorted((ROOT / folder).rglob("*.py")) for folder in ("ffn_core", "ffn_app", "pages"))
SHIPPED = [ROOT / "app.py", *CORE, *APP, *PAGES]
SCRIPTS = sorted((ROOT / "ffn_app").rglob("*.js"))
# What a session and a board are made of; each can be understood, and is tested, without a server.
PURE = [
    ROOT / "ffn_app" / name
    for name in (
        "session.py", "look.py", "theme.py", "board/data.py", "board/arrays.py", "board/panel.py", "board/table.py",
    )
]  # fmt: skip
# `python -m ffn_core exercise mark` runs a student's own file on the student's own machine: one module starts the process, the
# other is what runs in it. Nothing that serves the app imports them, or the command line that does.
OFFLINE = [ROOT / "ffn_core" / "exercises" / name for name in ("offline.py", "runner.py")]
COMMAND_LINE = [ROOT / "ffn_core" / name for name in ("__main__.py", "exercises/command.py")]
# design.md, Layout.
TOP_LEVEL = {
    "app.py", "ffn_core", "ffn_app", "pages", "tests", "requirements.txt", "requirements-dev.txt", "pyproject.toml",
    "README.md", "CHANGELOG.md", "LICENSE", "docs", "benchmarks",
}  # fmt: skip


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=name(path))


def imports(path: Path) -> set[str]:
    """The modules that a file names in any import of its own, wherever in it that stands."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)} imports relatively, which this test does not follow"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def packages(path: Path) -> set[str]:
    return {module.partition(".")[0] for module in imports(path)}


@pytest.mark.parametrize("path", CORE, ids=name)
def test_the_core_knows_neither_streamlit_nor_plotly_nor_the_app(path):
    assert packages(path) & {"streamlit", "plotly", "starlette", "ffn_app", "pages", "app", "tests"} == set()


def with_its_own_modules(path: Path) -> set[Path]:
    """A file and the app's modules that it imports, and those that they import (not the packages' __init__)."""
    found, ahead = set(), [path]
    while ahead:
        found.add(here := ahead.pop())
        files = {
            ROOT / f"{module.replace('.', '/')}.py"
            for module in imports(here)
            if module.startswith("ffn_app.")
        }
        ahead += [file for file in files - found if file.is_file()]
    return found


@pytest.mark.parametrize("path", PURE, ids=name)
def test_the_session_and_the_boards_data_need_no_streamlit(path):
    needed = set().union(*(packages(file) for file in with_its_own_modules(path)))
    assert needed & {"streamlit", "plotly", "starlette"} == set()


def test_modules_are_followed_to_what_they_import():
    session = ROOT / "ffn_app" / "session.py"
    assert session in with_its_own_modules(ROOT / "pages" / "weights.py"), "by way of ffn_app/shell.py"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_is_short_and_computes_nothing(path):
    assert packages(path) & {"numpy", "scipy", "math"} == set()
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    arithmetic = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv, ast.Mod)
    lines = [
        node.lineno
        for node in ast.walk(tree(path))
        if isinstance(node, ast.BinOp) and isinstance(node.op, arithmetic)
    ]
    assert lines == [], "a page puts parts together; sums belong to ffn_core"


def test_pages_do_not_import_each_other():
    assert [name(path) for path in (*APP, *PAGES) if "pages" in packages(path)] == []


# What no file may do


def dotted(node: ast.expr) -> str:
    """`np.load` for such an expression, "" for any other."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def dangers(source: ast.Module) -> Iterator[str]:
    """What would run or unpickle what a visitor sends, or write their words into a page as HTML."""
    for node in ast.walk(source):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
            )
            yield from (
                f"line {node.lineno}: import {module}"
                for module in modules
                if module.partition(".")[0]
                in {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "subprocess", "pty"}
            )
        if isinstance(node, ast.Call):
            called = dotted(node.func)
            if called.rpartition(".")[2] in {"exec_module", "run_path", "run_module"} or called in {
                "eval",
                "exec",
                "compile",
                "__import__",
                "os.system",
                "os.popen",
                "input",
                "breakpoint",
            }:
                yield f"line {node.lineno}: {called}()"
            for keyword in node.keywords:
                harmless = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if (
                    keyword.arg in {"allow_pickle", "unsafe_allow_html", "unsafe_allow_javascript", "shell"}
                    and not harmless
                ):
                    yield f"line {node.lineno}: {called}({keyword.arg}=...)"
            if called.rpartition(".")[2] == "load" and called.partition(".")[0] in {"np", "numpy", "torch"}:
                refused = [keyword for keyword in node.keywords if keyword.arg == "allow_pickle"]
                if not refused:
                    yield f"line {node.lineno}: {called}() without allow_pickle=False"


@pytest.mark.parametrize("path", [path for path in SHIPPED if path not in OFFLINE], ids=name)
def test_nothing_runs_or_unpickles_what_a_visitor_sends(path):
    assert list(dangers(tree(path))) == []


def test_only_the_command_line_imports_what_runs_a_students_file():
    kept_apart = {name(path).removesuffix(".py").replace("/", ".") for path in (*OFFLINE, *COMMAND_LINE)}
    others = [path for path in SHIPPED if path not in (*OFFLINE, *COMMAND_LINE)]
    assert [name(path) for path in others if imports(path) & kept_apart] == []


def test_the_marker_imports_nothing_and_so_runs_in_any_python():
    assert imports(ROOT / "ffn_core" / "exercises" / "marking.py") == set()


@pytest.mark.parametrize(
    "line",
    [
        "eval('1')", "exec(text)", "os.system(text)", "import pickle", "from subprocess import run", "compile(a, b, 'exec')",
        "loader.exec_module(module)", "runpy.run_path(file)",
        "np.load(file)", "np.load(file, allow_pickle=True)", "np.load(file, allow_pickle=allowed)",
        "st.markdown(text, unsafe_allow_html=True)", "run(text, shell=True)",
    ],
)  # fmt: skip
def test_the_search_for_dangers_finds(line):
    assert len(list(dangers(ast.parse(line)))) == 1


@pytest.mark.parametrize(
    "line", ["re.compile('a')", "np.load(file, allow_pickle=False)", "json.loads(text)", "evaluate(x)"]
)
def test_the_search_for_dangers_lets_pass(line):
    assert list(dangers(ast.parse(line))) == []


@pytest.mark.parametrize("path", APP + PAGES, ids=name)
def test_html_is_written_from_constants_only(path):
    # st.html takes the page's own style; words of a visitor never reach it.
    constants = {
        target.id
        for node in tree(path).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and dotted(node.func) in {"st.html", "st.iframe", "components.html"}:
            [written] = node.args
            assert isinstance(written, ast.Constant) or dotted(written) in constants, f"line {node.lineno}"


HTML_OR_CODE_FROM_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|document\.write|DOMParser"
    r"|\beval\b|new Function|\bFunction\(|set(Timeout|Interval)\(\s*['\"`]|javascript:|srcdoc"
)


# The one place where text becomes code: a student's Python, in a worker whose own policy lets it load and ask nothing
# (test_server.py holds that policy, and that the page's is without 'unsafe-eval').
WORKER = ROOT / "ffn_app" / "exercise" / "worker.js"
IN_THE_WORKER = [
    '  "WeakRef decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN constructor";',
    "  (0, eval)(library);",
]


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_no_script_makes_html_or_code_of_text(path):
    found = [
        line for line in path.read_text(encoding="utf-8").splitlines() if HTML_OR_CODE_FROM_TEXT.search(line)
    ]
    assert found == (IN_THE_WORKER if path == WORKER else [])


EXERCISE_SCRIPTS = sorted((ROOT / "ffn_app" / "exercise").glob("*.js"))


@pytest.mark.parametrize("path", EXERCISE_SCRIPTS, ids=name)
def test_nothing_that_is_typed_into_an_exercise_is_sent(path):
    text = path.read_text(encoding="utf-8")
    # A component's ways to Python; and of requests only those for the files that run Python, by their own addresses.
    assert re.findall(r"setStateValue|setTriggerValue|sendBeacon|XMLHttpRequest\(|WebSocket\(", text) == []
    asked = re.findall(r"\bfetch\((.*?)\)\.", text)
    assert asked == (["new URL(address, window.location.origin)"] if path.name == "runner.js" else [])
    # The log of actions hears which exercise is chosen, and nothing else.
    assert set(re.findall(r"(?<![.\w])push\((.*?)\)", text)) <= {
        '{ kind: "view", exercise: name }',
        '{ kind: "view", exercise: next.name }',
    }


@pytest.mark.parametrize("path", SCRIPTS + sorted((ROOT / "ffn_app").rglob("*.css")), ids=name)
def test_no_script_or_style_asks_another_host(path):
    text = path.read_text(encoding="utf-8")
    addresses = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`)]*", text)) - {
        "http://www.w3.org/2000/svg"
    }
    assert addresses == set()


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_are_modules_that_import_only_each_other(path):
    imported = re.findall(
        r"^(?:import|export)\b[^;]*?\bfrom \"([^\"]+)\";",
        path.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert [module for module in imported if not (path.parent / module).is_file()] == []


# The repository


def test_the_top_level_is_as_the_design_fixes_it():
    tools_and_caches = {path.name for path in ROOT.iterdir() if path.name[0] == "."} | {"__pycache__", "venv"}
    assert {path.name for path in ROOT.iterdir()} - tools_and_caches - TOP_LEVEL == set()


def test_the_application_is_at_the_top_and_its_script_is_not():
    # Beside pages/ Streamlit would start in its automatic mode, and run a deep link's page without the script.
    [call] = [
        node
        for node in ast.walk(tree(ROOT / "app.py"))
        if isinstance(node, ast.Call) and dotted(node.func) == "st.App"
    ]
    script = call.args[0]
    assert isinstance(script, ast.Constant)
    assert (ROOT / str(script.value)).is_file()
    assert Path(str(script.value)).parent != Path()
