//! Sets of numbers as ranges: offsets that are taken, times of life.

/// From `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First number in it.
    pub start: u64,
    /// First number behind it.
    pub end: u64,
}

/// Disjoint ranges that do not touch, ascending.
pub type Ranges = Vec<Range>;

/// Adds a range, merged with those that it meets or touches; whether anything of it was new.
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

/// How many rows of a list are so, if those are its first ones. Found by doubling steps, as mostly they are few.
pub(super) fn leading<T>(list: &[T], is_so: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while list.get(step - 1).is_some_and(&is_so) {
        step *= 2;
    }
    let (low, high) = (step / 2, list.len().min(step - 1));
    low + list[low..high].partition_point(is_so)
}
