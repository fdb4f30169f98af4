//! The rule for fleets.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use vramscope_core::fleet::questions::{SiteFigure, diff, leaks, odd, ooms, ranks, sites};
use vramscope_core::fleet::{Fleet, decode, encode};
use vramscope_core::{ErrorKind, Limits};

/// Limits so small that the fuzzer's own memory limit notices when they are not kept.
fn read(file: &[u8]) -> Result<Fleet, ErrorKind> {
    let limits = Limits {
        free_bytes: 8 << 20,
        ..Limits::default()
    };
    decode(file, &limits).map_err(|error| error.kind)
}

/// Any bytes give either an error with a message, or a fleet that is read again as it was written and that every question
/// can be put to. As no fuzzer guesses check sums, the bytes are also taken for what a file unpacks to.
pub fn fleet(data: &[u8]) {
    rule(data);
    let mut file = b"\x93vset\r\n\n\x01".to_vec();
    let mut zlib = ZlibEncoder::new(&mut file, Compression::none());
    zlib.write_all(data).expect("a Vec takes every byte");
    zlib.finish().expect("a Vec takes every byte");
    rule(&file);
}

fn rule(file: &[u8]) {
    let fleet = match read(file) {
        Ok(fleet) => fleet,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(read(&encode(&fleet)), Ok(fleet.clone()));
    assert_eq!(Fleet::of_all([fleet.clone(), fleet.clone()]), fleet);
    let count = fleet.ranks.len();
    if let Some(found) = odd(&fleet) {
        assert!(found.ranks.iter().all(|odd| odd.rank < count));
        let _changes = diff(&fleet, found.peaks.median, found.peaks.highest());
    }
    let _either = ranks(&fleet);
    assert!(ooms(&fleet).ranks.len() <= count);
    let _leaks = leaks(&fleet);
    for spread in sites(&fleet, SiteFigure::Peak) {
        assert!(spread.ranks <= count as u64);
    }
}
