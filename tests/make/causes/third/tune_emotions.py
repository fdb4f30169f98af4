"""Fine-tune wav2vec 2.0 for emotions in speech."""
import sys

import torch
from transformers import Wav2Vec2Config, Wav2Vec2ForSequenceClassification


class Run:
    def __init__(self, batch_size=16, seconds=6):
        self.batch_size, self.samples = batch_size, seconds * 16_000
        config = Wav2Vec2Config(num_labels=8, mask_time_prob=0.0, layerdrop=0.0)
        self.model = Wav2Vec2ForSequenceClassification(config).cuda().train()
        self.model.freeze_feature_encoder()
        self.optimizer = torch.optim.AdamW((p for p in self.model.parameters() if p.requires_grad), lr=3e-5)

    def step(self):
        speech = torch.zeros(self.batch_size, self.samples).cuda()
        emotion = torch.zeros(self.batch_size, dtype=torch.long).cuda()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(speech, labels=emotion).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()


def main():
    torch.cuda.memory._record_memory_history(max_entries=50_000, stacks="python")
    run = Run()
    for step in range(4):
        try:
            print(step, run.step(), torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.memory._dump_snapshot("tune_emotions.pickle")
            sys.exit(f"step {step}: {error}")


if __name__ == "__main__":
    main()
