//! Compares shared results with the analyses that compute them.

use std::collections::BTreeSet;

use super::*;
use crate::analysis::memory::streams_and_pools::context_id_of;
use crate::ids::{AllocationId, ContextId};
use crate::model::PoolId;

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

const POOLS: [&[u8]; 3] = [
    include_bytes!("../../../../../tests/fixtures/torch-2.15.0/private_pools.pickle"),
    include_bytes!("../../../../../tests/fixtures/synth/scenario-pools.pickle"),
    FILE,
];

#[test]
fn pools_add_up_to_the_device() {
    for file in POOLS {
        let recording = Recording::of(crate::decode(file).unwrap());
        for device in recording.devices() {
            let known: BTreeSet<_> = device.pool_of().iter().flatten().copied().collect();
            let mut active = vec![0; device.history.active_bytes.len()];
            let mut reserved = active.clone();
            for &pool in &known {
                let narrowed = recording.within_pools(|id| id == pool);
                let inner = narrowed.device(device.index()).unwrap();
                is_part(inner, device, |of| of == Some(pool));
                for moment in 0..=device.history.event_count {
                    active[moment as usize] += inner.history.active_bytes_at(moment);
                    reserved[moment as usize] += inner.history.reserved_bytes(moment);
                }
            }
            assert!(device.pool_of().iter().all(Option::is_some));
            assert_eq!(active, device.history.active_bytes);
            for moment in 0..=device.history.event_count {
                let whole = device.history.reserved_bytes(moment);
                assert_eq!(reserved[moment as usize], whole, "at {moment}");
            }
        }
    }
}

/// Compares a device within pools with the rows of the whole device that are in them.
fn is_part(inner: Device<'_>, whole: Device<'_>, is_meant: impl Fn(Option<PoolId>) -> bool) {
    let rows = (0..whole.history.allocations.len()).filter(|&row| is_meant(whole.pool_of()[row]));
    let ids: Vec<_> = rows.map(AllocationId::from_index).collect();
    assert_eq!(inner.numbered_in(whole), Some(ids.clone()));
    let (of, all) = (&inner.history.allocations, &whole.history.allocations);
    for (row, id) in ids.iter().enumerate() {
        let at = id.index();
        assert_eq!(of.address[row], all.address[at]);
        assert_eq!(of.bytes[row], all.bytes[at]);
        assert_eq!(
            (of.born[row], of.free_requested[row], of.died[row]),
            (all.born[at], all.free_requested[at], all.died[at])
        );
        assert_eq!(inner.pool_of()[row], whole.pool_of()[at]);
        assert_eq!(inner.rule_of()[row], whole.rule_of()[at]);
        assert_eq!(inner.site_of()[row], whole.site_of()[at]);
    }
    assert_eq!(inner.history.moment_start_us, whole.history.moment_start_us);
    let moments = |device: Device<'_>| {
        let steps = device.steps().map(|steps| steps.steps.clone());
        let steps = steps.unwrap_or_default().into_iter();
        steps.map(|step| step.moments).collect::<Vec<_>>()
    };
    assert_eq!(moments(inner), moments(whole));
    assert!(inner.failed_requests().is_empty());
}
