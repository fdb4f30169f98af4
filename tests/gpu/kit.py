"""The programs to check, how they are started, and where their output goes."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

from judge import Skip

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Programs that hang are worse than ones that fail: nothing may take longer than this.
LONGEST_SECONDS = 100


class Kit:
    def __init__(self, capture, programs, out, fake, deadline):
        self.capture_program = pathlib.Path(capture).resolve()
        self.programs = pathlib.Path(programs).resolve()
        self.out, self.fake, self.deadline = out, fake, deadline
        self.environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if fake:
            self.environment["LD_LIBRARY_PATH"] = str(pathlib.Path(fake).resolve())
        self.compiled = {}
        self.modules, self.lock = {}, threading.Lock()

    @property
    def is_fake(self):
        return self.fake is not None

    def program(self, name):
        path = self.programs / name
        if not path.exists():
            raise Skip(f"the kit has no {name}")
        return path

    def run(self, command, name=None, environment=None, seconds=LONGEST_SECONDS):
        """Runs a command. Returns its exit code (or "time limit"), output and seconds."""
        left = min(seconds, self.deadline - time.monotonic())
        if left < 2:
            raise Skip("no time was left")
        begin = time.monotonic()
        # A process group of its own, so that its children end with it.
        child = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.out,
            env=self.environment | (environment or {}), start_new_session=True,
        )
        try:
            output, errors = child.communicate(timeout=left)
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            try:
                output, errors = child.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                # A daemon in a session of its own holds the pipes.
                output, errors = b"", b"its output is held by a process that outlived it"
            code = "time limit"
        output, errors = output.decode(errors="replace"), errors.decode(errors="replace")
        if name:
            (self.out / f"{name}.log").write_text(f"$ {command}\nexit {code}\n{output}\n--- stderr\n{errors}")
        return {"code": code, "seconds": time.monotonic() - begin, "output": output, "errors": errors}

    def captured_command(self, command, name, options=()):
        """The command that captures `command`; raw logs are kept, so that nothing has to run again after a fix."""
        return [self.capture_program, "run", "--raw-dir", self.out / f"{name}.raw", *options,
                "-o", self.out / f"{name}.pickle", "--", *command]

    def capture(self, command, name, options=(), environment=None):
        """Runs a command under capture. The result has its `snapshots` and raw `logs`, too."""
        run = self.run(self.captured_command(command, name, options), name, environment)
        return run | self.found(name)

    def found(self, name):
        """The files of a capture: snapshots, the main one first, and raw logs."""
        snapshots = sorted(self.out.glob(f"{name}*.pickle"), key=lambda path: (path.name != f"{name}.pickle", path.name))
        return {"snapshots": snapshots, "logs": sorted((self.out / f"{name}.raw").glob("**/*.raw"))}

    def begin(self, command, environment=None):
        """Starts a program in its own process group without waiting; the caller reads its output."""
        return subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.out,
            env=self.environment | (environment or {}), start_new_session=True,
        )

    def script(self, name, *arguments):
        return [sys.executable, HERE / "steps" / f"{name}.py", *arguments]

    def answers(self, script, *arguments):
        """Runs a script that prints one JSON object."""
        run = self.run(self.script(script, *arguments), f"{script}-{arguments[0]}" if arguments else script)
        try:
            return json.loads(run["output"])
        except ValueError:
            raise RuntimeError(f"{script}: exit {run['code']}: {run['errors'][-400:]}") from None

    def need_gpu(self, what):
        if self.is_fake:
            raise Skip(f"{what} needs a real driver")

    def need_module(self, name):
        self.need_gpu(name)
        # Imported once: importing torch takes seconds.
        with self.lock:
            if name not in self.modules:
                self.modules[name] = self.run([sys.executable, "-c", f"import {name}"])["code"] == 0
        if not self.modules[name]:
            raise Skip(f"no {name} here")

    def tool(self, name):
        found = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
        if found is None:
            raise Skip(f"no {name} here")
        return found
