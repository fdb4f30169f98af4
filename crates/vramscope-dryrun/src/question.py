# Which torch this Python would import, without importing it: one line of JSON, `null` if there is none.
import importlib.metadata, importlib.util, json, os, re, sys

spec = importlib.util.find_spec("torch")
if spec is None or not spec.origin:
    print("null")
    sys.exit()
with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as file:
    text = file.read()


def written(name):
    found = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"]+)", text, re.MULTILINE)
    return found.group(1) if found else ""


def numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)[:3]] + [0, 0, 0]


def needed(library):
    try:
        for line in importlib.metadata.requires("torch") or []:
            found = re.match(rf"nvidia-{library}-cu\d+\s*\(?==\s*([\d.]+)", line)
            if found:
                return numbers(found.group(1))
    except importlib.metadata.PackageNotFoundError:
        pass
    return numbers("")


cuda, cudnn, nccl = numbers(written("cuda")), needed("cudnn"), needed("nccl")
print(
    json.dumps(
        {
            "version": written("__version__"),
            "cuda": cuda[0] * 1000 + cuda[1] * 10,
            "cudnn": cudnn[0] * (10000 if cudnn[0] > 8 else 1000) + cudnn[1] * 100 + cudnn[2],
            "nccl": nccl[0] * 10000 + nccl[1] * 100 + nccl[2],
            "python": sys.executable,
        }
    )
)
