//! Scenes that end in different ways, and scenes with other processes.

use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::gpu::Gpu;

const MIB: usize = 1 << 20;

/// Allocates memory and frees a part of it.
fn allocate_some(gpu: &Gpu) {
    for n in 1..50 {
        let address = gpu.alloc(n * 10_000);
        if n % 3 == 0 {
            gpu.free(address);
        }
    }
    let pooled = gpu.alloc_async(5 * MIB, std::ptr::null_mut());
    assert_ne!(pooled, 0);
}

fn print_line(text: &str) {
    println!("{text}");
    std::io::stdout().flush().expect("standard output");
}

/// Waits for the end of standard input, then allocates once more.
pub(crate) fn paused(gpu: &Gpu) {
    allocate_some(gpu);
    print_line("paused");
    std::io::stdin().lines().for_each(drop);
    gpu.alloc(11 * MIB);
    print_line("done");
}

/// Eight threads that are killed while they allocate.
pub(crate) fn killed(gpu: &Gpu) {
    let rounds = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                gpu.enter();
                loop {
                    let address = gpu.alloc(1000);
                    gpu.alloc_async(100, std::ptr::null_mut());
                    gpu.free(address);
                    if rounds.fetch_add(1, Ordering::Relaxed) > 4000 {
                        // SAFETY: ends this process.
                        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                    }
                }
            });
        }
    });
}

/// Follows commands on standard input, and prints the time of each in microseconds since 1970: `keep BYTES` keeps an
/// allocation, `pairs NUMBER` allocates and frees.
pub(crate) fn told(gpu: &Gpu) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (word, number) = line.split_once(' ').expect("a word and a number");
        let number: usize = number.parse().expect("a number");
        match word {
            "keep" => drop(gpu.alloc(number)),
            "pairs" => (0..number).for_each(|pair| {
                let address = gpu.alloc(1000 + pair % 50 * 512);
                gpu.free(address);
            }),
            _ => panic!("no word {word}"),
        }
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
        print_line(&now.expect("a time").as_micros().to_string());
    }
}

pub(crate) fn abort(gpu: &Gpu) {
    allocate_some(gpu);
    print_line("aborting");
    std::process::abort();
}

pub(crate) fn panic(gpu: &Gpu) {
    allocate_some(gpu);
    panic!("as the scene wants");
}

pub(crate) fn exit(gpu: &Gpu) {
    allocate_some(gpu);
    eprintln!("to standard error");
    print_line("to standard output");
    std::process::exit(7);
}

static CAUGHT: AtomicU32 = AtomicU32::new(0);

/// Signal handlers work, and ignored signals stay ignored.
pub(crate) fn signals(gpu: &Gpu) {
    extern "C" fn count(_: i32) {
        CAUGHT.fetch_add(1, Ordering::Relaxed);
    }
    let handler: extern "C" fn(i32) = count;
    for signal in [libc::SIGUSR1, libc::SIGUSR2, libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler only counts.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
        allocate_some(gpu);
        // SAFETY: raises a signal in this thread.
        unsafe { libc::raise(signal) };
    }
    // SAFETY: only reads the previous handler.
    let before = unsafe { libc::signal(libc::SIGPROF, libc::SIG_DFL) };
    print_line(&format!(
        "signals: {} caught, SIGPROF was {before}",
        CAUGHT.load(Ordering::Relaxed)
    ));
}

/// A forked child. CUDA does not work in it, and it is not recorded.
pub(crate) fn fork(gpu: &Gpu) {
    allocate_some(gpu);
    // SAFETY: one thread; the child calls the driver, which refuses, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut address = 0;
        // SAFETY: the out-pointer is valid.
        let result = unsafe { (gpu.cuda.cuMemAlloc_v2)(&raw mut address, 100) };
        // SAFETY: ends the child without its parent's buffers.
        unsafe { libc::_exit(i32::from(result != 3)) };
    }
    let mut status = -1;
    // SAFETY: the out-pointer is valid.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    gpu.alloc(MIB);
    print_line(&format!("fork: child ended with {status}"));
}

/// A child that runs another program, which allocates its own memory.
pub(crate) fn spawn(gpu: &Gpu) {
    allocate_some(gpu);
    let mut arguments: Vec<_> = std::env::args().collect();
    let program = std::env::current_exe().expect("a path");
    if let Some(scene) = arguments.last_mut() {
        "plain".clone_into(scene);
    }
    let status = Command::new(program).args(&arguments[1..]).status();
    gpu.alloc(MIB);
    print_line(&format!(
        "spawn: child ended with {:?}",
        status.ok().and_then(|it| it.code())
    ));
}
