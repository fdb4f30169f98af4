"""Fine-tune BERT-large on sentence pairs."""
import torch
from transformers import BertConfig, BertForSequenceClassification


def build():
    config = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096, num_labels=3)
    with torch.device("cuda"):
        return BertForSequenceClassification(config).train()


def train(model, steps, batch_size=16, length=256):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    for step in range(steps):
        ids = torch.randint(0, 30000, (batch_size, length)).cuda()
        labels = torch.zeros(batch_size, dtype=torch.long).cuda()
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step)


def dump(device, alloc, device_alloc, device_free):
    torch.cuda.memory._dump_snapshot("finetune_bert.pickle")


def main():
    torch.cuda.init()
    torch._C._cuda_attach_out_of_memory_observer(dump)
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    train(build(), 5)


if __name__ == "__main__":
    main()
