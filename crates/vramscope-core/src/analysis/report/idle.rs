//! What was reserved and idle when most was reserved, and whether other settings may change that.

use super::findings::SMALLEST_BYTES;
use super::overview::reserved_peak;
use crate::analysis::recording::Device;

/// The least share of reserved memory, in percent, that must be idle for replays without a failed request.
const LEAST_IDLE_PERCENT: u64 = 5;

/// Whether replays with other settings may conclude something: a request failed, or 5 % of what was reserved at most was
/// idle then.
#[must_use]
pub fn is_worth_replaying(device: Device<'_>) -> bool {
    let reserved = u128::from(device.history.most_reserved_bytes());
    let idle = idle_bytes(device);
    let is_much = u128::from(idle) * 100 >= reserved * u128::from(LEAST_IDLE_PERCENT);
    !device.failed_requests().is_empty() || (idle >= SMALLEST_BYTES && is_much)
}

/// Active bytes at the moment with the most active bytes among those with the most reserved bytes.
#[must_use]
pub fn active_then(device: Device<'_>) -> u64 {
    let history = device.history;
    history.active_bytes_at(reserved_peak(history))
}

/// What was reserved at that moment and not active.
#[must_use]
pub fn idle_bytes(device: Device<'_>) -> u64 {
    let reserved = device.history.most_reserved_bytes();
    reserved.saturating_sub(active_then(device))
}
