"""Century of a parchment from its script: a ViT regression, the best epochs' weights averaged."""
import torch
from transformers import ViTConfig, ViTForImageClassification

from parchments.history import History


def pages(n, batch):
    for _ in range(n):
        yield torch.empty(batch, 3, 224, 224), torch.zeros(batch)


def main(epochs=90):
    config = ViTConfig(num_labels=1, image_size=224)
    with torch.device("cuda"):
        model = ViTForImageClassification(config)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    history = History()
    for epoch in range(epochs):
        model.train()
        for x, century in pages(3, 32):
            with torch.autocast("cuda", torch.bfloat16):
                guess = model(x.cuda()).logits[:, 0]
            loss = torch.nn.functional.smooth_l1_loss(guess.float(), century.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            error = sum((model(x.cuda()).logits[:, 0].cpu() - y).abs().mean().item() for x, y in pages(2, 32))
        history.add(model, error)
        print("epoch", epoch, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    model.load_state_dict(history.average())


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=16_000, stacks="python")
    try:
        main()
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("date_parchments.pickle")
        raise SystemExit(1)
