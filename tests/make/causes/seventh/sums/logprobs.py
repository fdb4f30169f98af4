import torch


def token_logprobs(model, tokens, prompt, temperature=0.9):
    """Log-probability of each answer token under the model."""
    logits = model(input_ids=tokens).logits[:, prompt - 1:-1]
    logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
    return logprobs.gather(-1, tokens[:, prompt:, None]).squeeze(-1)
