"""A chat with a small model: the key-value cache is carried from turn to turn."""
import random

import torch
from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM


class Conversation:
    def __init__(self, model, users):
        self.model, self.users = model, users
        self.cache = DynamicCache(config=model.config)
        self.turns = 0

    @torch.inference_mode()
    def say(self, length, answer=6):
        """The users' words (all padded to the same length), then the answer; several tokens are drafted at once."""
        ids = torch.zeros(self.users, length, dtype=torch.long).cuda()
        words = []
        for _ in range(answer):
            logits = self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, logits_to_keep=4).logits
            ids = logits.argmax(-1)
            words.append(ids.cpu())
        self.turns += 1
        return torch.cat(words, 1)


def load():
    config = Qwen2Config(hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16, num_key_value_heads=8)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return Qwen2ForCausalLM(config).eval()


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=18_000, stacks="python")
    chat, rng = Conversation(load(), users=24), random.Random(1)
    for _ in range(9):
        print(chat.say(rng.randrange(60, 400)).shape, chat.cache.get_seq_length(), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20)
    torch.cuda.memory._dump_snapshot("chat_turns.pickle")
