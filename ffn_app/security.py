"""Security headers on every response; Streamlit sends none itself."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

import streamlit
from starlette.types import ASGIApp, Message, Receive, Scope, Send

WORKER_POLICY = "default-src 'none'; script-src 'unsafe-eval'"
"""The policy of the worker that runs a student's Python, which Brython turns into JavaScript: the text that the page
hands it may become code, and nothing may be loaded or asked from anywhere. The page itself allows no such code."""


def _inline_scripts() -> str:
    """CSP sources that allow exactly the inline scripts of the installed Streamlit's own page."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", page, flags=re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def security_headers(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The headers, from the configuration.

    `HOURGLASS_FRAME_ANCESTORS` names who may show the app in a frame (a CSP source list, such as
    `https://school.example`); by default only the app's own origin may.
    """
    named = environ.get("HOURGLASS_FRAME_ANCESTORS", "'self'")
    # Only what a source list is made of: anything else could begin another directive, policy or header.
    ancestors = re.sub(r"[^A-Za-z0-9'*.:/_-]+", " ", named).strip() or "'none'"
    policy = {
        "default-src": "'self'",
        # blob: is how Streamlit runs a component's JavaScript.
        "script-src": f"'self' blob: {_inline_scripts()}",
        # Streamlit's own styles are injected as <style> elements.
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self' ws: wss:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": ancestors,
    }
    return {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }


class SecurityHeaders:
    """Pure ASGI middleware: adds the headers, and leaves bodies and websockets alone.

    A response that brings `WORKER_POLICY` keeps that one: it is stricter in all but one thing, and this app's own.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an ASGI application."""
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in security_headers().items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; add the headers to the start of an HTTP response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                brought = message.get("headers", [])
                is_worker = (b"content-security-policy", WORKER_POLICY.encode()) in brought
                added = [
                    (name, value)
                    for name, value in self.headers
                    if not (is_worker and name == b"content-security-policy")
                ]
                names = {name for name, _ in added}
                kept = [(name, value) for name, value in brought if name.lower() not in names]
                message = {**message, "headers": [*kept, *added]}
            await send(message)

        await self.app(scope, receive, send_with_headers)
