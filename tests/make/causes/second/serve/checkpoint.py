import glob
import json
import os
import struct

from safetensors.torch import load_file


def write(model, folder, shards):
    """A checkpoint of the model's shape (sparse files: only the headers take space)."""
    os.makedirs(folder, exist_ok=True)
    names = list(model.state_dict().items())
    for n in range(shards):
        part = names[n * len(names) // shards:(n + 1) * len(names) // shards]
        header, at = {}, 0
        for name, tensor in part:
            end = at + tensor.numel() * 2
            header[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [at, end]}
            at = end
        text = json.dumps(header).encode()
        with open(f"{folder}/model-{n + 1:05}.safetensors", "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            f.truncate(8 + len(text) + at)


def load(model, folder, device):
    """Reads all shards, then fills the model, so that missing names are seen."""
    state = {}
    for path in sorted(glob.glob(f"{folder}/*.safetensors")):
        state.update(load_file(path, device=device))
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise RuntimeError(f"missing {missing}, unexpected {unexpected}")
    return model
