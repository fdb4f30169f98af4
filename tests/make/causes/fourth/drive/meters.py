class Meter:
    """Running mean and the curve for the plot."""

    def __init__(self):
        self.curve = []

    def update(self, value, n=1):
        self.curve.append((value, n))

    @property
    def mean(self):
        return sum(v * n for v, n in self.curve) / max(1, sum(n for _, n in self.curve))


class MeterBook(dict):
    def __missing__(self, key):
        self[key] = Meter()
        return self[key]

    def log(self, values, n):
        for key, value in values.items():
            self[key].update(value, n)
