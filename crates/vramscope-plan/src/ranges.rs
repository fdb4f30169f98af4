//! Sets of numbers as ranges: taken offsets, times of life.

/// From `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First number in it.
    pub start: u64,
    /// First number after it.
    pub end: u64,
}

/// Disjoint ranges that do not touch, ascending.
pub type Ranges = Vec<Range>;

/// Adds a range, merged with those that it meets or touches. Returns whether any of it was new.
pub(super) fn insert(ranges: &mut Ranges, range: Range) -> bool {
    let first = ranges.partition_point(|other| other.end < range.start);
    let behind = first + ranges[first..].partition_point(|other| other.start <= range.end);
    if first == behind {
        ranges.insert(first, range);
        return true;
    }
    let merged = Range {
        start: range.start.min(ranges[first].start),
        end: range.end.max(ranges[behind - 1].end),
    };
    if ranges[first..behind] == [merged] {
        return false;
    }
    ranges[first] = merged;
    ranges.drain(first + 1..behind);
    true
}

/// Number of rows at the beginning of a list for which `is_so` holds; it holds for no later row. The search doubles its
/// steps, because they are usually few.
pub(super) fn leading<T>(list: &[T], is_so: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while list.get(step - 1).is_some_and(&is_so) {
        step *= 2;
    }
    let (low, high) = (step / 2, list.len().min(step - 1));
    low + list[low..high].partition_point(is_so)
}
