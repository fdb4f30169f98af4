"""Reads a profile with Google's protobuf: pprof.py PROGRAM SNAPSHOT PROFILE.

Sums of memory in use must equal `vramscope peak --json`, and all references must be valid.
"""

import gzip
import pathlib
import re
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from figures import check, peaks

TYPES = {"int64": 3, "uint64": 4, "bool": 8, "string": 9}


def profile_class(text):
    """The class of `Profile`, made from the text of a .proto without nested messages."""
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.DOTALL):
        message = file.message_type.add(name=name)
        for repeated, kind, field, number in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body):
            added = message.field.add(name=field, number=int(number), label=3 if repeated else 1)
            if kind in TYPES:
                added.type = TYPES[kind]
            else:
                added.type, added.type_name = 11, f".perftools.profiles.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


def main(program, snapshot, path):
    text = pathlib.Path(__file__).with_name("profile.proto").read_text(encoding="utf-8")
    profile = profile_class(text)()
    profile.ParseFromString(gzip.decompress(pathlib.Path(path).read_bytes()))
    strings = profile.string_table
    check("first string", strings[0], "")
    check("distinct strings", len(set(strings)), len(strings))
    types = [(strings[kind.type], strings[kind.unit]) for kind in profile.sample_type]
    expected = [("inuse_objects", "count"), ("inuse_space", "bytes"), ("alloc_objects", "count"), ("alloc_space", "bytes")]
    check("sample types", types, expected)
    check("default", strings[profile.default_sample_type], "inuse_space")
    functions = {function.id: strings[function.name] for function in profile.function}
    locations = {location.id: [functions[line.function_id] for line in location.line] for location in profile.location}
    check("functions", len(functions), len(profile.function))
    check("locations", len(locations), len(profile.location))
    mappings = {mapping.id for mapping in profile.mapping}
    assert all(location.mapping_id in mappings for location in profile.location)
    sums = {}
    for sample in profile.sample:
        assert sample.location_id and all(locations[location] for location in sample.location_id)
        labels = {strings[label.key]: strings[label.str] or label.num for label in sample.label}
        of_device = sums.setdefault(labels["device"], [0, 0, 0, 0])
        for place, value in enumerate(sample.value):
            of_device[place] += value
    for device, part in peaks(program, snapshot).items():
        count = sum(row["allocations"] for row in part["live"])
        found = sums.get(device, [0, 0, 0, 0])
        check(f"in use on device {device}", found[:2], [count, part["peak_bytes"]])
        assert found[2] >= found[0] and found[3] >= found[1]


main(*sys.argv[1:])
