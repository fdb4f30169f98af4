//! The snapshots of a job's ranks, all alike but for a few that are odd on purpose.

use std::io::{self, Write};

use crate::rng::Rng;
use crate::training::{self, Habit, Options, Scale};

/// In what a rank differs from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddness {
    /// Every step keeps a tensor.
    Leak,
    /// Twice as many tokens.
    LargerBatch,
    /// Free memory is scattered.
    Fragmentation,
    /// The device is too small, and the run ends early.
    OutOfMemory,
}

impl Oddness {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::Leak,
        Self::LargerBatch,
        Self::Fragmentation,
        Self::OutOfMemory,
    ];
}

/// A job of so many ranks, of which each records so many events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    events: usize,
    scale: Scale,
    seed: u64,
    /// By rank; in the order of [`Oddness::ALL`].
    odd: Vec<u32>,
    ranks: u32,
}

impl Fleet {
    /// Plans a job. The seed decides which ranks are odd: one of each kind, if there are ten ranks or more.
    #[must_use]
    pub fn new(ranks: u32, events: usize, scale: Scale, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut odd = Vec::new();
        while ranks >= 10 && odd.len() < Oddness::ALL.len() {
            let rank = rng.between(0, u64::from(ranks) - 1) as u32;
            if !odd.contains(&rank) {
                odd.push(rank);
            }
        }
        Self {
            events,
            scale,
            seed,
            odd,
            ranks,
        }
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// In what a rank differs; `None` if it is as the others.
    #[must_use]
    pub fn oddness(&self, rank: u32) -> Option<Oddness> {
        let place = self.odd.iter().position(|&odd| odd == rank)?;
        Some(Oddness::ALL[place])
    }

    /// The name of a rank's file, as torchtitan has it.
    #[must_use]
    pub fn name(&self, rank: u32) -> String {
        format!("iteration_100/rank{rank}_memory_snapshot.pickle")
    }

    /// Writes a rank's snapshot.
    ///
    /// # Errors
    /// When the sink refuses bytes.
    pub fn write<W: Write>(&self, rank: u32, out: W) -> io::Result<W> {
        let mut options = Options {
            events: self.events,
            // Ranks train on different batches.
            seed: self.seed.wrapping_mul(1_000_003).wrapping_add(rank.into()),
            scale: self.scale,
            ..Options::default()
        };
        match self.oddness(rank) {
            None => {}
            Some(Oddness::Leak) => options.habit = Habit::Leaks,
            Some(Oddness::LargerBatch) => options.scale.tokens *= 2,
            Some(Oddness::Fragmentation) => options.habit = Habit::Fragments,
            Some(Oddness::OutOfMemory) => options.scale.device_bytes = needed(&options),
        }
        training::write(&options, out)
    }
}

/// Less memory than a run needs: what its model and its optimizer need, and little more.
fn needed(options: &Options) -> u64 {
    let Scale { layers, width, .. } = options.scale;
    // Twelve matrices a block, in bfloat16 with a gradient, and two states in float32.
    let blocks = layers.iter().sum::<usize>() as u64;
    blocks * 12 * width * width * 12
}
