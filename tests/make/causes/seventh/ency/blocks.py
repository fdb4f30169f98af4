import torch


class BlockPool:
    """Keys and values of all requests in pages of 32 tokens, allotted once with what the weights have left of the card."""

    def __init__(self, layers, heads, head_dim, share=0.92, page=32):
        free, total = torch.cuda.mem_get_info()
        bytes_per_page = 2 * page * heads * head_dim * 2
        room = int(total * share) - (total - free)
        self.page, self.pages = page, room // (bytes_per_page * layers)
        self.kv = [torch.zeros(2, self.pages, page, heads, head_dim, dtype=torch.bfloat16, device="cuda") for _ in range(layers)]
        self.free = list(range(self.pages))

    def take(self, tokens):
        need = -(-tokens // self.page)
        taken, self.free = self.free[:need], self.free[need:]
        return torch.tensor(taken, device="cuda")

    def give(self, pages):
        self.free.extend(pages.tolist())
