import torch


def render(splats, seen, tiles=900):
    """Not the real rasteriser, but the same tensors: per Gaussian in view, then per tile."""
    v = {k: t[:seen] for k, t in splats.values.items()}
    q = torch.nn.functional.normalize(v["turn"], dim=-1)
    cov = torch.einsum("ni,nj->nij", q[:, :3], q[:, :3]) * v["scale"].exp()[:, :, None]
    colour = torch.sigmoid(v["dc"][:, 0] + v["rest"].mean(1))
    depth = (v["place"] * cov.sum(-1)).sum(-1)
    weight = torch.sigmoid(v["opacity"][:, 0]) * torch.exp(-depth)
    per = seen // tiles
    return (weight[: per * tiles, None] * colour[: per * tiles]).view(tiles, per, 3).sum(1)
