//! Checks packings. Shares no code with the packers.

use std::collections::BTreeMap;
use std::fmt;

use super::{Packing, Problem};

/// What is wrong with a packing. Buffers are given by their index in the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Columns have unequal lengths.
    Columns,
    /// This buffer's offset is not a multiple of its alignment.
    Misaligned(usize),
    /// This buffer ends above the height.
    TooHigh(usize),
    /// No buffer ends at the height.
    HeightIsNotReached,
    /// These two are live at once and share bytes.
    Overlap(usize, usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns => write!(f, "there must be one offset for each buffer"),
            Self::Misaligned(buffer) => {
                write!(
                    f,
                    "the offset of buffer {buffer} is not aligned as it must be"
                )
            }
            Self::TooHigh(buffer) => write!(f, "buffer {buffer} ends above the height"),
            Self::HeightIsNotReached => write!(f, "no buffer ends at the height"),
            Self::Overlap(one, other) => {
                write!(f, "buffers {one} and {other} are live at once and overlap")
            }
        }
    }
}

/// Checks every offset and the height, and sweeps through time to check that no live buffers overlap.
///
/// # Errors
/// The first fault found.
pub fn verify(problem: &Problem, packing: &Packing) -> Result<(), Fault> {
    let len = problem.size.len();
    let has_alignment = !problem.alignment.is_empty();
    let columns = [&problem.lower, &problem.upper, &packing.offset];
    if columns.iter().any(|column| column.len() != len)
        || has_alignment && problem.alignment.len() != len
    {
        return Err(Fault::Columns);
    }
    let mut height = 0;
    for (buffer, (&offset, &size)) in packing.offset.iter().zip(&problem.size).enumerate() {
        if has_alignment && !offset.is_multiple_of(problem.alignment[buffer].max(1)) {
            return Err(Fault::Misaligned(buffer));
        }
        match offset.checked_add(size) {
            Some(end) if end <= packing.height => height = height.max(end),
            _ => return Err(Fault::TooHigh(buffer)),
        }
    }
    if height < packing.height {
        return Err(Fault::HeightIsNotReached);
    }
    overlap(problem, packing).map_or(Ok(()), Err)
}

fn overlap(problem: &Problem, packing: &Packing) -> Option<Fault> {
    let (lower, upper) = (&problem.lower, &problem.upper);
    let lives = (0..problem.size.len() as u32).filter(|&buffer| {
        let buffer = buffer as usize;
        lower[buffer] < upper[buffer] && problem.size[buffer] > 0
    });
    let mut births: Vec<u32> = lives.collect();
    let mut deaths = births.clone();
    births.sort_by_key(|&buffer| lower[buffer as usize]);
    deaths.sort_by_key(|&buffer| upper[buffer as usize]);
    let mut deaths = deaths.into_iter().map(|buffer| buffer as usize).peekable();
    let end = |buffer: usize| packing.offset[buffer].saturating_add(problem.size[buffer]);
    let mut live: BTreeMap<u64, usize> = BTreeMap::new();
    for buffer in births.into_iter().map(|buffer| buffer as usize) {
        // A buffer may take the bytes of one that dies at its birth.
        while let Some(dead) = deaths.next_if(|&dead| upper[dead] <= lower[buffer]) {
            live.remove(&packing.offset[dead]);
        }
        let offset = packing.offset[buffer];
        // The live buffers do not overlap each other, so only the neighbours below and above can overlap this one.
        let below = live.range(..=offset).next_back();
        if let Some((_, &other)) = below.filter(|&(_, &other)| end(other) > offset) {
            return Some(Fault::Overlap(other, buffer));
        }
        if let Some((_, &other)) = live.range(offset..end(buffer)).next() {
            return Some(Fault::Overlap(other, buffer));
        }
        live.insert(offset, buffer);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{problems, stacked};
    use super::*;
    use proptest::prelude::*;

    fn overlaps_obviously(problem: &Problem, packing: &Packing) -> bool {
        let common = |a: u64, b: u64, c: u64, d: u64| a.max(c) < b.min(d);
        (0..problem.size.len()).any(|i| {
            (0..i).any(|j| {
                let (a, b) = (packing.offset[i], packing.offset[j]);
                common(a, a + problem.size[i], b, b + problem.size[j])
                    && common(
                        problem.lower[i],
                        problem.upper[i],
                        problem.lower[j],
                        problem.upper[j],
                    )
            })
        })
    }

    proptest! {
        #[test]
        fn finds_an_overlap_if_and_only_if_there_is_one(
            problem in problems(12), offset in prop::collection::vec(0_u64..60, 12)
        ) {
            let problem = Problem { alignment: Vec::new(), ..problem };
            let offset = offset[..problem.size.len()].to_vec();
            let height = offset.iter().zip(&problem.size).map(|(a, b)| a + b).max().unwrap_or(0);
            let packing = Packing { offset, height };
            let result = verify(&problem, &packing);
            prop_assert_eq!(result.is_err(), overlaps_obviously(&problem, &packing), "{:?}", result);
        }

        #[test]
        fn finds_what_is_wrong_beside_overlaps(problem in problems(12)) {
            let good = stacked(&problem);
            prop_assert_eq!(verify(&problem, &good), Ok(()));
            let short = Packing { offset: vec![0; problem.size.len() + 1], height: good.height };
            prop_assert_eq!(verify(&problem, &short), Err(Fault::Columns));
            let high = Packing { height: good.height + 1, ..good.clone() };
            prop_assert_eq!(verify(&problem, &high), Err(Fault::HeightIsNotReached));
            if good.height > 0 {
                let low = Packing { height: good.height - 1, ..good };
                prop_assert!(matches!(verify(&problem, &low), Err(Fault::TooHigh(_))));
            }
        }
    }

    #[test]
    fn finds_an_offset_that_is_not_aligned() {
        let problem = Problem {
            lower: vec![0],
            upper: vec![1],
            size: vec![8],
            alignment: vec![8],
        };
        let packing = Packing {
            offset: vec![4],
            height: 12,
        };
        assert_eq!(verify(&problem, &packing), Err(Fault::Misaligned(0)));
    }
}
