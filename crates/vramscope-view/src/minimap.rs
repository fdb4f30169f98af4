//! The curves of the strip above the timeline: the highest active and reserved memory per column.

use crate::raster::{Bands, TimelineIndex};
use serde::{Deserialize, Serialize};

/// Curves over the whole x axis, in columns of equal width.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minimap {
    /// Per column, the highest sum of live bytes.
    pub active_bytes: Vec<u64>,
    /// Per column, the highest sum of segments; empty where segments are not known.
    pub reserved_bytes: Vec<u64>,
}

impl Minimap {
    /// The curves of a timeline in `columns` columns.
    ///
    /// `reserved_steps` are (first moment, bytes from then on), ascending; empty = not known.
    #[must_use]
    pub fn new(
        bands: &Bands<'_>,
        index: &TimelineIndex,
        reserved_steps: &[(u32, u64)],
        columns: u32,
    ) -> Self {
        let mut map = Self::default();
        let width = bands.x_end() / f64::from(columns.max(1));
        for column in 0..columns {
            let from = width * f64::from(column);
            let Some(moments) = bands.moments_in(from, from + width) else {
                break;
            };
            let (first, last) = (*moments.start(), *moments.end());
            let highest = index.highest_in(bands, moments);
            map.active_bytes.push(bands.total_bytes[highest as usize]);
            if !reserved_steps.is_empty() {
                // The step before the column's first moment still holds at it.
                let begin = reserved_steps
                    .partition_point(|step| step.0 <= first)
                    .saturating_sub(1);
                let end = reserved_steps
                    .partition_point(|step| step.0 <= last)
                    .max(begin + 1);
                let steps = &reserved_steps[begin..end];
                map.reserved_bytes
                    .push(steps.iter().map(|step| step.1).max().unwrap_or(0));
            }
        }
        map
    }

    /// The highest value of either curve.
    #[must_use]
    pub fn highest_bytes(&self) -> u64 {
        self.active_bytes
            .iter()
            .chain(&self.reserved_bytes)
            .copied()
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_of_both_curves_survive() {
        let total_bytes = [0, 9, 1, 1, 1, 1, 1, 1];
        let bands = Bands {
            born: &[],
            died: &[],
            free_requested: &[],
            bytes: &[],
            total_bytes: &total_bytes,
            moment_start_us: None,
        };
        let index = TimelineIndex::new(&bands);
        let map = Minimap::new(&bands, &index, &[(0, 10), (3, 99), (4, 20)], 4);
        assert_eq!(map.active_bytes, [9, 1, 1, 1]);
        assert_eq!(map.reserved_bytes, [10, 99, 20, 20]);
        assert_eq!(map.highest_bytes(), 99);
        assert!(
            Minimap::new(&bands, &index, &[], 4)
                .reserved_bytes
                .is_empty()
        );
        assert_eq!(Minimap::new(&bands, &index, &[], 0), Minimap::default());
    }
}
