"""A real Hourglass server in a process of its own, as `streamlit run app.py` starts it."""

import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class Server:
    """`start` and `stop` may alternate; the port stays the same, so that open tabs find a restarted server."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.output = Path(tempfile.mkdtemp(prefix="hourglass-")) / "server.log"

    def start(self) -> None:
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        options = ["--server.address", "127.0.0.1", "--server.port", str(self.port)]
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                command + options, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        give_up = time.monotonic() + START_SECONDS
        while not self._healthy():
            if self.process.poll() is not None or time.monotonic() > give_up:
                self.stop()
                raise RuntimeError(f"the server did not start; it said:\n{self.log()}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def log(self) -> str:
        """Everything that the server has printed."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def _healthy(self) -> bool:
        # Unknown paths answer 200 with the app's page, so the body is what counts.
        try:
            with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=5) as response:
                return bool(response.read() == b"ok")
        except OSError:
            return False
