//! The committed files: every container contains the same snapshot, every producer's own features are read, and other files
//! are refused with their own messages.

use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::time::history::History;
use vramscope_core::encode::difference;
use vramscope_core::ids::{EventId, StringId};
use vramscope_core::model::{Action, BlockState, ContainerKind, Context, PoolId};
use vramscope_core::{ErrorKind, Snapshot};
use vramscope_synth::files::{File, fixtures, fixtures_in};

use crate::support::decoded;

fn find(folder: &str, name: &str) -> Snapshot {
    let wanted = format!("{folder}/{name}");
    let files = fixtures_in(folder);
    let file = files.iter().find(|file| file.name == wanted);
    decoded(file.expect(&wanted))
}

/// One of the files of the newest torch.
fn newest(name: &str) -> Snapshot {
    find("torch-2.15.0", name)
}

#[test]
fn every_container_holds_the_same() {
    use ContainerKind::{Gzip, Html, Json, Packed, Pickle, Zip, Zstd};
    let expected: &[(&str, &[ContainerKind])] = &[
        ("bom.json", &[Json]),
        ("deflated.zip", &[Zip, Pickle(4)]),
        ("indented.json", &[Json]),
        ("json.zip", &[Zip, Json]),
        ("packed.vram", &[Packed, Pickle(4)]),
        ("padded.pickle", &[Pickle(4)]),
        ("page.html", &[Html, Pickle(4)]),
        ("page.html.gz", &[Gzip, Html, Pickle(4)]),
        ("protocol0.pickle", &[Pickle(0)]),
        ("protocol1.pickle", &[Pickle(1)]),
        ("protocol2.pickle", &[Pickle(2)]),
        ("protocol3.pickle", &[Pickle(3)]),
        ("protocol4.pickle", &[Pickle(4)]),
        ("protocol5.pickle", &[Pickle(5)]),
        ("pure_python_protocol0.pickle", &[Pickle(0)]),
        ("pure_python_protocol2.pickle", &[Pickle(2)]),
        ("pure_python_protocol4.pickle", &[Pickle(4)]),
        ("snapshot.json", &[Json]),
        ("snapshot.json.gz", &[Gzip, Json]),
        ("snapshot.pickle.gz", &[Gzip, Pickle(4)]),
        ("snapshot.pickle.zst", &[Zstd, Pickle(4)]),
        ("stored.zip", &[Zip, Pickle(4)]),
        ("two_frames.pickle.zst", &[Zstd, Pickle(4)]),
        ("two_members.pickle.gz", &[Gzip, Pickle(4)]),
    ];
    let original = newest("streams_completed.pickle");
    let files = fixtures_in("containers");
    let names: Vec<_> = files
        .iter()
        .map(|file| file.name.trim_start_matches("containers/"))
        .collect();
    assert_eq!(
        names,
        expected.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    );
    for (file, (_, containers)) in files.iter().zip(expected) {
        let snapshot = decoded(file);
        // Protocols 0 and 1 do not say which they are.
        let same = snapshot.source.containers == *containers
            || matches!(containers, [Pickle(1)]) && snapshot.source.containers == [Pickle(0)];
        assert!(same, "{}: {:?}", file.name, snapshot.source.containers);
        assert_eq!(
            snapshot.source.file_bytes,
            file.bytes.len() as u64,
            "{}",
            file.name
        );
        assert_eq!(difference(&snapshot, &original), None, "{}", file.name);
        assert_eq!(snapshot.warnings, original.warnings, "{}", file.name);
        assert_eq!(snapshot.keys, original.keys, "{}", file.name);
    }
}

#[test]
fn what_is_no_snapshot_is_refused() {
    let mut report = String::new();
    for file in fixtures_in("refused") {
        let name = file.name.trim_start_matches("refused/").to_owned();
        let error = match vramscope_core::decode(&file.bytes[..]) {
            Ok(_) => panic!("{name} was accepted"),
            Err(error) => error,
        };
        assert!(!error.advice().is_empty());
        report += &format!("{name}: {error}\n");
        let is_expected = match name.as_str() {
            "empty.pickle" => error.kind == ErrorKind::Empty,
            name if name.starts_with("truncated") => matches!(error.kind, ErrorKind::Truncated(_)),
            "text.txt" => error.kind == ErrorKind::UnknownFormat,
            "object.pickle" => matches!(
                error.kind,
                ErrorKind::ForbiddenOpcode { .. } | ErrorKind::NotASnapshot(_)
            ),
            "no_action.pickle" => error.to_string().contains("device_traces") && error.offset > 0,
            "wrong_type.pickle" => error.path == "device_traces[0][0].addr" && error.offset > 0,
            "checkpoint.pt" | "old_checkpoint.pt" | "chrome_trace.json" | "nuls.pickle"
            | "other.html" | "torch_2_0.html" => matches!(error.kind, ErrorKind::NotASnapshot(_)),
            "empty.zip" | "no_snapshot.zip" => {
                matches!(error.kind, ErrorKind::ArchiveWithout { .. })
            }
            _ => matches!(
                error.kind,
                ErrorKind::WrongShape(_) | ErrorKind::UnknownFormat | ErrorKind::NotASnapshot(_)
            ),
        };
        assert!(is_expected, "{name}: {:?}: {error}", error.kind);
    }
    print!("{report}");
}

#[test]
fn ascend_is_told_from_the_frames() {
    let of_file = |file: &str| {
        let text = format!(
            r#"{{"segments": [], "device_traces": [[{{"action": "alloc", "addr": 4096, "size": 512, "stream": 0,
            "frames": [{{"name": "f", "filename": "{file}", "line": 3}}]}}]]}}"#
        );
        vramscope_core::decode(text.as_bytes()).unwrap()
    };
    let ascend = of_file("/opt/venv/lib/python3/site-packages/torch_npu/npu/utils.py");
    assert_eq!(ascend.producer.name, "torch_npu (Ascend)");
    assert_eq!(ascend.device_title(0), "device 0 (NPU)");
    let facts = vramscope_core::analysis::report::facts::facts(&Recording::of(ascend));
    let advice = facts.iter().map(|fact| fact.advice.as_str());
    assert!(
        advice
            .clone()
            .any(|advice| advice.contains("torch.npu.memory"))
    );
    assert!(!advice.clone().any(|advice| advice.contains("torch.cuda")));
    assert_eq!(
        of_file("/home/user/my_torch_npu.py").device_title(0),
        "device 0"
    );
}

#[test]
fn the_producer_is_told_from_the_keys() {
    // Folder, and the possible producers of its files: keys do not change with every version.
    let expected = [
        ("torch-2.0.1", "torch 2.0"),
        ("torch-2.1.2", "torch 2.1"),
        ("torch-2.2.2", "torch 2.2"),
        ("torch-2.3.1", "torch 2.3"),
        ("torch-2.5.1", "torch 2.5"),
        ("torch-2.8.0", "torch 2.8"),
        ("torch-2.10.0", "torch 2.10"),
        ("torch-2.12.0", "torch 2.12"),
    ];
    for (folder, expected) in expected {
        let snapshot = find(folder, "recorded_late.pickle");
        assert!(
            snapshot.producer.name.starts_with(expected),
            "{folder}: {:?}",
            snapshot.producer
        );
    }
    assert_eq!(
        newest("training.pickle").producer.name,
        "torch 2.14 or newer"
    );
    assert!(
        newest("profile_to_snapshot.pickle")
            .producer
            .name
            .contains("_profile_to_snapshot")
    );
    assert!(
        newest("memory_snapshot_list.pickle")
            .producer
            .name
            .contains("memory_snapshot")
    );
    assert!(find("legacy", "xpu.pickle").producer.name.contains("xpu"));
    assert!(
        find("legacy", "torch_1_13.pickle")
            .producer
            .name
            .contains("1.13")
    );
    assert!(
        find("legacy", "torch_2_0.pickle")
            .producer
            .name
            .contains("2.0")
    );
}

#[test]
fn genuine_files_break_no_rule() {
    for file in fixtures()
        .iter()
        .filter(|file| file.name.starts_with("torch-"))
    {
        let warnings = decoded(file).warnings;
        assert_eq!(warnings.list(), [], "{}", file.name);
    }
}

fn actions(snapshot: &Snapshot, action: Action) -> Vec<EventId> {
    let rows = (0..snapshot.events.len()).map(EventId::from_index);
    rows.filter(|row| snapshot.events.action[row.index()] == action)
        .collect()
}

fn contexts(snapshot: &Snapshot, events: &[EventId]) -> Vec<Context> {
    events
        .iter()
        .map(|event| {
            *snapshot
                .contexts
                .get(snapshot.events.context[event.index()])
        })
        .collect()
}

fn text(snapshot: &Snapshot, id: Option<StringId>) -> &str {
    id.map_or("(none)", |id| snapshot.strings.get(id))
}

#[test]
fn pinned_host_memory() {
    let snapshot = newest("pinned.pickle");
    assert_eq!(
        (snapshot.host_segments.len(), snapshot.host_trace.len()),
        (7, 18)
    );
    assert!(
        snapshot
            .host_segments
            .rows
            .iter()
            .all(|segment| segment.device == -1 && segment.blocks.len() == 1)
    );
    assert_eq!(snapshot.devices(), [0]);
    assert_eq!(History::of(&snapshot, 0).allocations.len(), 1);
}

#[test]
fn annotations_and_metadata() {
    let snapshot = newest("annotated.pickle");
    let notes = contexts(&snapshot, &actions(&snapshot, Action::Annotate));
    let notes: Vec<_> = notes
        .iter()
        .map(|context| text(&snapshot, context.user_metadata))
        .collect();
    assert_eq!(notes, ["packed into the graph", "a view", "again"]);
    let allocs = contexts(&snapshot, &actions(&snapshot, Action::Alloc));
    let allocs: Vec<_> = allocs
        .iter()
        .map(|context| text(&snapshot, context.user_metadata))
        .collect();
    assert_eq!(
        allocs,
        ["", r#"{"phase":"forward","layer":3}"#, "step; two"]
    );
    let names: Vec<_> = snapshot
        .annotations
        .rows
        .iter()
        .map(|row| snapshot.strings.get(row.name))
        .collect();
    assert_eq!(
        names,
        ["## forward ##", "inner é", "inner é", "## forward ##"]
    );
    let history = History::of(&snapshot, 0);
    let of_notes: Vec<_> = actions(&snapshot, Action::Annotate)
        .iter()
        .map(|event| history.allocation_of_event[event.index()])
        .collect();
    assert_eq!(of_notes, [0, 1, 0]);
}

#[test]
fn pools_streams_and_graphs() {
    let snapshot = newest("private_pools.pickle");
    assert!(
        snapshot
            .segments
            .rows
            .iter()
            .any(|segment| segment.pool == Some(PoolId(0, 1)))
    );
    let allocs = contexts(&snapshot, &actions(&snapshot, Action::Alloc));
    assert_eq!(
        allocs
            .iter()
            .filter(|context| context.pool == Some(PoolId(0, 1)))
            .count(),
        4
    );
    let snapshot = newest("cuda_graph.pickle");
    assert!(
        snapshot
            .segments
            .rows
            .iter()
            .any(|segment| segment.pool == Some(PoolId(1, 0)))
    );
    let snapshot = newest("streams_pending.pickle");
    let pending = snapshot
        .blocks
        .rows
        .iter()
        .filter(|block| block.state == BlockState::ActivePendingFree);
    assert_eq!(pending.count(), 5);
    let history = History::of(&snapshot, 0);
    let table = &history.allocations;
    let pending = (0..table.len()).filter(|&row| table.free_requested[row] < table.died[row]);
    assert!(pending.count() >= 5);
}

#[test]
fn out_of_memory_and_unusual_stacks() {
    for name in ["oom_after.pickle", "oom_observer.pickle"] {
        let snapshot = newest(name);
        let failures = actions(&snapshot, Action::Oom);
        assert_eq!(failures.len(), 1, "{name}");
        let event = snapshot.events.get(failures[0]);
        assert!(
            event.addr < 128 << 20 && event.size > event.addr,
            "{name}: free bytes and request"
        );
    }
    let snapshot = newest("forward_frames.pickle");
    let has_lines =
        |context: &Context| snapshot.contexts.forward_lines(context.forward_lines).len() == 4;
    assert!(snapshot.contexts.rows().iter().any(has_lines));
    let snapshot = newest("fx_frames.pickle");
    let rows = (0..snapshot.frames.len()).map(vramscope_core::ids::FrameId::from_index);
    let ops: Vec<_> = rows
        .filter_map(|row| snapshot.frames.get(row).fx)
        .map(|fx| snapshot.strings.get(fx.op))
        .collect();
    assert!(ops.contains(&"call_function"));
    let snapshot = newest("stacks_all.pickle");
    assert!(snapshot.strings.find("torch::unwind::unwind()").is_some());
    let snapshot = newest("compiled.pickle");
    assert!(
        snapshot
            .strings
            .find("Torch-Compiled Region: 0/0")
            .is_some()
    );
}

#[test]
fn signed_and_unsigned_addresses_are_the_same() {
    let (signed, unsigned) = (
        find("legacy", "signed_addresses.pickle"),
        find("legacy", "xpu.pickle"),
    );
    assert_eq!(difference(&signed, &unsigned), None);
    assert_eq!(unsigned.segments.rows[0].address, 0xffff_8000_0000_0000);
}

#[test]
fn tenants_of_torch_1_13() {
    let snapshot = find("legacy", "torch_1_13.pickle");
    let blocks = &snapshot.blocks;
    let requested: Vec<_> = blocks
        .rows
        .iter()
        .map(|block| blocks.requested_bytes(block))
        .collect();
    assert_eq!(requested[..2], [1000, 900]);
    assert_eq!(blocks.tenants(&blocks.rows[0]).len(), 3);
    assert_eq!(blocks.rows[1].address, blocks.rows[0].address + 2048);
    let history = History::of(&snapshot, 0);
    assert_eq!(history.active_bytes, [1900]);
}

#[test]
fn unknown_things_are_kept_or_counted() {
    let snapshot = find("legacy", "tolerant.pickle");
    let unknown: Vec<_> = (0..snapshot.events.len())
        .map(EventId::from_index)
        .filter(|event| matches!(snapshot.events.action[event.index()], Action::Other(_)))
        .map(|event| snapshot.action_name(event).to_owned())
        .collect();
    assert!(
        unknown.starts_with(&["workspace_snapshot".to_owned(), "user_defined".to_owned()]),
        "{unknown:?}"
    );
    assert!(
        snapshot.warnings.list().len() >= 4,
        "{:?}",
        snapshot.warnings
    );
    assert_eq!(snapshot.blocks.rows[1].state, BlockState::ActivePendingFree);
}

#[test]
fn fixtures_are_small_and_name_no_machine() {
    let files: Vec<File> = fixtures();
    let total: usize = files.iter().map(|file| file.bytes.len()).sum();
    assert!(total < 3 << 20, "{total} bytes");
    for file in &files {
        for place in ["/root/", "/tmp/", "/home/runner"] {
            let found = file
                .bytes
                .windows(place.len())
                .any(|window| window == place.as_bytes());
            assert!(!found, "{} names {place}", file.name);
        }
    }
}
