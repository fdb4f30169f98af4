//! The writer held against what is known of each producer, read back by CPython.

use super::*;
use crate::pickle::Dialect;
use crate::pickle::tests::python;
use crate::text;

const TEXT: &str = r#"
    segment 0xffffff0000000000 2MiB small  main.py:3:f
    alloc a 512 at 0xffffff0000000000 meta=m internal=i forward="x" category=input main.py:1:f
    begin s
    oom 2MiB free=77
"#;

/// Prints the keys of a snapshot's parts, one part a line.
const KEYS: &str = r"
import sys, pickle
s = pickle.load(sys.stdin.buffer)
if isinstance(s, list):
    s = {'segments': s}
else:
    print('top', *s)
segment = s['segments'][0]
print('segment', *segment)
print('block', *segment['blocks'][0])
trace = s.get('device_traces', [[]])[0]
if trace:
    alloc = next(e for e in trace if e['action'] == 'alloc')
    print('alloc', *alloc)
    print('oom', *[e for e in trace if e['action'] == 'oom'][0] if len(trace) > 2 else '')
    print('frame', *alloc['frames'][0])
print('address', segment['address'], end='')
";

fn keys(producer: Producer) -> Option<Vec<String>> {
    let mut snapshot = text::snapshot(TEXT).unwrap();
    if producer == Producer::Profile {
        snapshot = snapshot.as_profile();
    }
    let printed = python(KEYS, &snapshot.to_pickle(&WriteOptions::new(producer)))?;
    Some(printed.lines().map(str::to_owned).collect())
}

const SEGMENT_2_1: &str = "segment device address total_size allocated_size active_size \
    requested_size stream segment_type segment_pool_id is_expandable blocks frames";
const SIGNED: &str = "address -1099511627776";
const UNSIGNED: &str = "address 18446742974197923840";

#[test]
fn torch_2_15_from_python() {
    let Some(keys) = keys(Producer::Python(2, 15)) else {
        return;
    };
    assert_eq!(
        keys,
        [
            "top segments device_traces allocator_settings external_annotations host_segments \
         host_traces",
            SEGMENT_2_1,
            "block address size requested_size state frames",
            "alloc action addr size stream time_us compile_context user_metadata internal_metadata \
         pool_id frames forward_frames",
            "oom action device_free size stream time_us compile_context user_metadata pool_id",
            "frame name filename line",
            UNSIGNED,
        ]
    );
}

#[test]
fn torch_2_15_from_cpp() {
    let Some(keys) = keys(Producer::Cpp) else {
        return;
    };
    let expected = "alloc action addr size stream compile_context user_metadata \
                    internal_metadata time_us pool_id frames forward_frames";
    assert_eq!(keys[3], expected);
    assert!(keys[1].ends_with("is_expandable frames blocks"));
    assert_eq!(keys[6], SIGNED);
}

#[test]
fn torch_2_0_and_1_13_have_histories() {
    let Some(old) = keys(Producer::Python(2, 0)) else {
        return;
    };
    assert_eq!(
        old,
        [
            "top segments device_traces",
            "segment device address total_size allocated_size active_size requested_size stream \
         segment_type blocks",
            "block size requested_size state history",
            "alloc action addr size stream frames",
            "oom action device_free size stream",
            "frame filename name line",
            SIGNED,
        ]
    );
    let older = keys(Producer::Python(1, 13)).unwrap();
    assert_eq!(
        older,
        [
            "segment device address total_size allocated_size active_size stream segment_type blocks",
            "block size state history",
            SIGNED,
        ]
    );
}

#[test]
fn versions_between_add_keys_one_by_one() {
    let entry = |minor| keys(Producer::Python(2, minor)).map(|keys| keys[3].clone());
    let steps = [
        (1, "alloc action addr size stream frames"),
        (2, "alloc action addr size stream time_us frames"),
        (
            8,
            "alloc action addr size stream time_us compile_context frames",
        ),
        (
            10,
            "alloc action addr size stream time_us compile_context user_metadata frames",
        ),
        (
            12,
            "alloc action addr size stream time_us compile_context user_metadata pool_id frames \
              forward_frames",
        ),
    ];
    for (minor, expected) in steps {
        let Some(found) = entry(minor) else { return };
        assert_eq!(found, expected, "2.{minor}");
    }
}

#[test]
fn xpu_and_profile() {
    let Some(xpu) = keys(Producer::Xpu) else {
        return;
    };
    assert_eq!(xpu[0], "top segments device_traces allocator_settings");
    assert_eq!(xpu[3], "alloc action addr size stream time_us frames");
    let profile = keys(Producer::Profile).unwrap();
    assert_eq!(
        profile,
        [
            "top device_traces segments",
            "segment device address total_size stream blocks",
            "block size state requested_size frames",
            "alloc action addr size stream frames category",
            "oom",
            "frame filename line name",
            UNSIGNED,
        ]
    );
}

#[test]
fn python_would_write_the_same_bytes() {
    const REPICKLE: &str = "import sys, pickle; d = sys.stdin.buffer.read(); \
        print(pickle.dumps(pickle.loads(d), d[1]) == d, end='')";
    let snapshot = text::snapshot(crate::fixtures::STORY).unwrap();
    for protocol in [2, 4] {
        let options = WriteOptions::new(Producer::Python(2, 15)).protocol(protocol);
        let Some(same) = python(REPICKLE, &snapshot.to_pickle(&options)) else {
            return;
        };
        assert_eq!(same, "True", "protocol {protocol}");
    }
}

/// The reference file was written by torch itself on a machine without a GPU.
#[test]
fn an_empty_cpp_snapshot_equals_torchs_own() {
    let shared = std::env::var_os("VRAMSCOPE_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        Into::into,
    );
    let path =
        shared.join("reference/generated/cpp__memory_snapshot_pickled__torch2.15_empty.pickle");
    let Ok(expected) = std::fs::read(&path) else {
        println!("skipped: no {}", path.display());
        return;
    };
    let options = WriteOptions::new(Producer::Cpp);
    assert_eq!(options.dialect, Dialect::Cpp);
    assert_eq!(Snapshot::default().to_pickle(&options), expected);
}
