"""Starts and controls a test server."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from datetime import datetime
from typing import Any, Mapping, Sequence
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

# Seconds that the server has to stop before it is killed.
_STOP = 30
# Ignores proxy settings, because the server is on this machine.
_opener = build_opener(ProxyHandler({}))


class RoostError(Exception):
    """The server did not start, or refused a control call."""


class Roost:
    """A running server and its administrator."""

    url: str
    username: str
    token: str
    password: str
    pid: int
    control: str
    world: str

    def __init__(self, process: subprocess.Popen[str], line: Mapping[str, Any]) -> None:
        self._process = process
        self.world = line["name"]
        for name in ("url", "username", "token", "password", "pid", "control"):
            setattr(self, name, line[name])

    def reset(self) -> None:
        """Restore the initial state."""
        self._call("POST", "/reset")

    def snapshot(self, name: str) -> None:
        """Save the current state under a name."""
        self._call("POST", "/snapshots", {"name": name})

    def restore(self, name: str) -> None:
        """Restore the state of a snapshot."""
        self._call("POST", "/restore", {"snapshot": name})

    def seed(self, data: Mapping[str, Any] | str | os.PathLike[str]) -> dict[str, dict[str, int]]:
        """Add data: a mapping, or the path of a YAML or JSON file. Returns the new ids by names and paths."""
        if isinstance(data, Mapping):
            return self._call("POST", "/seed", data)
        with open(data, "rb") as file:
            return self._send("POST", "/seed", file.read(), "application/yaml")

    def requests(self, **filter: Any) -> list[dict[str, Any]]:
        """Return the calls since the last reset, filtered by method, route, path, caller or status."""
        return self._call("GET", f"/requests?{urlencode(filter)}")["requests"]

    def run_job(self, project: str | int, job: str | int, **run: Any) -> dict[str, Any]:
        """Do with a job what a runner would do: state, log, artifacts, reports, exit_code, failure_reason, wait."""
        return self._call("POST", "/jobs", {"project": project, "job": job, **run})

    def fail(self, **fault: Any) -> None:
        """Make matching calls fail: by method, route or path; with status, disconnect, cut or delay; times, after."""
        self._call("POST", "/faults", fault)

    def rate_limit(self, limit: int, **more: Any) -> None:
        """Limit the calls of each credential until a reset. Options: window in seconds, method, route or path."""
        self._call("POST", "/limits", {"limit": limit, **more})

    def advance(self, seconds: float) -> datetime:
        """Advance the clock and return its new time."""
        return datetime.fromisoformat(self._call("POST", "/clock", {"advance": seconds})["now"].replace("Z", "+00:00"))

    def stop(self) -> None:
        """Stop the server and remove its data."""
        self._process.terminate()
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        return self._send(method, path, None if body is None else json.dumps(body).encode(), "application/json")

    def _send(self, method: str, path: str, body: bytes | None, content_type: str) -> Any:
        headers = {} if body is None else {"content-type": content_type}
        request = Request(f"{self.control}/worlds/{self.world}{path}", body, headers, method=method)
        try:
            with _opener.open(request) as answer:
                text = answer.read()
        except HTTPError as error:
            with error:
                refusal = error.read().decode(errors="replace")
            try:
                refusal = json.loads(refusal)["message"]
            except (ValueError, KeyError, TypeError):
                pass
            raise RoostError(refusal) from None
        return json.loads(text) if text else None


def start(
    program: Sequence[str] = ("roost",),
    *,
    seed: str | os.PathLike[str] | None = None,
    clock: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Roost:
    """Start a server and return it when it is ready."""
    command = [*program, "test"]
    if seed is not None:
        command += ["--seed", os.fspath(seed)]
    if clock is not None:
        command += ["--clock", clock]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **(env or {})})
        except OSError as error:
            raise RoostError(f"{command[0]} cannot be started: {error.strerror}") from error
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            process.stdout.close()
            log.seek(0)
            raise RoostError(f"roost test ended with {code}: {log.read().strip()[-2000:]}")
    return Roost(process, json.loads(line))
