"""Prepares a snapshot for committing: hides the names of the machine and its user, and cuts it small.

Works on the plain Python values that `pickle.load` gives. Sharing matters to the decoder (a genuine
snapshot refers to the same frame dict and the same stack list thousands of times), so every change is
made once per object, in place, and never copies.
"""

import getpass
import os
import re
import sys

# (pattern, replacement), applied in order to every file name and every text.
_PLACES = [
    (re.compile(r".*?/site-packages/"), "/opt/venv/lib/python3/site-packages/"),
    (re.compile(r".*?/lib/python3\.\d+/(?!site-packages)"), "/usr/lib/python3/"),
    (re.compile(r".*?/python-build[^/]*/Python-[^/]*/"), "/usr/src/python3/"),
    (re.compile(r"/(?:home|Users)/[^/]+/"), "/home/user/"),
    (re.compile(r"/root/"), "/home/user/"),
    (re.compile(r"/tmp/[^\s:]*/(?=[^/]+\.py)"), "/home/user/"),
    (re.compile(r"0x[0-9a-f]{8,}"), "0x7f0000000000"),
]
# Words that must not be left in any text. Names below four letters would match by chance.
_OWN = {
    word
    for word in (getpass.getuser(), os.uname().nodename, os.path.basename(os.path.expanduser("~")))
    if len(word) >= 4 and word not in ("root", "user", "localhost")
}


def hide_text(text, script_dir):
    """The text without the folders of this machine."""
    text = text.replace(script_dir.rstrip("/") + "/", "/home/user/")
    for pattern, replacement in _PLACES:
        text = pattern.sub(replacement, text)
    for word in _OWN:
        text = text.replace(word, "user")
    return text


def hide_places(snapshot, script_dir):
    """Replaces personal folders, host and user names in every text below `snapshot`, in place."""
    return replace_texts(snapshot, lambda text: hide_text(text, script_dir))


def replace_texts(snapshot, replacement):
    """Puts `replacement(text)` for every text below `snapshot`, in place."""
    cache = {}

    def replaced(text):
        if text not in cache:
            # A new string each time: one object per distinct text would share more than the producer does.
            cache[text] = replacement(text)
        return cache[text] if cache[text] != text else text

    seen = set()
    todo = [snapshot]
    while todo:
        value = todo.pop()
        if id(value) in seen or not isinstance(value, (dict, list)):
            continue
        seen.add(id(value))
        places = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in list(places):
            if isinstance(item, str):
                value[key] = replaced(item)
            else:
                todo.append(item)
    return snapshot


def cut_trace(snapshot, keep, device=0):
    """Keeps the newest `keep` events of a device, as a smaller ring buffer would."""
    trace = snapshot["device_traces"][device]
    del trace[: max(0, len(trace) - keep)]
    return snapshot


def cut_stacks(snapshot, innermost, outermost):
    """Shortens stacks to their innermost and outermost frames, once per list object."""
    for frames in stacks_of(snapshot):
        if len(frames) > innermost + outermost:
            del frames[innermost : len(frames) - outermost]
    return snapshot


def leave_out_frames(snapshot, folder):
    """Takes the frames of a folder's files out of all stacks, once per list object."""
    for frames in stacks_of(snapshot):
        frames[:] = [frame for frame in frames if not frame["filename"].startswith(folder + "/")]
    return snapshot


def stacks_of(snapshot):
    """Each stack of a snapshot; those that several owners share come once."""
    owners = [block for segment in snapshot.get("segments", []) + snapshot.get("host_segments", []) for block in [segment, *segment["blocks"]]]
    owners += [entry for trace in [*snapshot.get("device_traces", []), snapshot.get("host_traces", [])] for entry in trace]
    stacks = [owner["frames"] for owner in owners if isinstance(owner.get("frames"), list)]
    return {id(frames): frames for frames in stacks}.values()


def check_clean(data, what):
    """Stops the script if a file's content still names this machine or its user."""
    for word in _OWN | {"/root/", "/tmp/"}:
        if word.encode() in data:
            sys.exit(f"{what}: still contains {word!r}")
    return data
