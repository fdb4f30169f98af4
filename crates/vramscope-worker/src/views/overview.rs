//! The overview of each device, computed once.

use vramscope_core::analysis::report::overview::{Overview, overview};
use vramscope_core::model::DeviceIndex;

use super::super::document::Device;

/// The most call sites that are listed at the peak.
const SITES: usize = 10;

/// The overviews so far. One takes long to compute and never changes.
#[derive(Default)]
pub(super) struct Cache {
    devices: Vec<(DeviceIndex, Overview)>,
}

/// The overview of a device, computed now if it is not yet.
pub(super) fn prepare<'a>(device: Device<'_>, cache: &'a mut Cache) -> &'a Overview {
    let index = device.history.device;
    let known = cache.devices.iter().position(|(known, _)| *known == index);
    let place = known.unwrap_or_else(|| {
        cache.devices.push((index, overview(*device, SITES)));
        cache.devices.len() - 1
    });
    &cache.devices[place].1
}

#[cfg(test)]
mod tests;
