//! Waterfall charts: bars that lead from one sum to the next, each beginning where the previous one ended.

use serde::{Deserialize, Serialize};

/// A bar, as fractions of the highest sum.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BarPart {
    /// Start of the change: the lower of this sum and the previous one.
    pub kept: f64,
    /// Length of the change.
    pub change: f64,
    /// Whether this sum is lower than the previous one.
    pub shrinks: bool,
}

/// The bars of these sums, in their order. The first bar starts at 0.
#[must_use]
pub fn waterfall(sums: &[u64]) -> Vec<BarPart> {
    let highest = sums.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut before = 0;
    sums.iter()
        .map(|&sum| {
            let part = BarPart {
                kept: sum.min(before) as f64 / highest,
                change: sum.abs_diff(before) as f64 / highest,
                shrinks: sum < before,
            };
            before = sum;
            part
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_begins_where_the_one_before_ends() {
        let bars = waterfall(&[600, 1_000, 1_000, 800]);
        let part = |kept, change, shrinks| BarPart {
            kept,
            change,
            shrinks,
        };
        assert_eq!(
            bars,
            [
                part(0.0, 0.6, false),
                part(0.6, 0.4, false),
                part(1.0, 0.0, false),
                part(0.8, 0.2, true)
            ]
        );
    }

    #[test]
    fn nothing_is_no_bar_and_zeros_have_no_length() {
        assert!(waterfall(&[]).is_empty());
        assert_eq!(waterfall(&[0, 0]), [BarPart::default(); 2]);
        let huge = waterfall(&[u64::MAX, 1]);
        assert!(huge.iter().all(|bar| (0.0..=1.0).contains(&bar.change)));
    }
}
