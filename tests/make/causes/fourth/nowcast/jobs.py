"""Work that can wait until the night: figures, uploads."""


class Later:
    def __init__(self):
        self._jobs = []

    def __len__(self):
        return len(self._jobs)

    def add(self, job):
        self._jobs.append(job)

    def run(self):
        while self._jobs:
            self._jobs.pop()()
