//! Small stories in the text language, and what must come of them.

use super::*;
use crate::snapshot::{Action, BlockState, StackRef};

/// The trace of device 0 as one line per entry.
fn picture(text: &str) -> Vec<String> {
    let built = snapshot(text).unwrap();
    let entry =
        |e: &crate::snapshot::TraceEntry| format!("{:?} {:#x} {}", e.action, e.addr, e.size);
    built.device_traces[0].iter().map(entry).collect()
}

fn states(built: &Snapshot) -> Vec<(u64, BlockState)> {
    built
        .segments
        .iter()
        .flat_map(|s| &s.blocks)
        .map(|b| (b.size, b.state))
        .collect()
}

const EXAMPLE: &str = "
    device 0
    segment 0x7f0000000000 20MiB stream=0 pool=0,0
    alloc a 4MiB at 0x7f0000000000  main.py:10:train > model.py:20:forward
    alloc b 1KiB                    main.py:11:train   # the allocator makes a segment for it
    free a
    oom 1GiB free=10MiB
    snapshot
";

#[test]
fn the_example_of_the_module_doc() {
    let expected = [
        "SegmentAlloc 0x7f0000000000 20971520",
        "Alloc 0x7f0000000000 4194304",
        "SegmentAlloc 0x7f0001400000 2097152",
        "Alloc 0x7f0001400000 1024",
        "FreeRequested 0x7f0000000000 4194304",
        "FreeCompleted 0x7f0000000000 4194304",
        "Oom 0xa00000 1073741824",
        "Snapshot 0x0 1024",
    ];
    assert_eq!(picture(EXAMPLE), expected);
}

#[test]
fn stacks_are_written_outermost_first_and_shared_with_the_free() {
    let built = snapshot(EXAMPLE).unwrap();
    let trace = &built.device_traces[0];
    let shared = StackRef { list: 0, stack: 0 };
    assert_eq!(
        [trace[1].frames, trace[4].frames, trace[5].frames],
        [Some(shared); 3]
    );
    let names: Vec<_> = built.stacks.stacks[0]
        .iter()
        .map(|&f| built.stacks.frames[f as usize].name.to_string())
        .collect();
    assert_eq!(names, ["forward", "train"]);
}

#[test]
fn a_pending_free_stays_active() {
    let built = snapshot("alloc a 2MiB stream=7\nfree_requested a").unwrap();
    let pending = BlockState::ActivePendingFree;
    assert_eq!(
        states(&built),
        [(2 << 20, pending), (18 << 20, BlockState::Inactive)]
    );
    let done = snapshot("alloc a 2MiB stream=7\nfree_requested a\nalloc b 8\nfree_completed a");
    assert!(
        states(&done.unwrap())
            .iter()
            .all(|&(_, state)| state != pending)
    );
}

#[test]
fn what_was_before_the_recording() {
    let text = "unrecorded alloc old 4MiB\nalloc new 1MiB\nfree old";
    let expected = ["Alloc", "FreeRequested", "FreeCompleted"];
    let built = snapshot(text).unwrap();
    let trace = built.device_traces[0]
        .iter()
        .filter(|e| e.action != Action::SegmentAlloc);
    assert_eq!(
        trace.map(|e| format!("{:?}", e.action)).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn a_ring_state_mode_and_silence() {
    let text = "alloc a 1KiB x.py:1:f\nalloc b 1KiB x.py:2:f\nfree a\n";
    assert_eq!(picture(&format!("{text}drop first 2")).len(), 3);
    let state = snapshot(&format!("{text}mode state")).unwrap();
    assert_eq!(state.device_traces[0].len(), 1);
    assert_eq!(state.device_traces[0][0].frames, None);
    assert!(state.segments[0].blocks.iter().any(|b| b.frames.is_some()));
    let bare = snapshot(&format!("no segment events\nno times\nno frames\n{text}")).unwrap();
    assert_eq!(bare.device_traces[0].len(), 4);
    assert!(
        bare.device_traces[0]
            .iter()
            .all(|e| e.time_us.is_none() && e.frames.is_none())
    );
}

#[test]
fn devices_pools_streams_notes() {
    let text = r#"
        device 1
        alloc a 3MiB stream=0x40 pool=2,0 meta="phase: fwd" compile="Torch-Compiled Region: 0/0"
        annotate a "attention weights"
        begin "step 1"
        end "step 1"
        host alloc p 5000 data.py:3:load
        alloc c 512 forward="  File m.py, line 3|    return x" internal=mallocWithAddress category=input
    "#;
    let built = snapshot(text).unwrap();
    assert!(built.device_traces[0].is_empty());
    let trace = &built.device_traces[1];
    assert_eq!((trace[1].stream, trace[1].pool), (0x40, (2, 0)));
    assert_eq!(
        (&*trace[1].user_metadata, &*trace[2].user_metadata),
        ("phase: fwd", "attention weights")
    );
    assert_eq!(built.external_annotations.len(), 2);
    assert_eq!(built.host_segments[0].total_size, 8192);
    let last = trace.last().unwrap();
    assert_eq!(
        (last.forward_frames.len(), &*last.internal_metadata),
        (2, "mallocWithAddress")
    );
}

#[test]
fn expandable_segments_map_and_unmap() {
    let text = "
        map 0x7e0000000000 8MiB small
        alloc a 512 at 0x7e0000000000
        unmap 0x7e0000200000 2MiB
        map 0x7e0000200000 2MiB small";
    let built = snapshot(text).unwrap();
    assert_eq!(built.segments.len(), 1);
    assert!(built.segments[0].is_expandable);
    let automatic = "expandable\nalloc a 30MiB\nalloc b 30MiB\nfree b\nempty_cache";
    let expected = [
        "SegmentMap",
        "Alloc",
        "SegmentMap",
        "Alloc",
        "FreeRequested",
        "FreeCompleted",
    ];
    let picture = picture(automatic);
    let actions: Vec<_> = picture
        .iter()
        .map(|l| l.split(' ').next().unwrap())
        .collect();
    assert_eq!(actions[..6], expected);
    assert_eq!(actions[6], "SegmentUnmap");
}

#[test]
fn a_full_device_records_the_oom() {
    let text = "capacity 20MiB\nalloc a 12MiB\nalloc b 12MiB train.py:3:f\n";
    assert_eq!(picture(text).last().unwrap(), "Oom 0x800000 12582912");
}

#[test]
fn mistakes_name_their_line() {
    for (text, line, part) in [
        ("alloc a 4MiB\nfree b", 2, "not allocated"),
        ("alloc a 4MB", 1, "not a size"),
        ("\n\nfly", 3, "no command"),
        (
            "alloc a 1KiB at 0x1000\nalloc b 1KiB at 0x1000",
            2,
            "not free",
        ),
        ("alloc a 1KiB nonsense", 1, "frame"),
        ("alloc a \"1KiB", 1, "quote"),
        ("alloc", 1, "too early"),
    ] {
        let error = snapshot(text).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn phantoms_and_foreign_actions_change_nothing() {
    let text = "phantom alloc a 1KiB at 0x1000\nevent workspace_snapshot 0 7 stream=3";
    let built = snapshot(text).unwrap();
    assert!(built.segments.is_empty());
    assert_eq!(built.device_traces[0].len(), 2);
}

#[test]
fn quotes_open_where_words_begin() {
    let text = "alloc a 512 meta='{\"step\": 1}' ??:0:at::{lambda()#1}::operator'() > x.py:1:f";
    let built = snapshot(text).unwrap();
    assert_eq!(built.device_traces[0][1].user_metadata, r#"{"step": 1}"#);
    assert_eq!(built.stacks.frames[1].name, "at::{lambda()#1}::operator'()");
}
