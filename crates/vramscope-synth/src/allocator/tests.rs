//! Small cases by hand, and random use held against the tiling of blocks.

use super::*;
use crate::rng::Rng;

fn arena(bytes: u64) -> Arena {
    Arena::of(bytes, 0, (0, 0))
}

fn assert_tiled(heap: &Heap) {
    let mut reserved = 0;
    for segment in heap.segments(0) {
        let mut at = segment.address;
        for block in &segment.blocks {
            assert_eq!(block.address, at);
            at += block.size;
        }
        assert_eq!(at, segment.address + segment.total_size);
        reserved += segment.total_size;
    }
    assert_eq!(reserved, heap.reserved());
    let inactive = heap
        .blocks
        .values()
        .filter(|b| !b.state.is_active())
        .count();
    assert_eq!(inactive, heap.free.len());
}

#[test]
fn a_small_request_splits_a_2_mib_segment() {
    let mut heap = Heap::new(HeapOptions::default());
    let mut events = Vec::new();
    let addr = heap.malloc(1000, arena(1000), None, &mut events).unwrap();
    assert_eq!(
        (events[0].kind, events[0].size),
        (SegmentEventKind::Alloc, 2 * MIB)
    );
    let blocks: Vec<_> = heap.segments(0)[0].blocks.iter().map(|b| b.size).collect();
    assert_eq!(blocks, [1024, 2 * MIB - 1024]);
    assert!(heap.complete_free(addr));
    assert_eq!(heap.segments(0)[0].blocks.len(), 1);
}

#[test]
fn large_requests_round_as_torch_rounds() {
    assert_eq!(segment_size(round_size(MIB)), 2 * MIB);
    assert_eq!(segment_size(round_size(MIB + 1)), 20 * MIB);
    assert_eq!(segment_size(round_size(11 * MIB + 1)), 12 * MIB);
}

#[test]
fn a_full_device_empties_its_cache_then_fails() {
    let options = HeapOptions {
        capacity_bytes: 40 * MIB,
        ..HeapOptions::default()
    };
    let mut heap = Heap::new(options);
    let mut events = Vec::new();
    let a = heap
        .malloc(20 * MIB, arena(20 * MIB), None, &mut events)
        .unwrap();
    assert!(heap.complete_free(a));
    heap.malloc(30 * MIB, arena(30 * MIB), None, &mut events)
        .unwrap();
    let kinds: Vec<_> = events.iter().map(|e| e.kind).collect();
    use SegmentEventKind::{Alloc, Free};
    assert_eq!(kinds, [Alloc, Free, Alloc]);
    let full = heap
        .malloc(30 * MIB, arena(30 * MIB), None, &mut events)
        .unwrap_err();
    assert_eq!(
        full,
        OutOfMemory {
            rounded_bytes: 30 * MIB,
            device_free_bytes: 10 * MIB
        }
    );
}

#[test]
fn random_use_keeps_blocks_tiling() {
    for expandable in [false, true] {
        let options = HeapOptions {
            expandable,
            capacity_bytes: 2 << 30,
            ..Default::default()
        };
        let mut heap = Heap::new(options);
        let mut rng = Rng::new(3);
        let mut live = Vec::new();
        for step in 0..3000 {
            let power = rng.between(4, 25);
            let bytes = rng.between(1, 1 << power);
            let place = Arena::of(bytes, (step % 2) * 8, (0, u64::from(step % 7 == 0)));
            if let Ok(addr) = heap.malloc(bytes, place, None, &mut Vec::new()) {
                live.push(addr);
            }
            if live.len() > 50 {
                let addr = live.swap_remove(rng.below(50) as usize);
                assert!(heap.complete_free(addr));
            }
            if step % 500 == 0 {
                heap.empty_cache(&mut Vec::new());
                assert_tiled(&heap);
            }
        }
        assert_tiled(&heap);
    }
}

#[test]
fn unmapping_the_middle_leaves_two_segments() {
    let mut heap = Heap::new(HeapOptions {
        expandable: true,
        ..HeapOptions::default()
    });
    let place = Arena {
        is_small: true,
        ..Arena::default()
    };
    assert!(heap.map(0x1000_0000, 6 * MIB, place, None));
    assert!(heap.unmap(0x1000_0000 + 2 * MIB, 2 * MIB));
    let segments = heap.segments(0);
    assert_eq!(
        segments.iter().map(|s| s.total_size).collect::<Vec<_>>(),
        [2 * MIB, 2 * MIB]
    );
    assert!(heap.map(0x1000_0000 + 2 * MIB, 2 * MIB, place, None));
    assert_eq!(heap.segments(0).len(), 1);
    assert_eq!(heap.segments(0)[0].blocks.len(), 1);
    assert_tiled(&heap);
}

#[test]
fn a_block_can_be_placed_by_hand() {
    let mut heap = Heap::new(HeapOptions::default());
    assert!(heap.add_segment(0x10_0000, 2 * MIB, arena(1), None));
    assert!(heap.malloc_at(0x10_0400, 512, None));
    assert!(!heap.malloc_at(0x10_0400, 512, None));
    assert_eq!(heap.segments(0)[0].blocks.len(), 3);
    assert_tiled(&heap);
}
