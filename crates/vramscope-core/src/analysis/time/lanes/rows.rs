//! Puts ranges, which may nest or overlap, into rows without overlaps.

use super::{LaneRange, MAX_ROWS};

/// Rows of ranges, which must be sorted by start, then the longer one first. A range is below all ranges that enclose
/// it, and as high up as possible.
pub(super) fn packed(ranges: &[LaneRange]) -> Vec<Vec<LaneRange>> {
    let mut rows: Vec<Vec<LaneRange>> = Vec::new();
    for range in ranges {
        let row = row_for(&rows, range);
        if row == rows.len() {
            rows.push(Vec::new());
        }
        rows[row].push(*range);
    }
    rows
}

fn row_for(rows: &[Vec<LaneRange>], range: &LaneRange) -> usize {
    // Ends increase along a row, so only its last range can still be open.
    let end = |row: &Vec<LaneRange>| row.last().map_or(i64::MIN, |last| last.end_us);
    let encloses = |row: &Vec<LaneRange>| end(row) > range.start_us && end(row) >= range.end_us;
    let lowest = rows.iter().rposition(encloses).map_or(0, |row| row + 1);
    let is_free = |row: &Vec<LaneRange>| end(row) <= range.start_us;
    let free = rows.iter().skip(lowest).position(is_free);
    free.map_or(rows.len(), |row| lowest + row)
        .min(MAX_ROWS - 1)
}
