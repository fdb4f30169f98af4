//! The invariants on random snapshots: programs run on the simulated allocator, and nonsense.

use proptest::collection::vec;
use proptest::prelude::*;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::replay::Replay;
use vramscope_core::decode;
use vramscope_core::encode::difference;
use vramscope_synth::pickle::Dialect;
use vramscope_synth::random::{config, damaged, nonsense, run, steps};
use vramscope_synth::snapshot as synth;
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::laws::{assert_chunked_is_whole, check_all};

fn producers() -> impl Strategy<Value = WriteOptions> {
    let protocol = 0..=5_u8;
    (proptest::sample::select(&Producer::ALL[..]), protocol)
        .prop_map(|(producer, protocol)| WriteOptions::new(producer).protocol(protocol))
}

#[test]
fn laws_hold_for_damaged_files() {
    for (index, (segments, trace)) in damaged().into_iter().enumerate() {
        let model = synth::Snapshot {
            segments,
            device_traces: vec![trace],
            ..synth::Snapshot::default()
        };
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        check_all(&format!("damaged {index}"), &decode(&bytes[..]).unwrap());
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn laws_hold_for_random_programs(steps in steps(), expandable: bool, forget in 0..40_usize) {
        let model = run(&steps, expandable, forget);
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        let snapshot = decode(&bytes[..]).unwrap();
        prop_assert_eq!(snapshot.warnings.list(), &[]);
        check_all("random program", &snapshot);
        let history = History::of(&snapshot, 0);
        let replay = Replay::of(&snapshot, &history);
        prop_assert_eq!(replay.mismatched_segment_events, 0);
        // The active bytes of the simulated allocator equal the live bytes at the end.
        let active = model.segments.iter().flat_map(|segment| &segment.blocks).filter(|block| block.state.is_active());
        let requested: u64 = active.map(|block| block.requested_size).sum();
        prop_assert_eq!(history.active_bytes.last(), Some(&requested));
        if forget == 0 {
            prop_assert_eq!(replay.segments_at(0), vec![]);
            prop_assert_eq!(history.active_bytes[0], 0);
        }
    }

    #[test]
    fn laws_hold_for_nonsense(model in nonsense(), options in producers()) {
        let bytes = model.to_pickle(&options);
        if let Ok(snapshot) = decode(&bytes[..]) {
            check_all("nonsense", &snapshot);
        }
    }

    #[test]
    fn random_pieces_are_the_whole(steps in steps(), sizes in vec(1..300_usize, 1..5), options in producers()) {
        let bytes = run(&steps, false, 0).to_pickle(&options);
        assert_chunked_is_whole("random program", &bytes, &sizes);
    }

    /// The same program in every protocol and by both picklers is the same snapshot.
    #[test]
    fn protocols_agree(steps in steps()) {
        let model = run(&steps, false, 0);
        let options = WriteOptions::new(Producer::Cpp);
        let cpp = decode(&model.to_pickle(&options)[..]).unwrap();
        for protocol in 0..=5 {
            let python = WriteOptions { dialect: Dialect::Python(protocol), ..options };
            let python = decode(&model.to_pickle(&python)[..]).unwrap();
            prop_assert_eq!(difference(&cpp, &python), None);
        }
    }
}
