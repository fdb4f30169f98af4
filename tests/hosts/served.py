"""Servers, and a browser that looks at them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Callable, Iterator, Sequence

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "torch-2.15.0"
PATIENCE_S = 180


def recipes(chapter: str) -> list[str]:
    """The blocks of code below a heading of the book's chapter on docs tools."""
    text = (ROOT / "book" / "src" / "docs-tools.md").read_text()
    below = text.split(f"\n## {chapter}\n")[1].split("\n## ")[0]
    return re.findall(r"```[^\n]*\n(.*?)```", below, re.DOTALL)


def wait_for(what: str, is_so: Callable[[], object], pause: Callable[[float], None] = time.sleep) -> None:
    """Waits until a condition is true."""
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(what)
        pause(0.1)


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def served(command: Sequence[object], port: int, path: str, folder: str, **variables: str) -> Iterator[str]:
    """A server, once `path` answers; returns its address. Its output goes to `server.log` in the folder."""
    with open(Path(folder, "server.log"), "wb") as log:
        environment = {**os.environ, **variables}
        server = subprocess.Popen(list(map(str, command)), cwd=folder, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for("the server", lambda: answers(address + path))
        yield address
    finally:
        server.terminate()
        server.wait()


def files_of(folder: Path) -> contextlib.AbstractContextManager[str]:
    """A server of a folder's files; returns its address."""
    port = free_port()
    command = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", folder]
    return served(command, port, "/", str(folder))


def answers(address: str) -> bool:
    """Whether a server is there."""
    try:
        with urllib.request.urlopen(address):
            return True
    except OSError:
        return False


def executable() -> str | None:
    """Chromium, from `CHROME` or from the search path."""
    return os.environ.get("CHROME") or shutil.which("chromium") or shutil.which("google-chrome")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A started Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield started
        started.close()


@contextlib.contextmanager
def opened(chromium: Browser, address: str) -> Iterator[Page]:
    """A page whose scripts must not fail."""
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    yield page
    assert not faults, faults
    page.close()
