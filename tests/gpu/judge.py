"""Verdicts: one line per check, as soon as it is known, and all of them in `verdicts.json`."""

import json
import threading
import time


class Skip(Exception):
    """The check is impossible on this machine or with this kit."""


class Judge:
    """Collects verdicts and prints them. Checks may run in several threads."""

    def __init__(self, out):
        self.out, self.checks, self.lock = out, [], threading.Lock()

    def say(self, status, check, text, consequence=None, **figures):
        entry = {"status": status, "check": check, "text": text, "consequence": consequence, **figures}
        line = f"{status} {check} {text}"
        if status == "FAIL" and consequence:
            line += f" => {consequence}"
        with self.lock:
            self.checks.append(entry)
            print(line, flush=True)
            with open(self.out / "verdicts.txt", "a") as file:
                file.write(line + "\n")
            self.write()

    def judge(self, check, is_fine, text, consequence, **figures):
        """`PASS` or `FAIL`. The consequence says what to change."""
        self.say("PASS" if is_fine else "FAIL", check, text, consequence, **figures)

    def info(self, check, text, **figures):
        self.say("INFO", check, text, **figures)

    def run(self, check, function, kit):
        """Runs a check. An exception is a verdict, too: it must not stop the others."""
        begin = time.monotonic()
        try:
            function(kit, self)
        except Skip as reason:
            self.say("SKIP", check, str(reason))
        except Exception as error:
            self.judge(check, False, f"the check itself failed: {type(error).__name__}: {error}", "tests/gpu")
        with self.lock:
            for entry in self.checks:
                if entry["check"] == check:
                    entry.setdefault("seconds", round(time.monotonic() - begin, 1))
            self.write()

    def write(self):
        (self.out / "verdicts.json").write_text(json.dumps({"counts": self.counts(), "checks": self.checks}, indent=1, default=str))

    def counts(self):
        statuses = [entry["status"] for entry in self.checks]
        return {status: statuses.count(status) for status in ["PASS", "FAIL", "INFO", "SKIP"]}

    def close(self):
        """Prints the closing count. Returns the exit code."""
        counts = self.counts()
        line = f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['INFO']} info, {counts['SKIP']} skipped"
        print(line, flush=True)
        with open(self.out / "verdicts.txt", "a") as file:
            file.write(line + "\n")
        self.write()
        return int(counts["FAIL"] > 0)
