//! The rule for texts.

use vramscope_text::{Reader, conclude, next_steps, read, whole};

/// Any bytes are read, in pieces as at once, and each failure has a cause whose figures add up.
pub fn text(data: &[u8]) {
    let reading = read(data);
    let mut reader = Reader::default();
    data.chunks(7).for_each(|piece| reader.feed(piece));
    assert_eq!(reader.finish(), reading);
    let _told = whole(&reading);
    for record in &reading.records {
        assert!(record.offset <= data.len() as u64 && record.line <= reading.lines.max(1));
        let _lines = next_steps(record, reading.command.as_deref());
        if let Some(told) = conclude(record) {
            assert!(!told.causes.is_empty());
            assert!(told.causes.is_sorted_by_key(|cause| cause.sure));
        }
    }
}
