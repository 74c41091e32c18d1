"""Marking a student's file on the student's own machine, for `python -m ffn_core exercise mark`.

The file runs in a process of its own (`runner`), with a time limit and its output cut; the app imports neither module.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

from ffn_core.exercises.exercise import Sheet
from ffn_core.exercises.marking import refusal

SECONDS = 5.0
MAX_OUTPUT = 20_000
"""Bytes kept of what a file prints."""

_RUNNER = Path(__file__).with_name("runner.py")
_ENDED = (
    "Your program ended before it could be marked, without an error of Python's. Return the result instead."
)


class Marked(NamedTuple):
    """A verdict as `marking.mark` gives it, and what the file printed."""

    verdict: dict[str, Any]
    printed: str


def mark_file(file: str, sheet: Sheet) -> Marked:
    """Run `file` and mark its function by `sheet`; it is stopped after SECONDS, with all that it started."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder, "sheet.json").write_text(json.dumps(sheet), encoding="utf-8")
        # Isolated from the variables and folders of the caller; a folder of its own for what Python compiles.
        options = ["-I", "-X", "utf8", "-X", f"pycache_prefix={folder}"]
        process = subprocess.Popen(
            [sys.executable, *options, str(_RUNNER), file, folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        kept: list[bytes] = []
        reader = threading.Thread(target=_keep_the_first, args=(process.stdout, kept), daemon=True)
        reader.start()
        in_time = True
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            in_time = False
        finally:
            _end(process)
        reader.join(1)
        verdict = _verdict_in(folder) if in_time else refusal("timeout", None, sheet)
    return Marked(verdict or refusal("error", _ENDED, sheet), _text(b"".join(kept)))


def _keep_the_first(stream: IO[bytes], kept: list[bytes]) -> None:
    """Read all, so that a flood does not stop the program before its time, and keep a byte more than MAX_OUTPUT."""
    room = MAX_OUTPUT + 1
    with stream:
        while chunk := stream.read1(65_536):  # type: ignore[attr-defined]
            if room > 0:
                kept.append(chunk[:room])
                room -= len(kept[-1])


def _text(printed: bytes) -> str:
    text = printed[:MAX_OUTPUT].decode("utf-8", "replace")
    return text if len(printed) <= MAX_OUTPUT else f"{text}\n... (the rest is cut)\n"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and what it started, if anything of it is left."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _verdict_in(folder: str) -> dict[str, Any] | None:
    try:
        verdict: dict[str, Any] = json.loads(Path(folder, "verdict.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return verdict
