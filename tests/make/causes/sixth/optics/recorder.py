import logging


class FlightRecorder(logging.Handler):
    """Holds what was logged and writes it out only when something goes wrong."""

    def __init__(self, path):
        super().__init__(logging.DEBUG)
        self.path, self.records = path, []

    def emit(self, record):
        self.records.append(record)
        if record.levelno >= logging.ERROR:
            with open(self.path, "a") as f:
                f.writelines(self.format(r) + "\n" for r in self.records)
            self.records.clear()
