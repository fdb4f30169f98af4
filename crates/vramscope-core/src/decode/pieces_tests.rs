//! For tests: input in pieces so small that no fast path is taken, compared with the same input as a whole.

use std::io::Read;

use crate::encode::difference;
use crate::{Error, Snapshot};

/// Returns up to seven bytes per read.
pub(super) struct Pieces<'a>(pub(super) &'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let (now, later) = self.0.split_at(self.0.len().min(out.len()).min(7));
        out[..now.len()].copy_from_slice(now);
        self.0 = later;
        Ok(now.len())
    }
}

/// Decodes `bytes` as a whole and in pieces, and checks that the results are the same.
pub(super) fn decode_both_ways(bytes: &[u8]) -> Result<Snapshot, Error> {
    let whole = crate::decode(bytes);
    match (&whole, crate::decode(Pieces(bytes))) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(difference(whole, &pieces), None);
            assert_eq!(whole.warnings, pieces.warnings);
            assert_eq!(whole.keys, pieces.keys);
            assert_eq!(whole.strings.len(), pieces.strings.len());
            assert_eq!(whole.stacks.len(), pieces.stacks.len());
            assert_eq!(whole.contexts.rows(), pieces.contexts.rows());
        }
        (Err(whole), Err(pieces)) => {
            assert_eq!(whole.kind, pieces.kind);
            assert_eq!(
                (whole.offset, &whole.path),
                (pieces.offset, &pieces.path),
                "{:?}",
                whole.kind
            );
        }
        (whole, pieces) => panic!(
            "whole: {:?}, in pieces: {:?}",
            whole.as_ref().err(),
            pieces.err()
        ),
    }
    whole
}
