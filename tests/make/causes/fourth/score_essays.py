"""Grade student essays with an ELECTRA regressor; a service that takes jobs from a queue of files."""
import torch
from transformers import ElectraConfig, ElectraForSequenceClassification


def jobs(n):
    for i in range(n):
        yield [200 + 37 * ((i * 7 + k) % 9) for k in range(32)]  # tokens of the essays of this file


class Grader:
    def __init__(self):
        config = ElectraConfig(embedding_size=768, hidden_size=768, num_hidden_layers=8, num_attention_heads=12, intermediate_size=3072, num_labels=6, max_position_embeddings=512)
        self.net = ElectraForSequenceClassification(config).to("cuda", torch.bfloat16).eval()
        self.grades = {}

    @torch.no_grad()
    def grade(self, name, lengths):
        ids = torch.full((len(lengths), max(lengths)), 7)
        mask = torch.zeros_like(ids)
        for row, n in enumerate(lengths):
            mask[row, :n] = 1
        logits = self.net(ids.cuda(), attention_mask=mask.cuda()).logits
        self.grades[name] = logits.float().cpu()


if __name__ == "__main__":
    grader = Grader()
    for number, lengths in enumerate(jobs(60)):
        if number == 46:
            torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
        grader.grade(f"file{number}", lengths)
        if number % 10 == 9:
            print(number, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("score_essays.pickle")
