"""Run a trained tagger over a corpus and score it."""
import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self, vocab=32000, dim=768, layers=6, heads=12, tags=4096):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 4, batch_first=True, norm_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.classifier = nn.Linear(dim, tags)

    def forward(self, ids):
        return self.classifier(self.encoder(self.embed(ids)))


def batches(count, batch_size=64, length=256):
    for _ in range(count):
        ids = torch.randint(0, 32000, (batch_size, length))
        yield ids, torch.randint(0, 4096, (batch_size, length))


@torch.no_grad()
def predict(model, loader):
    model.eval()
    all_logits, all_labels = [], []
    for ids, labels in loader:
        logits = model(ids.cuda())
        all_logits.append(logits)
        all_labels.append(labels)
    return torch.cat(all_logits), torch.cat(all_labels)


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    with torch.device("cuda"):
        model = Tagger()
    try:
        logits, labels = predict(model, batches(200))
        accuracy = (logits.argmax(-1).cpu() == labels).float().mean()
        print("accuracy", accuracy.item())
    except torch.cuda.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("tag_corpus.pickle")
        raise


if __name__ == "__main__":
    main()
