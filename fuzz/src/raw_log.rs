//! The rule for raw logs, which have their own reader.

use vramscope_core::encode::{difference, encode};
use vramscope_core::model::WarningKind;
use vramscope_record::symbols::NoSymbols;
use vramscope_record::{ConvertOptions, convert};

/// Any bytes give either an error with a message, or a consistent snapshot that reads back unchanged.
pub fn raw_log(data: &[u8]) {
    let options = ConvertOptions::default();
    match convert(data, &options, &mut NoSymbols, &mut |_, _| {}) {
        Ok((snapshot, _)) => {
            // Sizes are copied from the log as they are.
            let mut kinds = snapshot.warnings.list().iter().map(|warning| &warning.kind);
            let is_fine = kinds.all(|kind| *kind == WarningKind::ImpossibleSize);
            assert!(is_fine, "{:?}", snapshot.warnings);
            let mut written = Vec::new();
            encode(&snapshot, &mut written).expect("a Vec takes every byte");
            let again = vramscope_core::decode(written.as_slice())
                .unwrap_or_else(|error| panic!("what was written: {error}"));
            assert_eq!(difference(&snapshot, &again), None);
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.advice().is_empty()),
    }
}
