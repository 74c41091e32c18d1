"""Runs a student's own file on the student's own machine, in a process of its own: python -I runner.py FILE FOLDER.

The sheet comes in FOLDER/sheet.json and the verdict goes to FOLDER/verdict.json, so that all that the file prints stays its own.
`offline` starts this, and stops it. Nothing that serves the app imports either of them: here, and only here, code of
somebody else's is run. It is no sandbox, since a student may do on their own machine what they like. It keeps a slip from
filling the memory, starting programs without end, or waiting for an input that never comes.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

MEMORY = 1 << 30
"""Bytes of address space."""
_MAX_TRACEBACK = 8000
_STARTS_A_PROGRAM = {
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "subprocess.Popen",
}  # fmt: skip


def main(file: str, folder: str) -> NoReturn:
    """Mark FILE by the sheet in FOLDER, and end without waiting for what the file has left running."""
    marking = _load("marking", str(Path(__file__).with_name("marking.py")))
    sheet = json.loads(Path(folder, "sheet.json").read_text(encoding="utf-8"))
    _limit_memory()
    sys.argv = [file]
    sys.addaudithook(_refuse_programs)
    verdict = _verdict(file, marking, sheet)
    Path(folder, "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


def _verdict(file: str, marking: ModuleType, sheet: dict[str, Any]) -> Any:
    def traced(error: BaseException) -> str:
        return _traceback_from(file, error)

    try:
        function = getattr(_load("solution", file), sheet["function"], None)
    except BaseException as error:  # a file that calls sys.exit() is refused like any other that fails
        return marking.refusal("error", marking.raised(error), sheet, traced(error))
    return marking.mark(function, sheet, traced)


def _load(name: str, file: str) -> ModuleType:
    """The module that the text of `file` makes."""
    loader = importlib.machinery.SourceFileLoader(name, file)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _traceback_from(file: str, error: BaseException) -> str:
    """The traceback without the frames of this program, which stand around those of the student's file."""
    written = traceback.TracebackException.from_exception(error)
    frames = list(written.stack)
    while frames and frames[0].filename != file:
        del frames[0]
    while frames and frames[-1].filename == __file__:
        del frames[-1]
    written.stack = traceback.StackSummary.from_list(frames)
    return "".join(written.format())[-_MAX_TRACEBACK:]


def _limit_memory() -> None:
    try:
        import resource  # not on Windows
    except ImportError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY if most < 0 else min(MEMORY, most), most))
    except (ValueError, OSError):  # macOS refuses some limits
        return


def _refuse_programs(event: str, _: object) -> None:
    if event in _STARTS_A_PROGRAM:
        raise PermissionError("a solution starts no other program")


if __name__ == "__main__":
    main(*sys.argv[1:])
