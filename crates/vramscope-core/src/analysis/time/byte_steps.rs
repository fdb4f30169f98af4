//! Bytes over time as steps of (first moment, bytes from then on), ascending.

/// The bytes at a moment; 0 before the first step.
#[must_use]
pub fn bytes_at(steps: &[(u32, u64)], moment: u32) -> u64 {
    let after = steps.partition_point(|&(from, _)| from <= moment);
    after.checked_sub(1).map_or(0, |step| steps[step].1)
}

/// The maximum over all moments; 0 without steps.
#[must_use]
pub fn most_bytes(steps: &[(u32, u64)]) -> u64 {
    steps.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0)
}
