//! Separates the buffers that need a search from those that fit in any case.

use super::super::greedy::first_fit;
use super::super::occupied::{Occupied, Placed};
use super::super::sections::Company;
use super::super::{Packing, Problem, Sections, gcd};
use super::part::Part;
use crate::ranges::{Range, Ranges};

/// Passes over the remaining buffers to find further easy ones. Two or three usually find all.
const MOST_LOOKS: usize = 32;

/// A problem without its easy buffers, split into parts that share no moment.
pub(super) struct Core {
    pub(super) parts: Vec<Part>,
    /// The buffers that fit in any case. Each fits once the parts and all easy buffers after it are placed.
    easy: Vec<usize>,
}

impl Core {
    /// The core of a problem to be packed within `capacity` bytes or more. No buffer may be larger than that.
    pub(super) fn new(problem: &Problem, sections: &Sections, capacity: u64) -> Self {
        let padded = problem.padded_sizes();
        let matters = |&i: &usize| problem.size[i] > 0 && sections.begin[i] < sections.end[i];
        let mut hard: Vec<usize> = (0..problem.size.len()).filter(matters).collect();
        let unit = hard.iter().fold(0, |unit, &i| {
            let unit = gcd(unit, padded[i]);
            match problem.alignment_of(i) {
                1 => unit,
                alignment => gcd(unit, alignment),
            }
        });
        let mut easy = Vec::new();
        for _ in 0..MOST_LOOKS {
            let company = Company::of(sections, hard.iter().copied(), &padded);
            let (fits, rest): (Vec<_>, Vec<_>) = (hard.iter()).partition(|&&i| {
                let company = company.with(sections, i);
                has_room(problem, i, padded[i], unit, company, capacity)
            });
            if fits.is_empty() {
                break;
            }
            easy.extend(fits);
            hard = rest;
        }
        hard.sort_by_key(|&i| sections.begin[i]);
        let mut parts = Vec::new();
        let mut members: Vec<usize> = Vec::new();
        let mut end = 0;
        for i in hard {
            if sections.begin[i] >= end && !members.is_empty() {
                parts.push(Part::new(
                    problem,
                    &padded,
                    unit,
                    std::mem::take(&mut members),
                ));
            }
            members.push(i);
            end = end.max(sections.end[i]);
        }
        if !members.is_empty() {
            parts.push(Part::new(problem, &padded, unit, members));
        }
        Self { parts, easy }
    }

    /// The packing of the whole problem, given the offsets of each part's buffers.
    pub(super) fn complete<'a>(
        &self,
        problem: &Problem,
        sections: &Sections,
        offsets: impl Iterator<Item = &'a [u64]>,
    ) -> Packing {
        let padded = problem.padded_sizes();
        let mut occupied = Occupied::new(sections);
        let mut room = Ranges::new();
        let mut packing = Packing {
            offset: vec![0; problem.size.len()],
            height: problem.size.iter().copied().max().unwrap_or(0),
        };
        let mut place = |i: usize, offset: Option<u64>| {
            let placed = |i: usize, start: u64| -> Placed {
                let end = start.saturating_add(padded[i]);
                (sections.begin[i], sections.end[i], Range { start, end })
            };
            let start = offset.unwrap_or_else(|| {
                let life = (sections.begin[i], sections.end[i]);
                let placed = |other: usize| placed(other, packing.offset[other]);
                let lists = occupied.within(life, placed, &mut room);
                first_fit(lists, padded[i], problem.alignment_of(i))
            });
            occupied.insert(i, placed(i, start));
            packing.offset[i] = start;
            packing.height = packing.height.max(start.saturating_add(problem.size[i]));
        };
        for (part, offsets) in self.parts.iter().zip(offsets) {
            for (&member, &offset) in part.members.iter().zip(offsets) {
                place(member, Some(offset));
            }
        }
        for &i in self.easy.iter().rev() {
            place(i, None);
        }
        packing
    }
}

/// Whether a buffer fits wherever the buffers that overlap it lie. Each of them rules out a limited number of
/// offsets; the buffer fits if it has more offsets than they can rule out together. `count` and `sizes` include the
/// buffer itself.
fn has_room(
    problem: &Problem,
    i: usize,
    padded: u64,
    unit: u64,
    (count, sizes): (usize, u128),
    capacity: u64,
) -> bool {
    let size = u128::from(padded);
    let step = problem.alignment_of(i).max(unit);
    let Some(highest) = capacity.checked_sub(problem.size[i]) else {
        return false;
    };
    // A buffer of size `s` rules out fewer than `size + s` offsets. In units, at most
    // (size + s - 2 units) / step + 1 of them are aligned.
    let kept = (count as u128 - 1) * (size + u128::from(step) - 2 * u128::from(unit));
    kept + (sizes - size) <= u128::from(highest - highest % step)
}
