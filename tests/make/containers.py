"""Writes one small snapshot in every encoding and container, and files that only look like snapshots.

    python tests/make/containers.py

Plain CPython (3.11 was used) and the package zstandard; no torch. Reads
tests/fixtures/torch-2.15.0/streams_completed.pickle, writes tests/fixtures/containers/ (every file holds
that snapshot) and tests/fixtures/refused/ (files without a snapshot).
"""

import base64
import gzip
import io
import json
import pathlib
import pickle
import zipfile

import zstandard

import tidy

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
SOURCE = FIXTURES / "torch-2.15.0" / "streams_completed.pickle"

# The page that torch >= 2.1 writes around the data (torch.cuda._memory_viz._format_viz).
PAGE = """
<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {{add_local_files}} from "https://example.org/MemoryViz.js"
const local_files = {files}
add_local_files(local_files, {kind!r})
</script>
</body>
"""
# The page of torch 2.0, which contains a drawing's numbers but no snapshot.
PAGE_2_0 = """<!DOCTYPE html>
<html><body><script type="module">
let alloc_data = {"actions": [0, 0], "elements": [{"size": 512, "info": 0}], "suffix_table": [], "string_table": ["x"], "initially_allocated": []}
</script></body></html>
"""


def html(data, kind="Active Memory Timeline"):
    data += b"\0" * (3 - len(data) % 3)
    files = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode()}])
    return PAGE.format(files=files, kind=kind).encode()


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return buffer.getvalue()


class FakeTensor:
    """Pickles by a call of a torch function, as a checkpoint's tensors do."""

    def __reduce__(self):
        return (dict, ())


def main():
    raw = SOURCE.read_bytes()
    snapshot = pickle.loads(raw)
    text = json.dumps(snapshot).encode()
    good = {f"protocol{p}.pickle": pickle.dumps(snapshot, protocol=p) for p in range(6)}
    # The Python implementation of pickle chooses other opcodes here and there than the C one.
    for protocol in (0, 2, 4):
        buffer = io.BytesIO()
        pickle._Pickler(buffer, protocol=protocol).dump(snapshot)
        good[f"pure_python_protocol{protocol}.pickle"] = buffer.getvalue()
    good |= {
        "snapshot.json": text,
        "indented.json": json.dumps(snapshot, indent=2, ensure_ascii=False).encode(),
        "bom.json": b"\xef\xbb\xbf" + text,
        "snapshot.pickle.gz": gzip.compress(raw, mtime=0),
        "two_members.pickle.gz": gzip.compress(raw[:1000], mtime=0) + gzip.compress(raw[1000:], mtime=0),
        "snapshot.json.gz": gzip.compress(text, mtime=0),
        "snapshot.pickle.zst": zstandard.ZstdCompressor(level=19, write_checksum=True).compress(raw),
        "two_frames.pickle.zst": b"".join(zstandard.ZstdCompressor().compress(part) for part in (raw[:1000], raw[1000:])),
        "deflated.zip": zipped({"readme.txt": b"not this one", "dump/snapshot.pickle": raw}),
        "stored.zip": zipped({"snapshot.pickle": raw}, zipfile.ZIP_STORED),
        "json.zip": zipped({"snapshot.json": text}),
        "page.html": html(raw),
        "page.html.gz": gzip.compress(html(raw, "Allocator State History"), mtime=0),
        "padded.pickle": raw + b"\0\0\0",
    }
    checkpoint = {"archive/data.pkl": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00.", "archive/version": b"3\n", "archive/data/0": b"\0" * 64}
    refused = {
        "empty.pickle": b"",
        "nuls.pickle": b"\0" * 4096,
        "truncated.pickle": raw[: len(raw) // 2],
        "truncated.pickle.gz": gzip.compress(raw, mtime=0)[: len(raw) // 6],
        "truncated.json": text[: len(text) // 2],
        "checkpoint.pt": zipped(checkpoint, zipfile.ZIP_STORED),
        "old_checkpoint.pt": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00.",
        "object.pickle": pickle.dumps({"segments": FakeTensor()}),
        "number.pickle": pickle.dumps(42),
        "wrong_type.pickle": pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": None, "size": 1, "stream": 0}], []]}),
        "no_action.pickle": pickle.dumps({"segments": [], "device_traces": [[{"size": 5}], []]}),
        "other_dict.pickle": pickle.dumps({"state_dict": {}, "epoch": 3}),
        "chrome_trace.json": json.dumps({"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "aten::add", "ts": 1, "dur": 2}]}).encode(),
        "other.json": b'{"hello": [1, 2, 3]}',
        "other.html": b"<!DOCTYPE html><html><body>hello</body></html>",
        "torch_2_0.html": PAGE_2_0.encode(),
        "text.txt": b"This is no snapshot.\n",
        "empty.zip": zipped({}),
        "no_snapshot.zip": zipped({"readme.txt": b"hello"}),
    }
    for folder, files in (("containers", good), ("refused", refused)):
        (FIXTURES / folder).mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (FIXTURES / folder / name).write_bytes(tidy.check_clean(data, name))
            print(f"{len(data):8} {folder}/{name}")


if __name__ == "__main__":
    main()
