//! Invariants after every call, on random programs. Comparisons with torch are in `tests/it/allocator_model.rs`.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::allocator::{Allocator, DEFAULT_LARGE, Driver, NONE, Request};
use super::blocks::Use;
use super::recorded_device::{Item, RecordedDevice};
use super::{FIRST_ADDRESS, ModelSettings, ModelledDevice};
use vramscope_core::analysis::memory::gap::Arena;
use vramscope_core::model::PoolId;

const MIB: u64 = 1 << 20;

fn device(settings: &ModelSettings) -> ModelledDevice {
    ModelledDevice {
        free: settings.capacity_bytes.unwrap_or(u64::MAX),
        next_address: FIRST_ADDRESS,
        pending: BTreeMap::new(),
        completed: Vec::new(),
    }
}

/// The plain rule over all free blocks: the smallest that fits, then the one in the oldest segment, then the lowest.
fn best_fit(allocator: &Allocator, request: Request) -> Option<u32> {
    let rows = 0..allocator.blocks.len() as u32;
    let free = &allocator.pools[request.pool as usize].free;
    let alive: BTreeSet<u32> = free.iter().map(|key| key.3).collect();
    let block = |row: &u32| &allocator.blocks[*row as usize];
    rows.filter(|row| alive.contains(row))
        .filter(|row| block(row).stream == request.stream && block(row).bytes >= request.bytes)
        .min_by_key(|row| (block(row).bytes, block(row).order, block(row).address))
}

/// The memory of each pool and stream, block by block.
fn held(allocator: &Allocator, live: &[u32]) -> BTreeMap<Arena, u64> {
    let free = allocator.pools.iter().flat_map(|pool| &pool.free);
    let mut held = BTreeMap::new();
    for row in free.map(|key| key.3).chain(live.iter().copied()) {
        *held.entry(allocator.arena(row)).or_default() += allocator.blocks[row as usize].bytes;
    }
    held
}

/// Lists and sums agree with the blocks.
fn is_consistent(allocator: &Allocator, device: &ModelledDevice, live: &[u32]) {
    let segments = allocator.segments();
    let reserved: u64 = segments.values().map(|segment| segment.0).sum();
    assert_eq!(reserved, allocator.reserved.bytes);
    if let Some(capacity) = allocator.settings.capacity_bytes {
        assert_eq!(device.free + reserved, capacity);
    }
    let mut end = 0;
    let mut free = 0;
    let mut active = 0;
    for (&address, (bytes, blocks)) in &segments {
        assert!(address >= end, "segments overlap");
        end = address;
        let mut was_free = false;
        for &(at, bytes, is_active) in blocks {
            assert_eq!(at, end, "blocks tile their segment");
            assert!(is_active || !was_free, "free neighbours are joined");
            was_free = !is_active;
            end += bytes;
            if is_active {
                active += bytes;
            } else {
                free += 1;
            }
        }
        assert_eq!(end, address + bytes);
    }
    assert_eq!(active, allocator.active);
    let of_live: u64 = live
        .iter()
        .map(|&row| allocator.blocks[row as usize].bytes)
        .sum();
    assert_eq!(active, of_live);
    assert_eq!(
        free,
        allocator
            .pools
            .iter()
            .map(|pool| pool.free.len())
            .sum::<usize>()
    );
    lists_are_right(allocator);
}

fn lists_are_right(allocator: &Allocator) {
    for (row, pool) in allocator.pools.iter().enumerate() {
        for key in &pool.free {
            let block = &allocator.blocks[key.3 as usize];
            assert_eq!(
                (
                    block.stream,
                    block.bytes,
                    block.order,
                    block.address,
                    block.usage
                ),
                (key.0, key.1, key.2.0, key.2.1, Use::Free)
            );
            let is_whole = block.reservation == NONE && block.prev == NONE && block.next == NONE;
            let goes = is_whole || allocator.whole_pages(block).is_some();
            assert_eq!(pool.releasable.contains(key), goes);
            let aged = pool.by_age.iter().any(|(_, other)| other == key);
            let is_aged =
                is_whole && row as u32 == DEFAULT_LARGE && allocator.settings.collects_garbage();
            assert_eq!(aged, is_aged);
        }
        assert_eq!(
            pool.age_sum,
            pool.by_age
                .iter()
                .map(|&(since, _)| u128::from(since))
                .sum::<u128>()
        );
    }
}

#[derive(Clone, Debug)]
enum Step {
    Malloc { bytes: u64, stream: i64, pool: u64 },
    Free(usize),
    Empty,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![
        1_u64..70_000,
        70_000..2 * MIB,
        MIB..12 * MIB,
        10 * MIB..50 * MIB
    ];
    prop_oneof![
        8 => (bytes, 0_i64..2, prop::sample::select(vec![0_u64, 0, 0, 1])).prop_map(|(bytes, stream, pool)| Step::Malloc { bytes, stream, pool }),
        7 => any::<usize>().prop_map(Step::Free),
        1 => Just(Step::Empty),
    ]
}

proptest! {
    #[test]
    fn books_are_kept(
        steps in prop::collection::vec(step(), 1..120),
        changes in prop::sample::select(vec![
            "",
            "capacity=200MiB",
            "expandable_segments:True",
            "expandable_segments:True,capacity=200MiB",
            "max_split_size_mb:20,capacity=240MiB",
            "roundup_power2_divisions:4,large_segment_size_mb:64",
            "capacity=1GiB,per_process_memory_fraction:0.2,garbage_collection_threshold:0.4",
        ]),
    ) {
        let settings = ModelSettings::default().with_changes(changes).unwrap();
        let mut device = device(&settings);
        let mut allocator = Allocator::new(settings.clone());
        let mut live: Vec<u32> = Vec::new();
        let mut most: BTreeMap<Arena, u64> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Malloc { bytes, stream, pool } => {
                    let request = allocator.request(bytes, stream, PoolId(0, pool));
                    if !settings.expandable_segments && settings.max_split_bytes.is_none() {
                        prop_assert_eq!(allocator.find_free(request), best_fit(&allocator, request));
                    }
                    if let Some(row) = allocator.malloc(request, bytes, &mut device) {
                        let block = &allocator.blocks[row as usize];
                        prop_assert!(block.bytes >= request.bytes && block.usage == Use::Allocated);
                        live.push(row);
                    }
                }
                Step::Free(which) if !live.is_empty() => allocator.free(live.swap_remove(which % live.len())),
                Step::Free(_) => {}
                Step::Empty => allocator.release_cached(&mut device),
            }
            is_consistent(&allocator, &device, &live);
            allocator.reserved.end_moment();
            for (arena, bytes) in held(&allocator, &live) {
                let most = most.entry(arena).or_default();
                *most = bytes.max(*most);
            }
        }
        let peaks = allocator.reserved.peaks();
        prop_assert!(peaks.is_sorted_by(|a, b| a.1 >= b.1));
        prop_assert_eq!(BTreeMap::from_iter(peaks), most);
        // With nothing live, everything can be released, private pools once they are given up.
        live.drain(..).for_each(|row| allocator.free(row));
        allocator.release_private(PoolId(0, 1), &mut device);
        allocator.release_cached(&mut device);
        prop_assert_eq!((allocator.reserved.bytes, allocator.active), (0, 0));
    }
}

#[test]
fn sizes_of_blocks_and_segments() {
    let settings = ModelSettings::default();
    let rounded = [1, 512, 513, MIB, MIB + 1].map(|bytes| settings.round(bytes));
    assert_eq!(rounded, [512, 512, 1024, MIB, MIB + 512]);
    let divided = settings.with_changes("roundup_power2_divisions:4").unwrap();
    // PyTorch's own example, in KiB.
    assert_eq!(divided.round(1200 << 10), 1280 << 10);
    assert_eq!(divided.round(1200), 1536, "not beyond 4 × 512");
    assert!(settings.round(u64::MAX) < u64::MAX / 2);
    let mut allocator = Allocator::new(settings.clone());
    let mut device = device(&settings);
    let mut reserved_by = |bytes: u64| {
        let before = allocator.reserved.bytes;
        let request = allocator.request(bytes, 0, PoolId::default());
        allocator.malloc(request, bytes, &mut device).unwrap();
        (allocator.reserved.bytes - before) / MIB
    };
    assert_eq!(
        [1, MIB + 1, 9 * MIB, 11 * MIB].map(&mut reserved_by),
        [2, 20, 0, 12]
    );
    device.give_back(0, 0);
}

#[test]
fn releasing_a_great_many_takes_no_longer_each() {
    const MANY: u64 = 300_000;
    let mut device = RecordedDevice::default();
    for number in 0..MANY {
        device.push(Item::GivenBack(number * MIB, MIB));
        device.push(Item::Free(number as u32));
    }
    for number in (0..MANY).rev() {
        assert!(device.gives_back() && device.malloc(MIB).is_none());
        device.give_back(number * MIB, MIB);
    }
    assert_eq!(device.take_frees().len() as u64, MANY);
    assert!(device.is_empty() && !device.missed);
    assert_eq!((device.agreeing, device.extra), (MANY, 0));
}

#[test]
fn pools_that_have_nothing_left_cost_nothing() {
    const MANY: u64 = 100_000;
    let settings = ModelSettings::default();
    let mut device = device(&settings);
    let mut allocator = Allocator::new(settings);
    for pool in 1..=MANY {
        allocator.release_private(PoolId(0, pool), &mut device);
    }
    let request = allocator.request(MIB, 0, PoolId(0, MANY));
    for _ in 0..MANY {
        let row = allocator.malloc(request, MIB, &mut device).unwrap();
        allocator.free(row);
        allocator.release_cached(&mut device);
        assert_eq!(
            allocator.reserved.bytes, 0,
            "what is free of an abandoned pool goes too"
        );
    }
}

/// As torch 2.15 does when run: unless set, it is as much as a large segment.
#[test]
fn how_much_too_large_an_unsplittable_block_may_be() {
    let reserved = |changes: &str| {
        let settings = ModelSettings::default().with_changes(changes).unwrap();
        let mut device = device(&settings);
        let mut allocator = Allocator::new(settings);
        let mut malloc = |allocator: &mut Allocator, bytes: u64| {
            let request = allocator.request(bytes, 0, PoolId::default());
            allocator.malloc(request, bytes, &mut device).unwrap()
        };
        let first = malloc(&mut allocator, 190 * MIB);
        allocator.free(first);
        malloc(&mut allocator, 150 * MIB);
        allocator.reserved.bytes / MIB
    };
    assert_eq!(reserved("max_split_size_mb:128"), 340);
    assert_eq!(
        reserved("max_split_size_mb:128,large_segment_size_mb:40"),
        340
    );
    assert_eq!(
        reserved("max_split_size_mb:128,large_segment_size_mb:64"),
        190
    );
    assert_eq!(
        reserved("max_split_size_mb:128,max_non_split_rounding_mb:41"),
        190
    );
}
