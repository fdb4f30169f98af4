//! The offsets that are free at one time, for buffers placed in order of birth: every earlier buffer that overlaps the new
//! one is live at its birth, so no other time needs to be considered.

use super::greedy::{Fit, aligned};
use crate::ranges::Range;

/// Most gaps in a list; a longer list is cut in two.
const MOST_GAPS: usize = 64;

/// The free offsets, as gaps that do not touch, ascending. The last has no end.
pub(super) struct Free {
    /// Neither the outer list nor any inner one is empty.
    lists: Vec<List>,
}

/// Consecutive gaps.
struct List {
    gaps: Vec<Range>,
    /// The size of the largest gap.
    largest: u64,
}

impl Free {
    /// With all offsets free.
    pub(super) fn new() -> Self {
        let all = Range {
            start: 0,
            end: u64::MAX,
        };
        Self {
            lists: vec![List::of(vec![all])],
        }
    }

    /// Takes `size` bytes out of the gap that `fit` chooses, and returns their offset. If no gap fits, they go on top, even
    /// if that overflows.
    pub(super) fn take(&mut self, size: u64, alignment: u64, fit: Fit) -> u64 {
        let (mut at, mut smallest) = (None, u64::MAX);
        'lists: for (list, gaps) in self.lists.iter().enumerate() {
            if gaps.largest < size {
                continue;
            }
            for (place, gap) in gaps.gaps.iter().enumerate() {
                let end = aligned(gap.start, alignment).checked_add(size);
                let is_room = is_endless(gap) || end.is_some_and(|end| end <= gap.end);
                if is_room && (at.is_none() || bytes(gap) < smallest) {
                    (at, smallest) = (Some((list, place)), bytes(gap));
                    if fit == Fit::First {
                        break 'lists;
                    }
                }
            }
        }
        // The last gap has room for anything.
        let (list, place) = at.unwrap_or((0, 0));
        let gap = self.lists[list].gaps[place];
        let start = aligned(gap.start, alignment);
        let below = Range { end: start, ..gap };
        let above = Range {
            start: start.saturating_add(size),
            ..gap
        };
        let left = [below, above].into_iter();
        let left = left.filter(|left| left.start < left.end || is_endless(left));
        self.replace(list, place..place + 1, left);
        start
    }

    /// Makes a taken range free again.
    pub(super) fn give(&mut self, taken: Range) {
        if taken.start >= taken.end {
            return;
        }
        let lists = &self.lists;
        let list = lists
            .partition_point(|list| list.gaps[0].start <= taken.start)
            .saturating_sub(1);
        let gaps = &lists[list].gaps;
        let behind = gaps.partition_point(|gap| gap.start <= taken.start);
        let mut free = taken;
        let mut first = behind;
        if behind > 0 && gaps[behind - 1].end == taken.start {
            first -= 1;
            free.start = gaps[first].start;
        }
        let mut last = behind;
        let above = gaps.get(behind);
        if let Some(gap) = above.filter(|gap| gap.start == taken.end) {
            last += 1;
            free.end = gap.end;
        } else if above.is_none()
            && let Some(next) = lists.get(list + 1)
            && next.gaps[0].start == taken.end
        {
            free.end = next.gaps[0].end;
            self.replace(list + 1, 0..1, [].into_iter());
        }
        self.replace(list, first..last, [free].into_iter());
    }

    /// Replaces gaps of a list. The list is removed if it becomes empty, and cut in two if it becomes too long.
    fn replace(
        &mut self,
        list: usize,
        old: std::ops::Range<usize>,
        new: impl Iterator<Item = Range>,
    ) {
        let changed = &mut self.lists[list];
        let mut lost = 0;
        let mut gained = 0;
        let new = new.inspect(|gap| gained = gained.max(bytes(gap)));
        for gap in changed.gaps.splice(old, new) {
            lost = lost.max(bytes(&gap));
        }
        if gained >= changed.largest {
            changed.largest = gained;
        } else if lost == changed.largest {
            changed.largest = largest(&changed.gaps);
        }
        if changed.gaps.is_empty() {
            self.lists.remove(list);
        } else if changed.gaps.len() > MOST_GAPS {
            let upper = changed.gaps.split_off(MOST_GAPS / 2);
            changed.largest = largest(&changed.gaps);
            self.lists.insert(list + 1, List::of(upper));
        }
    }
}

impl List {
    fn of(gaps: Vec<Range>) -> Self {
        Self {
            largest: largest(&gaps),
            gaps,
        }
    }
}

fn largest(gaps: &[Range]) -> u64 {
    gaps.iter().map(bytes).max().unwrap_or(0)
}

fn is_endless(gap: &Range) -> bool {
    gap.end == u64::MAX
}

/// The size of a gap. A gap without an end is larger than all others.
fn bytes(gap: &Range) -> u64 {
    if is_endless(gap) {
        return u64::MAX;
    }
    gap.end - gap.start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compared with a single list of taken ranges, with enough gaps for several lists.
        #[test]
        fn takes_as_from_one_list(
            steps in prop::collection::vec((1_u64..40, 0_usize..3, any::<prop::sample::Index>()), 0..900),
            is_best in any::<bool>(),
        ) {
            let fit = if is_best { Fit::Best } else { Fit::First };
            let mut free = Free::new();
            let mut taken: Vec<Range> = Vec::new();
            for (number, (size, kind, which)) in steps.into_iter().enumerate() {
                // At first mostly taken, later mostly freed.
                if !taken.is_empty() && (kind == 0 || kind == 1 && number > 500) {
                    free.give(taken.remove(which.index(taken.len())));
                    continue;
                }
                let alignment = [1, 1, 8][kind];
                let (mut top, mut best) = (0_u64, None);
                for range in &taken {
                    let offset = top.next_multiple_of(alignment);
                    let gap = range.start - top;
                    let is_room = offset + size <= range.start;
                    if is_room && best.is_none_or(|(known, _)| is_best && gap < known) {
                        best = Some((gap, offset));
                    }
                    top = range.end;
                }
                let offset = best.map_or(top.next_multiple_of(alignment), |(_, offset)| offset);
                prop_assert_eq!(free.take(size, alignment, fit), offset);
                let place = taken.partition_point(|range| range.start < offset);
                taken.insert(place, Range { start: offset, end: offset + size });
            }
            for range in taken {
                free.give(range);
            }
            prop_assert_eq!(free.lists.len(), 1);
            prop_assert_eq!(&free.lists[0].gaps, &[Range { start: 0, end: u64::MAX }]);
            prop_assert_eq!(free.lists[0].largest, u64::MAX);
        }
    }
}
