//! Bytes held from the device, in total and by pool and stream.

use std::collections::HashMap;

use vramscope_core::analysis::memory::gap::Arena;
use vramscope_core::sorting::SortFew;

/// Bytes held from the device. Every change takes constant time, however many pools and streams there are.
#[derive(Default)]
pub(super) struct Reserved {
    /// Total over pools and streams.
    pub(super) bytes: u64,
    arenas: Vec<Held>,
    rows: HashMap<Arena, u32>,
    /// Rows of `arenas` that changed since the last moment.
    changed: Vec<u32>,
}

struct Held {
    arena: Arena,
    bytes: u64,
    /// The maximum at the end of any moment.
    most: u64,
    has_changed: bool,
}

impl Reserved {
    pub(super) fn obtain(&mut self, arena: Arena, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        let held = self.changing(arena);
        held.bytes = held.bytes.saturating_add(bytes);
    }

    pub(super) fn give_back(&mut self, arena: Arena, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        let held = self.changing(arena);
        held.bytes = held.bytes.saturating_sub(bytes);
    }

    fn changing(&mut self, arena: Arena) -> &mut Held {
        let arenas = &mut self.arenas;
        let row = *self.rows.entry(arena).or_insert_with(|| {
            arenas.push(Held {
                arena,
                bytes: 0,
                most: 0,
                has_changed: false,
            });
            arenas.len() as u32 - 1
        });
        let held = &mut arenas[row as usize];
        if !std::mem::replace(&mut held.has_changed, true) {
            self.changed.push(row);
        }
        held
    }

    /// Ends a moment. Only values at the end of a moment count for peaks.
    pub(super) fn end_moment(&mut self) {
        for row in self.changed.drain(..) {
            let held = &mut self.arenas[row as usize];
            held.has_changed = false;
            held.most = held.most.max(held.bytes);
        }
    }

    /// The peak of each pool and stream, the largest first.
    pub(super) fn peaks(&self) -> Vec<(Arena, u64)> {
        let held = self.arenas.iter().filter(|held| held.most > 0);
        let mut peaks: Vec<_> = held.map(|held| (held.arena, held.most)).collect();
        peaks.sort_few_by_key(|&(arena, most)| (std::cmp::Reverse(most), arena));
        peaks
    }
}
