"""Lets `from_pretrained` of transformers and diffusers load weights that do not exist.

A dry run only needs their names, shapes and types. If a folder (or the hub's cache) has a configuration but no weights, a
file with a header and a hole after it takes their place: it is as long as the weights but takes no space. The header is
derived from the configuration's model, or comes from a file of weights that is cut off after it. The rest is the library's
own loading.
"""

import copy
import fnmatch
import functools
import glob
import json
import os
import sys
import tempfile

# Systems refuse to map a file that is longer than their memory.
SHARD_BYTES = 2 << 30
# What the libraries load.
WEIGHTS = ("*.safetensors", "*.bin", "*.h5", "*.msgpack", "*.ckpt", "*.pt", "*.pth")
TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


def prepare(module):
    """Provides missing weights before each model's own way of loading."""
    is_diffusers = module.__name__.startswith("diffusers")
    base = module.ModelMixin if is_diffusers else module.PreTrainedModel
    of_configuration = of_diffusers if is_diffusers else of_transformers
    name = "diffusion_pytorch_model" if is_diffusers else "model"
    plain = base.__dict__["from_pretrained"].__func__

    @functools.wraps(plain)
    def from_pretrained(cls, pretrained_model_name_or_path=None, *arguments, **named):
        path = pretrained_model_name_or_path
        is_elsewhere = any(named.get(key) for key in ("state_dict", "gguf_file", "from_tf", "from_flax"))
        if path is not None and not is_elsewhere:
            model = functools.partial(of_configuration, cls, arguments, named)
            path = with_weights(os.fspath(path), name, model, named)
        return plain(cls, path, *arguments, **named)

    base.from_pretrained = classmethod(from_pretrained)


def with_weights(path, name, model, named):
    """The same folder, or one with weights in it."""
    below = named.get("subfolder") or ""
    folder = os.path.join(path, below) if os.path.isdir(path) else cached(path, below, named)
    short = [file for file in glob.glob(os.path.join(folder, "*.safetensors")) if header(file)[1]]
    if not short and has_weights(folder):
        return path
    made = tempfile.mkdtemp(dir=os.path.dirname(os.environ["VRAMSCOPE_DRY_RUN"]), prefix="weights-")
    inside = os.path.join(made, below)
    os.makedirs(inside, exist_ok=True)
    for file in os.listdir(folder):
        is_weight = any(fnmatch.fnmatch(file, pattern) for pattern in WEIGHTS) or file.endswith(".index.json")
        if not is_weight or short and not os.path.join(folder, file) in short:
            os.symlink(os.path.abspath(os.path.join(folder, file)), os.path.join(inside, file))
    if short:
        for file in short:
            write(os.path.join(inside, os.path.basename(file)), header(file)[0])
        found = "no more than headers of weights"
    else:
        variant = f".{named['variant']}" if named.get("variant") else ""
        shards, files = shards_of(*model(folder)), {}
        for number, entries in enumerate(shards, 1):
            file = f"{name}-{number:05}-of-{len(shards):05}.safetensors"
            files.update(dict.fromkeys(entries, file))
            text = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
            write(os.path.join(inside, file), text + b" " * (-len(text) % 8))
        with open(os.path.join(inside, f"{name}.safetensors.index{variant}.json"), "w") as index:
            json.dump({"metadata": {}, "weight_map": files}, index)
        found = "no weights"
    print(f"vramscope dry-run: {path} has {found}: empty ones take their place", file=sys.stderr)
    return made


def cached(name, below, named):
    """The folder of a model in the hub's cache, even if that has only its configuration."""
    from huggingface_hub import try_to_load_from_cache

    file = "/".join(filter(None, [below, "config.json"]))
    found = try_to_load_from_cache(name, file, cache_dir=named.get("cache_dir"), revision=named.get("revision"))
    if not isinstance(found, str):
        raise OSError(f"vramscope dry-run downloads nothing, and {name} is not in the cache: hf download {name} {file} (its weights are not needed)")
    return os.path.dirname(found)


def has_weights(folder):
    """Whether a folder has all of its weights."""
    for file in glob.glob(os.path.join(folder, "*.index.json")):
        with open(file) as index:
            shards = set(json.load(index).get("weight_map", {}).values())
        return all(os.path.exists(os.path.join(folder, shard)) for shard in shards)
    return any(glob.glob(os.path.join(folder, pattern)) for pattern in WEIGHTS)


def of_transformers(cls, arguments, named, folder):
    """The model on the meta device, which has no memory, and the type of its weights."""
    import torch

    config = named.get("config")
    if config is None or isinstance(config, (str, os.PathLike)):
        config = cls.config_class.from_pretrained(config or folder)
    refuse_quantised(getattr(config, "quantization_config", None), folder)
    with torch.device("meta"):
        model = cls(copy.deepcopy(config), *arguments)
    told = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)
    return model, told if isinstance(told, torch.dtype) else getattr(torch, told or "float32")


def of_diffusers(cls, _, named, folder):
    import torch

    config = cls.load_config(folder)
    refuse_quantised(config.get("quantization_config"), folder)
    with torch.device("meta"):
        model = cls.from_config(config)
    told = named.get("torch_dtype") or named.get("dtype")
    return model, told if isinstance(told, torch.dtype) else torch.float32


def refuse_quantised(quantised, folder):
    """The content of a quantised file is not in the configuration."""
    if quantised is not None:
        raise OSError(f"vramscope dry-run: the weights of {folder} are quantised: what their files hold is told by their headers alone (the book says how to get them)")


def shards_of(model, dtype):
    """The entries of files with this model's weights; weights shared by two names occur once."""
    shards, end, seen = [{}], 0, set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        own = dtype if tensor.is_floating_point() else tensor.dtype
        size = tensor.numel() * own.itemsize
        if shards[-1] and end + size > SHARD_BYTES:
            shards.append({})
            end = 0
        shards[-1][name] = {"dtype": TYPES[str(own).split(".")[-1]], "shape": list(tensor.shape), "data_offsets": [end, end + size]}
        end += size
    return shards


def end(text):
    """How many bytes of weights follow a header."""
    entries = json.loads(text).items()
    return max((entry["data_offsets"][1] for name, entry in entries if name != "__metadata__"), default=0)


def header(file):
    """The header of a file of weights, and whether the file ends before they do."""
    with open(file, "rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        text = opened.read(length)
    return text, os.path.getsize(file) < 8 + length + end(text)


def write(file, text):
    """A file with this header and nothing but a hole after it."""
    with open(file, "wb") as opened:
        opened.write(len(text).to_bytes(8, "little") + text)
        opened.truncate(8 + len(text) + end(text))
