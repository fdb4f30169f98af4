//! Recordings within one pool: each is the part of the whole in that pool, and all together are the whole.

use std::collections::BTreeSet;

use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::PoolId;
use vramscope_synth::files::all_files;

use crate::support::decoded;

/// Most pools of a device that are tried.
const MOST_POOLS: usize = 8;

#[test]
fn pools_are_parts_of_the_whole() {
    let mut tried = 0;
    for file in all_files() {
        let recording = Recording::by_peak(decoded(&file));
        let columns = recording.devices().map(|device| device.pool_of());
        let pools: BTreeSet<_> = columns.flatten().flatten().copied().collect();
        if pools.len() < 2 {
            continue;
        }
        tried += 1;
        let is_all_tried = pools.len() <= MOST_POOLS;
        let mut active: Vec<Vec<u64>> = recording
            .devices()
            .map(|device| vec![0; device.history.active_bytes.len()])
            .collect();
        for &pool in pools.iter().take(MOST_POOLS) {
            let narrowed = recording.within_pools(|id| id == pool);
            assert_eq!(narrowed.devices().count(), recording.devices().count());
            let both = narrowed.devices().zip(recording.devices());
            for ((inner, whole), active) in both.zip(&mut active) {
                check_part(&file.name, inner, whole, pool);
                for (sum, bytes) in active.iter_mut().zip(&inner.history.active_bytes) {
                    *sum += bytes;
                }
            }
        }
        for (device, active) in recording.devices().zip(active) {
            let is_known = device.pool_of().iter().all(Option::is_some);
            if is_known && is_all_tried {
                assert_eq!(active, device.history.active_bytes, "{}", file.name);
            }
        }
    }
    assert!(tried > 2, "only {tried} files have several pools");
}

/// Compares a device within a pool with the rows of the whole device that are in it.
fn check_part(name: &str, inner: Device<'_>, whole: Device<'_>, pool: PoolId) {
    let rows = 0..whole.history.allocations.len();
    let rows = rows.filter(|&row| whole.pool_of()[row] == Some(pool));
    let ids: Vec<_> = rows.map(AllocationId::from_index).collect();
    let is_numbered_alike = inner.numbered_in(whole).as_ref() == Some(&ids);
    assert!(is_numbered_alike, "{name} {pool:?}");
    let (of, all) = (&inner.history.allocations, &whole.history.allocations);
    for (row, id) in ids.iter().enumerate() {
        let at = id.index();
        assert_eq!(of.address[row], all.address[at], "{name} {pool:?}");
        assert_eq!(of.bytes[row], all.bytes[at], "{name} {pool:?}");
        assert_eq!(of.version[row], all.version[at], "{name} {pool:?}");
        let lives = [
            (of.born[row], of.free_requested[row], of.died[row]),
            (all.born[at], all.free_requested[at], all.died[at]),
        ];
        assert_eq!(lives[0], lives[1], "{name} {pool:?}");
        assert_eq!(inner.pool_of()[row], Some(pool), "{name}");
        assert_eq!(inner.rule_of()[row], whole.rule_of()[at], "{name}");
        assert_eq!(inner.site_of()[row], whole.site_of()[at], "{name}");
    }
    let times = |device: Device<'_>| device.history.moment_start_us.iter().collect::<Vec<_>>();
    assert_eq!(times(inner), times(whole));
    let moments = |device: Device<'_>| {
        let steps = device.steps().map(|steps| steps.steps.clone());
        let steps = steps.unwrap_or_default().into_iter();
        steps.map(|step| step.moments).collect::<Vec<_>>()
    };
    assert_eq!(moments(inner), moments(whole), "{name}");
    assert!(inner.failed_requests().is_empty(), "{name}");
    assert_eq!(inner.oom_moments(), whole.oom_moments(), "{name}");
    assert_eq!(inner.capacity(), whole.capacity(), "{name}");
    let reserved = |device: Device<'_>| -> u64 {
        let last = device.state_at(device.history.event_count);
        let groups = last.groups.iter().filter(|group| group.pool == Some(pool));
        groups.map(|group| group.sums.reserved_bytes).sum()
    };
    assert_eq!(reserved(inner), reserved(whole), "{name} {pool:?}");
    let end = inner.history.reserved_bytes(inner.history.event_count);
    assert_eq!(end, reserved(inner), "{name} {pool:?}");
}
