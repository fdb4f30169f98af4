//! Allocates and frees as fast as possible: `bench PAIRS THREADS ROUNDS`. Prints the nanoseconds per pair of an
//! allocation and its free, in the fastest round.
//!
//! Each thread keeps a few live allocations of different sizes and frees the oldest, as programs do. Calls are made
//! below a dozen functions, so that there are stacks to walk.

use std::ffi::c_void;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

#[link(name = "cuda")]
unsafe extern "C" {
    fn cuInit(flags: u32) -> u32;
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) -> u32;
    fn cuCtxSetCurrent(context: *mut c_void) -> u32;
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: *mut c_void) -> u32;
    fn cuMemFreeAsync(address: u64, stream: *mut c_void) -> u32;
}

/// Number of functions between a thread's first one and the calls.
const DEPTH: u32 = 12;
/// Number of live allocations per thread.
const LIVE: usize = 16;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"));
    let mut next = |default: usize| numbers.next().unwrap_or(default);
    let (pairs, threads, rounds) = (next(100_000), next(1), next(5));
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a valid out-pointer.
    unsafe {
        check(cuInit(0));
        check(cuDevicePrimaryCtxRetain(&raw mut context, 0));
    }
    let context = context as usize;
    let begin = Barrier::new(threads);
    let fastest = std::thread::scope(|scope| {
        let run = || {
            // SAFETY: the context was retained above and lives to the end.
            unsafe { check(cuCtxSetCurrent(context as *mut c_void)) };
            // The first call does one-time work, which is not part of the cost of a call.
            deep(DEPTH, 1000);
            begin.wait();
            let rounds = (0..rounds).map(|_| {
                let start = Instant::now();
                deep(DEPTH, pairs / threads / rounds);
                start.elapsed().as_nanos() as f64 / (pairs / threads / rounds) as f64
            });
            rounds.fold(f64::INFINITY, f64::min)
        };
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let all = all
            .into_iter()
            .map(|thread| thread.join().expect("a thread"));
        all.fold(f64::INFINITY, f64::min)
    });
    println!("{fastest:.1}");
}

#[inline(never)]
fn deep(depth: u32, pairs: usize) {
    if depth > 0 {
        deep(black_box(depth - 1), pairs);
        // Work after the call keeps it from becoming a tail call.
        black_box(());
        return;
    }
    let stream = std::ptr::null_mut();
    let mut live = [0_u64; LIVE];
    for pair in 0..pairs + LIVE {
        let slot = &mut live[pair % LIVE];
        // SAFETY: each address is freed once; the slot is a valid out-pointer.
        unsafe {
            if *slot != 0 {
                check(cuMemFreeAsync(*slot, stream));
                *slot = 0;
            }
            if pair < pairs {
                check(cuMemAllocAsync(slot, 512 << (pair % 8), stream));
            }
        }
    }
}

fn check(result: u32) {
    assert_eq!(result, 0, "the driver's result");
}
