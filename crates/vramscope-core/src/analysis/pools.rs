//! Inductor's memory planner: buffers with known lifetimes into pools, as torch of `memory_planning=True` would.
//!
//! Follows `torch/_inductor/codegen/memory_planning.py` of torch 2.15 offset by offset, also where it is odd: a hole
//! inside a slot is not checked again after alignment, so that a pool can become larger than what it was
//! split from; intermediates may land in the pools of outputs; sizes are not rounded at the end. It packs greedily by
//! a tree, and [`packing`](super::packing) often needs less.

mod tree;

use std::cmp::Reverse;

use self::tree::{Block, Tree, tell_into};
use super::packing::Problem;
use super::ranges::{Range, Ranges};

/// What offsets inside a pool are multiples of.
pub const ALIGN_BYTES: u64 = 64;

/// Of more buffers than this nobody should wait for a plan: each may look at all that were placed before it.
pub const MOST_BUFFERS: usize = 1 << 13;

/// What `config.memory_pool` says: which buffers share pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Pools as large as their first buffer, shared only by what fits into it.
    None,
    /// Intermediates share one pool per device; each output has its own. PyTorch's default.
    Intermediates,
    /// Intermediates share one, and outputs another.
    Outputs,
    /// All share one.
    Combined,
}

/// A buffer to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes; for a size that depends on data, what inductor expects.
    pub size: u64,
    /// When it is live. The end is not part of it.
    pub life: Range,
    /// Which device it is on.
    pub device: u32,
    /// Whether the graph returns it.
    pub is_output: bool,
    /// Whether its size depends on data: then its pool cannot exist before it.
    pub has_unbacked_size: bool,
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which of [`Plan::pools`].
    pub pool: usize,
    /// First byte in it.
    pub offset: u64,
}

/// One allocation that buffers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Which device it is on.
    pub device: u32,
    /// Whether it could grow.
    pub can_expand: bool,
    /// Bytes.
    pub size: u64,
    /// Bytes that the planner took it to offer; more than `size` where slots were left empty.
    pub size_hint: u64,
    /// When something in it is live: its first use and its last are the ends.
    pub live: Ranges,
    /// What shares it how; the root first, children by their place in here.
    pub tree: Vec<Node>,
}

/// A part of a [`Pool`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A buffer.
    Buffer(usize),
    /// Parts that take turns.
    Temporal(Vec<usize>),
    /// Two parts side by side.
    Spatial(Vec<usize>),
}

/// Where everything lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// By buffer.
    pub places: Vec<Place>,
    /// By device, in the order in which they were needed.
    pub pools: Vec<Pool>,
}

impl Plan {
    /// Bytes of all pools. Saturates.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        (self.pools.iter()).fold(0, |sum, pool| sum.saturating_add(pool.size))
    }
}

/// Plans pools; can be stopped and asked to go on.
pub struct Planner {
    mode: Mode,
    buffers: Vec<Buffer>,
    /// In which order they are placed.
    order: Vec<usize>,
    placed: usize,
    /// By device, in the order of first use.
    devices: Vec<(u32, Vec<Growing>)>,
}

struct Growing {
    tree: Tree,
    can_expand: bool,
    /// Nothing may live here before this, as the pool's size is not known earlier.
    earliest: Option<u64>,
}

impl Planner {
    /// Nothing is placed yet.
    #[must_use]
    pub fn new(buffers: Vec<Buffer>, mode: Mode) -> Self {
        let length = |i: usize| Reverse(buffers[i].life.end.saturating_sub(buffers[i].life.start));
        let is_apart = |i: &usize| buffers[*i].is_output && mode != Mode::Combined;
        let (mut order, mut rest): (Vec<_>, Vec<_>) = (0..buffers.len()).partition(is_apart);
        order.sort_by_key(|&i| (buffers[i].size, length(i)));
        rest.sort_by_key(|&i| (Reverse(buffers[i].size), length(i)));
        order.append(&mut rest);
        Self {
            mode,
            buffers,
            order,
            placed: 0,
            devices: Vec::new(),
        }
    }

    /// What inductor would do with the intermediates of a graph that had these buffers. It knows no alignment
    /// but its own.
    #[must_use]
    pub fn of_problem(problem: &Problem) -> Self {
        let lives = problem.lower.iter().zip(&problem.upper);
        let buffers = lives
            .zip(&problem.size)
            .map(|((&start, &end), &size)| Buffer {
                size,
                life: Range { start, end },
                device: 0,
                is_output: false,
                has_unbacked_size: false,
            });
        Self::new(buffers.collect(), Mode::Intermediates)
    }

    /// Goes on until `is_over` or until all is placed; whether it is.
    pub fn run(&mut self, is_over: &mut dyn FnMut() -> bool) -> bool {
        while let Some(&buffer) = self.order.get(self.placed) {
            self.place(buffer);
            self.placed += 1;
            if is_over() {
                break;
            }
        }
        self.placed == self.order.len()
    }

    /// The plan of what is placed.
    #[must_use]
    pub fn finish(self) -> Plan {
        let mut plan = Plan {
            places: vec![Place::default(); self.buffers.len()],
            pools: Vec::new(),
        };
        for (device, pools) in self.devices {
            for pool in pools {
                let live = pool.tree.live().clone();
                let number = plan.pools.len();
                let finished = pool.tree.finish(tell_into(&mut plan.places, number));
                plan.pools.push(Pool {
                    device,
                    can_expand: pool.can_expand,
                    size: finished.size,
                    size_hint: finished.size_hint,
                    live,
                    tree: finished.nodes,
                });
            }
        }
        plan
    }

    fn place(&mut self, number: usize) {
        let buffer = self.buffers[number];
        let block = Block {
            buffer: number,
            size: buffer.size,
            life: buffer.life,
        };
        // As in PyTorch, 0 counts as none.
        let earliest =
            Some(buffer.life.start).filter(|&begin| buffer.has_unbacked_size && begin > 0);
        let known = self
            .devices
            .iter()
            .position(|&(device, _)| device == buffer.device);
        let known = known.unwrap_or_else(|| {
            self.devices.push((buffer.device, Vec::new()));
            self.devices.len() - 1
        });
        let pools = &mut self.devices[known].1;
        let can_expand = if buffer.is_output && self.mode != Mode::Combined {
            if self.mode == Mode::Outputs
                && let Some(pool) = pools.last_mut()
            {
                pool.tree.append(block);
                pool.note(earliest);
                return;
            }
            false
        } else {
            let last = pools.len().wrapping_sub(1);
            let mut all = pools.iter_mut().enumerate();
            if all.any(|(i, pool)| pool.allocate(block, earliest, i == last)) {
                return;
            }
            self.mode != Mode::None
        };
        pools.push(Growing {
            tree: Tree::new(block),
            can_expand,
            earliest,
        });
    }
}

impl Growing {
    fn allocate(&mut self, block: Block, earliest: Option<u64>, is_last: bool) -> bool {
        let begin = self.tree.live().first().map_or(0, |range| range.start);
        let is_early = self
            .earliest
            .is_some_and(|earliest| block.life.start < earliest);
        if is_early || earliest.is_some_and(|earliest| earliest > begin) {
            return false;
        }
        let may_grow = is_last && self.can_expand;
        if !self.tree.allocate(block, may_grow) {
            if !may_grow {
                return false;
            }
            self.tree.append(block);
        }
        self.note(earliest);
        true
    }

    fn note(&mut self, earliest: Option<u64>) {
        self.earliest = match (self.earliest, earliest) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

#[cfg(test)]
mod tests;
