"""Species of ground beetles, Swin-like backbone from transformers, accelerate with gradient accumulation, an EMA for evaluation."""
import sys

import torch
from accelerate import Accelerator
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset
from transformers import SwinConfig, SwinForImageClassification


class Beetles(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return torch.empty(3, 224, 224), index % 290


def main(steps):
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
    model = SwinForImageClassification(SwinConfig(num_labels=290))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(Beetles(24 * steps), batch_size=24))
    ema = AveragedModel(accelerator.unwrap_model(model), multi_avg_fn=get_ema_multi_avg_fn(0.999))
    for number, (x, y) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(pixel_values=x).logits, y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            if accelerator.sync_gradients:
                ema.update_parameters(model)
        print(number, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("name_beetles.pickle")


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=24_000, stacks="python")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
