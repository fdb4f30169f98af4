"""A loop of accelerate."""
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
optimizer = torch.optim.AdamW(model.parameters())
rows = torch.utils.data.DataLoader(torch.randn(16, 64), batch_size=4)
model, optimizer, rows = accelerator.prepare(model, optimizer, rows)
for row in rows:
    loss = model(row).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
