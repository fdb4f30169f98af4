//! Puts ranges that may lie within or across each other into rows in which none overlap.

use super::{LaneRange, MAX_ROWS};

/// Rows of ranges, given in order of their start, the longer one first. A range lies below all that
/// enclose it, and as high up as that allows.
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
    // Ends grow along a row, so its last range is the only one that can still be open.
    let end = |row: &Vec<LaneRange>| row.last().map_or(i64::MIN, |last| last.end_us);
    let encloses = |row: &Vec<LaneRange>| end(row) > range.start_us && end(row) >= range.end_us;
    let lowest = rows.iter().rposition(encloses).map_or(0, |row| row + 1);
    let is_free = |row: &Vec<LaneRange>| end(row) <= range.start_us;
    let free = rows.iter().skip(lowest).position(is_free);
    free.map_or(rows.len(), |row| lowest + row)
        .min(MAX_ROWS - 1)
}
