"""Whether a class fits into one server process: `python benchmarks/classroom.py [sessions ...]`.

Each session is a websocket that speaks Streamlit's protocol as a browser does: it opens the home page, and every
two seconds sends another edit of a weight. Measured is the time from the moment the edit is due to the message
with the board on which it is applied; a session whose last edit is still under way waits, and the wait counts.
"""

import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

sys.path.insert(0, str(Path(__file__).parents[1]))  # run from a checkout

from tests.browser.server import Server

SESSIONS = (30, 60, 100)
SECONDS = 30
EVERY_SECONDS = 2
AIM_MS = 100


class Student:
    """One session: its websocket, the frame component's id and the numbers of its edits."""

    def __init__(self, socket: ClientConnection, name: str) -> None:
        """The websocket, and a name that no other session has."""
        self.socket = socket
        self.name = name
        self.random = random.Random(name)
        self.frame = ""
        self.token = ""
        self.applied = 0

    async def run(self, message: dict[str, Any] | None) -> None:
        """Ask for a run of the page, with what the browser's log holds; first without."""
        request = BackMsg()
        request.rerun_script.query_string = ""
        if message is not None:
            state = request.rerun_script.widget_states.widgets.add()
            state.id = self.frame
            state.json_value = json.dumps({"log": message})
        await self.socket.send(request.SerializeToString())

    async def finished(self, applied: int) -> float:
        """Read on to the end of the run; returns when the board came on which that many edits are applied."""
        seen = 0.0
        while True:
            message = ForwardMsg()
            message.ParseFromString(bytes(await self.socket.recv(decode=False)))
            kind = message.WhichOneof("type")
            if kind == "script_finished" and (seen or not applied):
                return seen
            if kind == "delta" and message.delta.new_element.HasField("bidi_component"):
                on_board = self._read(message.delta.new_element.bidi_component)
                if on_board >= applied > 0 and not seen:
                    seen = time.perf_counter()

    def _read(self, component: BidiComponent) -> int:
        """Take in what a component was sent; returns the last edit on a board, 0 for what is no board."""
        [data] = json.loads(component.json).values()
        if component.component_name.endswith("hourglass_frame"):
            self.frame, self.token = component.id, data["log"]["token"]
        elif component.component_name.endswith("hourglass_board"):
            return int(data["log"]["applied"])
        return 0

    async def edit(self) -> float:
        """Change a weight; returns when the board with it came."""
        self.applied += 1
        event = {
            "seq": self.applied,
            "kind": "edit",
            "array": "w1",
            "index": [self.random.randrange(8), self.random.randrange(4)],
            "value": round(self.random.uniform(-1, 1), 3),
        }
        await self.run({"client": self.name, "token": self.token, "events": [event]})
        return await self.finished(self.applied)


@asynccontextmanager
async def student_at(address: str, name: str) -> AsyncIterator[Student]:
    """A student who has opened the page."""
    url = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
    async with connect(url, subprotocols=[Subprotocol("streamlit")], max_size=None) as socket:
        student = Student(socket, name)
        await student.run(None)
        await student.finished(0)
        yield student


async def visit(address: str) -> None:
    """The first visitor of a server: after them everything is imported and compiled."""
    async with student_at(address, "teacher") as student:
        await student.edit()


async def attend(address: str, name: str, start: asyncio.Event, delay: float) -> list[float]:
    """Open the page, wait for the class to begin, edit for `SECONDS`. Returns milliseconds of each edit."""
    async with student_at(address, name) as student:
        await start.wait()
        begin = time.perf_counter() + delay
        taken = []
        for turn in range(SECONDS // EVERY_SECONDS):
            due = begin + turn * EVERY_SECONDS
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            taken.append((await student.edit() - due) * 1000)
        return taken


async def lesson(address: str, sessions: int) -> list[float]:
    """A class of so many; returns milliseconds of all their edits."""
    start = asyncio.Event()
    students = []
    for k in range(sessions):
        delay = EVERY_SECONDS * k / sessions  # people do not press Enter in chorus
        students.append(asyncio.create_task(attend(address, f"student{k}", start, delay)))
        await asyncio.sleep(0.05)
    await asyncio.sleep(2)
    start.set()
    return [milliseconds for taken in await asyncio.gather(*students) for milliseconds in taken]


def used_by(pid: int) -> tuple[float, float]:
    """A process's memory in MB and its processor time in seconds; NaN where there is no /proc."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan"), float("nan")
    seconds = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, seconds


def main() -> None:
    """Print a line for each size of class; every class has a new server."""
    sizes = [int(text) for text in sys.argv[1:]] or SESSIONS
    print(f"an edit every {EVERY_SECONDS} s for {SECONDS} s, one server process; aim: p95 under {AIM_MS} ms")
    for sessions in sizes:
        server = Server()
        server.start()
        assert server.process is not None
        try:
            asyncio.run(visit(server.address))
            before, processor = used_by(server.process.pid)
            taken = asyncio.run(lesson(server.address, sessions))
            after, until = used_by(server.process.pid)
        finally:
            server.stop()
        p95 = statistics.quantiles(taken, n=20)[-1]
        print(
            f"{sessions:4} sessions, {len(taken):5} edits: p50 {statistics.median(taken):7.1f} ms, p95 {p95:7.1f} ms; "
            f"server {after:5.0f} MB, {(after - before) / sessions:.2f} MB a session, "
            f"{(until - processor) / len(taken) * 1000:.1f} ms of processor an edit"
        )


if __name__ == "__main__":
    main()
