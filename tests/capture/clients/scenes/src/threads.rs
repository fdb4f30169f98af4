//! Many events, from one thread or from eight.

use std::ptr::null_mut;
use std::sync::mpsc;

use crate::gpu::Gpu;

/// Number of allocations per thread.
const ROUNDS: u64 = 3000;

/// Eight threads allocate, free, and pass half of their allocations to a neighbour to free. So addresses move
/// between threads as fast as the driver reuses them.
pub(crate) fn eight(gpu: &Gpu) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..8).map(|_| mpsc::channel()).unzip();
    std::thread::scope(|scope| {
        for (at, inbox) in receivers.into_iter().enumerate() {
            let neighbour = senders[(at + 1) % 8].clone();
            std::thread::Builder::new()
                .name(format!("worker {at}"))
                .spawn_scoped(scope, move || work(gpu, at as u64, &neighbour, &inbox))
                .expect("a thread");
        }
        drop(senders);
    });
    println!("threads: done");
}

fn work(
    gpu: &Gpu,
    at: u64,
    neighbour: &mpsc::Sender<(bool, u64)>,
    inbox: &mpsc::Receiver<(bool, u64)>,
) {
    gpu.enter();
    let mut random = at + 1;
    let free = |(is_pooled, address): (bool, u64)| {
        if is_pooled {
            gpu.free_async(address, null_mut());
        } else {
            gpu.free(address);
        }
    };
    for round in 0..ROUNDS {
        // xorshift64, whose quality is sufficient here.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let is_pooled = random.is_multiple_of(4) == (at < 4);
        let bytes = (random >> 20) as usize % 200_000 + 1;
        let address = if is_pooled {
            gpu.alloc_async(bytes, null_mut())
        } else {
            gpu.alloc(bytes)
        };
        match random % 16 {
            0 => {} // Stays.
            // The neighbour may have ended.
            1..=8 => drop(neighbour.send((is_pooled, address))),
            _ => free((is_pooled, address)),
        }
        while let Ok(theirs) = inbox.try_recv() {
            free(theirs);
        }
        if round % 256 == 255 {
            gpu.synchronise();
        }
    }
}

/// A hundred thousand events, for a capture that keeps only the newest.
pub(crate) fn long(gpu: &Gpu) {
    let stays = gpu.alloc(1 << 20);
    let mut held = std::collections::VecDeque::new();
    for n in 0..50_000 {
        held.push_back(gpu.alloc_async(n % 10_000 + 1, null_mut()));
        if held.len() > 100 {
            gpu.free_async(held.pop_front().unwrap_or_default(), null_mut());
        }
    }
    assert_ne!(stays, 0);
    println!("long: done");
}
