//! The least that any packing needs.

use super::Problem;

/// The most bytes that are live at once. Saturates.
#[must_use]
pub fn lower_bound(problem: &Problem) -> u64 {
    let mut changes: Vec<(u64, i128)> = Vec::with_capacity(problem.size.len().saturating_mul(2));
    for ((&lower, &upper), &size) in problem.lower.iter().zip(&problem.upper).zip(&problem.size) {
        changes.push((lower, i128::from(size)));
        changes.push((upper, -i128::from(size)));
    }
    // What ends makes room for what begins at the same time: negative changes sort first.
    changes.sort_unstable();
    let (mut live, mut most) = (0, 0);
    for (_, change) in changes {
        live += change;
        most = most.max(live);
    }
    u64::try_from(most).unwrap_or(u64::MAX)
}
