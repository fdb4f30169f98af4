"""A GRU over long pieces of music, trained chunk by chunk; one update per piece."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MusicRNN(nn.Module):
    def __init__(self, notes=512, dim=1024, layers=2):
        super().__init__()
        self.embed = nn.Embedding(notes, dim)
        self.cells = nn.ModuleList([nn.GRUCell(dim, dim) for _ in range(layers)])
        self.out = nn.Linear(dim, notes)

    def forward(self, notes, state):
        outputs = []
        for t in range(notes.shape[1]):
            x = self.embed(notes[:, t])
            new_state = []
            for cell, h in zip(self.cells, state):
                x = cell(x, h)
                new_state.append(x)
            state = new_state
            outputs.append(self.out(x))
        return torch.stack(outputs, 1), state


def train_piece(model, optimizer, piece, chunk=24):
    state = [torch.zeros(piece.shape[0], 1024, device="cuda") for _ in model.cells]
    optimizer.zero_grad()
    for start in range(0, piece.shape[1] - 1, chunk):
        x, y = piece[:, start : start + chunk], piece[:, start + 1 : start + chunk + 1]
        logits, state = model(x[:, : y.shape[1]], state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward(retain_graph=True)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def main():
    torch.cuda.memory._record_memory_history(max_entries=300_000, stacks="python")
    model = MusicRNN().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    try:
        for epoch in range(2):
            piece = torch.randint(0, 512, (256, 24 * 40 + 1)).cuda()
            print(train_piece(model, optimizer, piece))
    finally:
        torch.cuda.memory._dump_snapshot("train_music_rnn.pickle")


if __name__ == "__main__":
    main()
