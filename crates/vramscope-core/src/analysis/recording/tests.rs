//! Compares shared results with the analyses that compute them.

use super::*;
use crate::analysis::memory::streams_and_pools::context_id_of;
use crate::ids::{AllocationId, ContextId};

const FILE: &[u8] =
    include_bytes!("../../../../../tests/fixtures/torch-2.15.0/named_ranges.pickle");

#[test]
fn columns_have_a_value_per_allocation() {
    let recording = Recording::of(crate::decode(FILE).unwrap());
    for device in recording.devices() {
        let count = device.history.allocations.len();
        assert_eq!(device.site_of().len(), count);
        assert_eq!(device.stream_of().len(), count);
        assert_eq!(device.pool_of().len(), count);
        for row in 0..count {
            let id = AllocationId::from_index(row);
            let stack = device.history.stack(device.snapshot(), id).0;
            assert_eq!(device.stack_of()[row], stack);
            let context = context_id_of(device.snapshot(), device.history, id);
            assert_eq!(
                device.context_of()[row],
                context.unwrap_or(ContextId::ABSENT)
            );
            assert_eq!(device.context(id).is_some(), context.is_some());
        }
    }
}

#[test]
fn nothing_is_computed_twice() {
    let recording = Recording::of(crate::decode(FILE).unwrap());
    let first = |recording: &Recording| {
        let device = recording.devices().next().unwrap();
        (
            device.site_of().as_ptr(),
            std::ptr::from_ref(device.block_sizes()),
        )
    };
    assert_eq!(first(&recording), first(&recording));
}

#[test]
fn by_peak_the_highest_comes_first() {
    let json = r#"{"segments": [], "device_traces": [
        [{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}],
        [{"action": "alloc", "addr": 4096, "size": 1024, "stream": 0}],
        [{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}]]}"#;
    let recording = Recording::by_peak(crate::decode(json.as_bytes()).unwrap());
    let devices: Vec<_> = recording.devices().map(Device::index).collect();
    assert_eq!(devices, [1, 0, 2]);
    assert_eq!(recording.device(2).unwrap().peak_bytes(), 512);
    assert!(recording.device(3).is_none());
}
