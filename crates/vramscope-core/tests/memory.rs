//! Counts how much memory decoding takes: a binary of its own, because it replaces the allocator.
//!
//! The allocator also refuses requests beyond a cap, like a system without more memory. A reservation that cannot fail then
//! ends the test. Small requests are always served, as in practice: an error message needs some memory.
#![expect(
    unsafe_code,
    reason = "a global allocator that counts is unsafe by its trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use vramscope_core::{Error, ErrorKind, Limits, decode};
use vramscope_synth::pickle::bombs;
use vramscope_synth::pickle::hostile;
use vramscope_synth::pickle::op;
use vramscope_synth::pickle::raw::Raw;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::training;

static HELD: AtomicUsize = AtomicUsize::new(0);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);
/// Size from which requests are subject to the cap.
const LEAST_REFUSED: usize = 4 << 10;
/// Most bytes that may be held.
static CAP: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Tests share the counters, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator; only counters are kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        if held > CAP.load(Ordering::Relaxed) && layout.size() >= LEAST_REFUSED {
            HELD.fetch_sub(layout.size(), Ordering::Relaxed);
            return std::ptr::null_mut();
        }
        HIGHEST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `alloc` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes held at once while decoding, and how many the result holds.
fn cost(bytes: &[u8]) -> (usize, usize) {
    let (highest, kept, _) = outcome(bytes, usize::MAX);
    (highest, kept)
}

/// Like [`cost`], with the fault if there was one, with at most `cap` bytes available.
fn outcome(bytes: &[u8], cap: usize) -> (usize, usize, Option<Error>) {
    let before = HELD.load(Ordering::Relaxed);
    HIGHEST.store(before, Ordering::Relaxed);
    CAP.store(before.saturating_add(cap), Ordering::Relaxed);
    let result = decode(bytes);
    CAP.store(usize::MAX, Ordering::Relaxed);
    let highest = HIGHEST.load(Ordering::Relaxed) - before;
    let kept = HELD.load(Ordering::Relaxed) - before;
    (highest, kept, result.err())
}

/// A training run of some megabytes: no more than its own size while decoding, half of that when done.
#[test]
fn a_genuine_file_costs_no_more_than_its_size() {
    let _turn = TURN.lock();
    for producer in [Producer::Python(2, 8), Producer::Cpp] {
        let options = training::Options {
            events: 60_000,
            producer,
            ..training::Options::default()
        };
        let bytes = training::write(&options, Vec::new()).unwrap();
        let (highest, kept) = cost(&bytes);
        println!(
            "{producer:?}: {} bytes of file, {highest} at most, {kept} kept",
            bytes.len()
        );
        // Buffers and the first tables have a fixed cost whatever the size.
        let fixed = 2 << 20;
        assert!(
            highest <= bytes.len() + fixed,
            "{producer:?}: {highest} for {} bytes",
            bytes.len()
        );
        assert!(
            kept <= bytes.len() / 2 + fixed,
            "{producer:?}: {kept} kept of {} bytes",
            bytes.len()
        );
    }
}

/// Whatever a hostile file says, it gets only the bytes that are free for any file.
#[test]
fn hostile_files_cost_no_more_than_the_limits() {
    let _turn = TURN.lock();
    let limits = Limits::default();
    let mut streams: Vec<(String, Vec<u8>)> = hostile::all()
        .into_iter()
        .map(|stream| (stream.name.to_owned(), stream.bytes))
        .collect();
    // A megabyte each of the cheapest ways to make a decoder hold memory.
    let million = 1 << 20;
    streams.push((
        "lists".to_owned(),
        Raw::proto(4).repeat(op::EMPTY_LIST, million).stop(),
    ));
    streams.push((
        "dicts".to_owned(),
        Raw::proto(4).repeat(op::EMPTY_DICT, million).stop(),
    ));
    streams.push((
        "memo".to_owned(),
        Raw::proto(4)
            .op(op::EMPTY_LIST)
            .repeat(op::MEMOIZE, million)
            .stop(),
    ));
    streams.push((
        "tuples".to_owned(),
        Raw::proto(4).repeat(op::EMPTY_TUPLE, million).stop(),
    ));
    streams.push((
        "marks".to_owned(),
        Raw::proto(4).repeat(op::MARK, million).stop(),
    ));
    let nested = (0..million / 4).fold(Raw::proto(4).op(op::EMPTY_LIST), |raw, _| {
        raw.op(op::DUP).op(op::TUPLE2).op(op::DUP)
    });
    streams.push(("doubling tuples".to_owned(), nested.stop()));
    for (name, bytes) in streams {
        let (highest, _) = cost(&bytes);
        let per_byte = highest as f64 / bytes.len().max(1) as f64;
        if bytes.len() > 100_000 {
            println!(
                "{name}: {} bytes, {highest} held, {per_byte:.1} per byte",
                bytes.len()
            );
        }
        let allowed = limits.free_bytes as usize + BUFFERS;
        assert!(highest <= allowed, "{name}: {highest}");
    }
}

/// Bytes of the readers' buffers whatever the file, and of a text until it is in its table.
const BUFFERS: usize = 24 << 20;

/// The unpacked size of a bomb does not matter: only its own few bytes count. This holds even if the system refuses every
/// byte beyond the limit, and if it has less than the limits allow.
#[test]
fn bombs_cost_no_more_than_any_file() {
    let _turn = TURN.lock();
    let allowed = Limits::default().free_bytes as usize + BUFFERS;
    for bomb in bombs::all() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        bomb.write(&mut packed).unwrap();
        let packed = packed.finish().unwrap();
        let caps = if bomb.has_record {
            vec![allowed]
        } else {
            vec![allowed, 12 << 20]
        };
        for cap in caps {
            let (highest, _, fault) = outcome(&packed, cap);
            let fault = fault.unwrap_or_else(|| panic!("{} was accepted", bomb.name));
            println!(
                "{}: {} bytes, {highest} held: {fault}",
                bomb.name,
                packed.len()
            );
            // One that holds less is read to its end, which is missing.
            let is_refused = match fault.kind {
                ErrorKind::Limit { .. } | ErrorKind::Truncated(_) => true,
                ErrorKind::NoMemory(_) => cap < allowed,
                _ => false,
            };
            assert!(is_refused, "{}: {fault}", bomb.name);
        }
    }
}

/// Small files must not reserve for large ones.
#[test]
fn a_small_file_costs_little() {
    let _turn = TURN.lock();
    let options = training::Options {
        events: 30,
        ..training::Options::default()
    };
    for protocol in [0, 2, 4, 5] {
        let bytes = training::write(
            &training::Options {
                protocol,
                ..options
            },
            Vec::new(),
        )
        .unwrap();
        let (highest, _) = cost(&bytes);
        assert!(
            highest < (3 << 20) + 4 * bytes.len(),
            "protocol {protocol}: {highest} for {} bytes",
            bytes.len()
        );
    }
}

/// One zstd frame with a window of 8 MiB, in uncompressed blocks of `block_bytes`.
fn in_stored_blocks(bytes: &[u8], block_bytes: usize) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd\x00\x68".to_vec();
    let count = bytes.len().div_ceil(block_bytes);
    for (index, block) in bytes.chunks(block_bytes).enumerate() {
        let head = (block.len() as u32) << 3 | u32::from(index + 1 == count);
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

/// The decoder of zstd cannot report a lack of memory. It also takes more some blocks after it began, when its tables have
/// grown.
#[test]
fn too_little_memory_for_the_window_of_zstd_is_an_error() {
    let _turn = TURN.lock();
    let options = training::Options {
        events: 20_000,
        ..training::Options::default()
    };
    let bytes = training::write(&options, Vec::new()).unwrap();
    for block_bytes in [128 << 10, 50_000] {
        let packed = in_stored_blocks(&bytes, block_bytes);
        let (highest, _, fault) = outcome(&packed, usize::MAX);
        assert!(fault.is_none());
        let mut refused = 0;
        // Below that, the readers' buffers of fixed size find no room.
        for cap in (1 << 20..highest).step_by(48 << 10) {
            if let (_, _, Some(fault)) = outcome(&packed, cap) {
                assert!(matches!(fault.kind, ErrorKind::NoMemory(_)), "{fault}");
                refused += 1;
            }
        }
        println!(
            "{highest} held of {} bytes, {refused} caps too low",
            packed.len()
        );
        assert!(refused > 10);
    }
}
