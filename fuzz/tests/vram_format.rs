//! Damaged packed snapshots keep the rules.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use proptest::prelude::*;
use vramscope_core::{decode, vram_format};
use vramscope_fuzz::{decode_chunked, pipeline};
use vramscope_synth::files::fixtures_in;
use vramscope_synth::random::config;

/// A packed file with something in every table.
fn small() -> Vec<u8> {
    let files = fixtures_in("torch-2.15.0");
    let mut files = files.iter();
    let file = files.find(|file| file.name.ends_with("/pinned.pickle"));
    let snapshot = decode(&file.unwrap().bytes[..]).unwrap();
    let mut packed = Vec::new();
    vram_format::write(&snapshot, &mut packed).unwrap();
    packed
}

proptest! {
    #![proptest_config(config())]

    /// Any bytes behind the head, and any other byte in a genuine file.
    #[test]
    fn nonsense_is_refused_or_harmless(tail in proptest::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = small();
        let at = at.index(bytes.len() - 9) + 9;
        bytes[at] = byte;
        pipeline(&bytes);
        bytes.truncate(at);
        bytes.extend(tail);
        pipeline(&bytes);
        decode_chunked(&bytes);
    }
}
