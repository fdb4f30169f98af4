//! Allocates and frees as fast as possible: `bench PAIRS THREADS ROUNDS STACKS`. Prints the nanoseconds per pair of an
//! allocation and its free, in the fastest round, in the thread's own time: other programs do not count.
//!
//! Each thread keeps a few live allocations of different sizes and frees the oldest, as programs do. Calls are made
//! below a dozen functions, so that there are stacks to walk: `STACKS` different ones, in turn.

use std::ffi::c_void;
use std::hint::black_box;
use std::sync::Barrier;

#[link(name = "cuda")]
unsafe extern "C" {
    fn cuInit(flags: u32) -> u32;
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) -> u32;
    fn cuCtxSetCurrent(context: *mut c_void) -> u32;
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: *mut c_void) -> u32;
    fn cuMemFreeAsync(address: u64, stream: *mut c_void) -> u32;
}

#[repr(C)]
#[derive(Default)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Time) -> i32;
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
    let (pairs, threads, rounds, stacks) = (next(100_000), next(1), next(5), next(1));
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
            round(1000, stacks);
            begin.wait();
            let rounds = (0..rounds).map(|_| {
                let start = now_ns();
                round(pairs / threads / rounds, stacks);
                (now_ns() - start) as f64 / (pairs / threads / rounds) as f64
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

/// The time that this thread has run.
fn now_ns() -> i64 {
    /// `CLOCK_THREAD_CPUTIME_ID`
    const OWN: i32 = 3;
    let mut time = Time::default();
    // SAFETY: the out-pointer is valid.
    assert_eq!(unsafe { clock_gettime(OWN, &raw mut time) }, 0);
    time.seconds * 1_000_000_000 + time.nanoseconds
}

fn round(pairs: usize, stacks: usize) {
    let mut live = [0_u64; LIVE];
    for pair in 0..pairs + LIVE {
        let bytes = (pair < pairs).then_some(512 << (pair % 8));
        below(DEPTH, pair % stacks, &mut live[pair % LIVE], bytes);
    }
}

/// Frees the memory in `slot` and allocates `bytes`, below this many functions: in each, a bit of `path` chooses one of
/// two call sites.
#[inline(never)]
fn below(depth: u32, path: usize, slot: &mut u64, bytes: Option<usize>) {
    if depth == 0 {
        step(slot, bytes);
    } else if path & 1 == 0 {
        below(black_box(depth - 1), path >> 1, slot, bytes);
    } else {
        below(depth - 1, black_box(path >> 1), slot, bytes);
        // Keeps the compiler from merging both calls.
        black_box(path);
    }
    // Work after the calls keeps them from becoming tail calls.
    black_box(());
}

#[inline(never)]
fn step(slot: &mut u64, bytes: Option<usize>) {
    let stream = std::ptr::null_mut();
    // SAFETY: each address is freed once; the slot is a valid out-pointer.
    unsafe {
        if *slot != 0 {
            check(cuMemFreeAsync(*slot, stream));
            *slot = 0;
        }
        if let Some(bytes) = bytes {
            check(cuMemAllocAsync(slot, bytes, stream));
        }
    }
}

fn check(result: u32) {
    assert_eq!(result, 0, "the driver's result");
}
