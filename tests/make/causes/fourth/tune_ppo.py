"""PPO from human feedback: actor, critic, reference and reward model, all of the same family."""
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Model

SIZE = dict(n_embd=3072, n_layer=8, n_head=24, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.value = GPT2Model(GPT2Config(**SIZE)), torch.nn.Linear(3072, 1)

    def forward(self, ids):
        return self.value(self.trunk(ids).last_hidden_state).squeeze(-1)


def logprob(model, ids):
    return F.cross_entropy(model(ids).logits[:, :-1].mT, ids[:, 1:], reduction="none").neg()


def frozen(model):
    return model.eval().requires_grad_(False)


class PPO:
    def __init__(self, device):
        with torch.device(device):
            self.actor, self.critic = GPT2LMHeadModel(GPT2Config(**SIZE)), Scorer()
            self.reference, self.reward = frozen(GPT2LMHeadModel(GPT2Config(**SIZE))), frozen(Scorer())
        self.actor.gradient_checkpointing_enable()
        self.critic.trunk.gradient_checkpointing_enable()
        self.optim_a, self.optim_c = (torch.optim.Adam(m.parameters(), lr=1e-6, foreach=False) for m in (self.actor, self.critic))

    @torch.no_grad()
    def experience(self, ids):
        old, ref = logprob(self.actor, ids), logprob(self.reference, ids)
        value = self.critic(ids)[:, :-1]
        reward = self.reward(ids)[:, -1:] - 0.1 * (old - ref)
        return old, reward - value, reward

    def update(self, ids):
        old, advantage, target = self.experience(ids)
        ratio = (logprob(self.actor, ids) - old).exp()
        (-torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)).mean().backward()
        self.optim_a.step()
        self.optim_a.zero_grad()
        F.mse_loss(self.critic(ids)[:, :-1], target).backward()
        self.optim_c.step()
        self.optim_c.zero_grad()


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    try:
        ppo = PPO("cuda")
        for rollout in range(3):
            ppo.update(torch.full((4, 256), 50, device="cuda"))
            print(rollout, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("tune_ppo.pickle")
        raise
