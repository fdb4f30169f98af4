//! What the planner finds in its copy is what there is in the file.

use vramscope_core::analysis::recording::Recording;
use vramscope_core::open::{Options, decode_packed};
use vramscope_core::{decode, vram_format};
use vramscope_protocol::views::what_if::{Answer, Found, Question, What};
use vramscope_protocol::{Extra, from_bytes};

use super::Snapshot;

const POOLS: &[u8] = include_bytes!("../../../../tests/fixtures/synth/scenario-pools.pickle");

fn packed(file: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    vram_format::write(&decode(file).unwrap(), &mut packed).unwrap();
    packed
}

/// Everything that is asked of a file, and what comes of it.
fn answers(mut snapshot: Snapshot, within: Option<&str>) -> Vec<Option<(Answer, Extra)>> {
    let question = |round| match round {
        0..20 => Question::Plan {
            device: 0,
            round,
            search_ms: 0,
        },
        20 => Question::Arenas {
            device: 0,
            packing: 1,
            stage: Default::default(),
        },
        _ => Question::Conclude { device: 0, round },
    };
    let rounds = (0..30).map(|round| snapshot.answer(within, &question(round), || 0.0));
    rounds.collect()
}

#[test]
fn a_packed_copy_is_planned_as_the_file_is() {
    let whole = || Snapshot::new(decode(POOLS).unwrap());
    let copy = || Snapshot::new(decode_packed(&packed(POOLS)[..], Options::default()).unwrap());
    for within in [None, Some("pool:1,0")] {
        assert_eq!(answers(copy(), within), answers(whole(), within));
    }
    assert!(
        answers(copy(), Some("size>1MiB"))
            .iter()
            .all(Option::is_none)
    );
}

#[test]
fn nothing_but_a_packed_snapshot_is_read() {
    assert!(decode_packed(POOLS, Options::default()).is_err());
    let mut cut = packed(POOLS);
    cut.truncate(cut.len() / 2);
    assert!(decode_packed(&cut[..], Options::default()).is_err());
}

#[test]
fn a_packing_within_pools_has_their_numbers() {
    let packing = |within: Option<&str>| {
        let found = answers(Snapshot::new(decode(POOLS).unwrap()), within);
        let found = found
            .into_iter()
            .flatten()
            .find_map(|(_, extra)| match extra {
                Extra::Bytes(bytes) => Some(from_bytes::<Found>(&bytes).unwrap()),
                _ => None,
            });
        let found = found.unwrap();
        assert_eq!(found.within.as_deref(), within);
        match found.what {
            What::Packing(groups) => groups.iter().map(|group| group.rows.len()).sum::<usize>(),
            other => panic!("{other:?}"),
        }
    };
    let recording = Recording::by_peak(decode(POOLS).unwrap());
    let all = recording.device(0).unwrap().history.allocations.len();
    assert_eq!(packing(None), all);
    assert!((1..all).contains(&packing(Some("pool:1,0"))));
}
