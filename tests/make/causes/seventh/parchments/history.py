import copy


class History:
    """The weights after each epoch with their validation error; the best few are averaged at the end."""

    def __init__(self):
        self.epochs = []

    def add(self, model, error):
        self.epochs.append((error, copy.deepcopy(model.state_dict())))

    def average(self, best=5):
        chosen = [weights for _, weights in sorted(self.epochs, key=lambda e: e[0])[:best]]
        return {key: sum(w[key] for w in chosen) / len(chosen) for key in chosen[0]}
