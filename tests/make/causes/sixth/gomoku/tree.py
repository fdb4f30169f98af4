import math


class Node:
    def __init__(self, state, prior=1.0, parent=None):
        self.state, self.prior, self.parent = state, prior, parent
        self.children, self.visits, self.value = {}, 0, 0.0

    def best(self):
        total = math.sqrt(self.visits + 1)
        return max(self.children.values(), key=lambda c: c.value / (c.visits + 1) + 1.2 * c.prior * total / (c.visits + 1))

    def backup(self, value):
        node = self
        while node is not None:
            node.visits += 1
            node.value += value
            value, node = -value, node.parent


def search(root, net, dice, simulations=24, width=16):
    """Looks ahead from root with the learnt dynamics; returns the most visited move."""
    for _ in range(simulations):
        node = root
        while len(node.children) == width:
            node = node.best()
        move = dice.randrange(361)
        while move in node.children:
            move = dice.randrange(361)
        state = net.dynamics(node.state, move)
        node.children[move] = Node(state, dice.random(), node)
        node.children[move].backup(dice.uniform(-1, 1))
    return max(root.children, key=lambda m: root.children[m].visits)
