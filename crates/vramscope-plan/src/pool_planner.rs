//! Inductor's memory planner: buffers with known lifetimes are placed in pools, as `memory_planning=True` does.
//!
//! Follows `torch/_inductor/codegen/memory_planning.py` of torch 2.15 offset by offset, oddities included: a hole
//! inside a slot is not checked again after alignment, so a pool can become larger than what it was split from;
//! intermediates may land in the pools of outputs; sizes are not rounded at the end. It packs greedily in an allocation
//! tree; [`packing`](crate::packing) often needs less.

mod tree;

use std::cmp::Reverse;

use self::tree::{Block, Tree, tell_into};
use crate::packing::Problem;
use crate::ranges::{Range, Ranges};

/// Offsets inside a pool are multiples of this.
pub const ALIGN_BYTES: u64 = 64;

/// Most buffers; more would take too long, because placing one may examine all placed before it.
pub const MOST_BUFFERS: usize = 1 << 13;

/// `config.memory_pool`: the buffers that share a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every pool is as large as its first buffer. Other buffers share it only if they fit.
    None,
    /// Intermediates share one pool per device; each output has its own. PyTorch's default.
    Intermediates,
    /// Intermediates share one pool and outputs another.
    Outputs,
    /// All buffers share one pool.
    Combined,
}

/// A buffer to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Size in bytes. If it depends on data, inductor's estimate.
    pub size: u64,
    /// Its life; the end is exclusive.
    pub life: Range,
    /// The device that it is on.
    pub device: u32,
    /// Whether the graph returns it.
    pub is_output: bool,
    /// Whether its size depends on data. If so, its pool cannot exist before the size is known.
    pub has_unbacked_size: bool,
}

/// The pool and offset of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolOffset {
    /// Index into [`Plan::pools`].
    pub pool: usize,
    /// First byte in the pool.
    pub offset: u64,
}

/// One allocation that buffers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The device that it is on.
    pub device: u32,
    /// Whether it may grow while it is planned.
    pub can_expand: bool,
    /// Bytes.
    pub size: u64,
    /// Bytes that the planner assumed it to have. More than `size` if slots stayed empty.
    pub size_hint: u64,
    /// The times at which something in it is live, from its first use to its last.
    pub live: Ranges,
    /// Its allocation tree, the root first. Children are named by their index in this list.
    pub tree: Vec<Node>,
}

/// A node of a [`Pool`]'s allocation tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A buffer, by its index.
    Buffer(usize),
    /// Nodes that use the same bytes at different times.
    Temporal(Vec<usize>),
    /// Two nodes side by side.
    Spatial(Vec<usize>),
}

/// The pools, and the place of each buffer in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The place of each buffer.
    pub offsets: Vec<PoolOffset>,
    /// All pools, by device and then in the order in which they were created.
    pub pools: Vec<Pool>,
}

impl Plan {
    /// Bytes of all pools together, saturating.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        (self.pools.iter()).fold(0, |sum, pool| sum.saturating_add(pool.size))
    }
}

/// Plans pools in slices of work.
pub struct Planner {
    mode: Mode,
    buffers: Vec<Buffer>,
    /// The order of placement.
    order: Vec<usize>,
    placed: usize,
    /// The growing pools of each device. Devices are in order of first use.
    devices: Vec<(u32, Vec<Growing>)>,
}

struct Growing {
    tree: Tree,
    can_expand: bool,
    /// The pool cannot be used earlier, because its size is not known before.
    earliest: Option<u64>,
}

impl Planner {
    /// A planner that has placed nothing yet.
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

    /// A planner for a graph whose intermediates are these buffers. Inductor knows no alignment but its own.
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

    /// Works until `is_over` returns true or all buffers are placed. Returns whether they are.
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

    /// The plan of the buffers placed so far.
    #[must_use]
    pub fn finish(self) -> Plan {
        let mut plan = Plan {
            offsets: vec![PoolOffset::default(); self.buffers.len()],
            pools: Vec::new(),
        };
        for (device, pools) in self.devices {
            for pool in pools {
                let live = pool.tree.live().clone();
                let number = plan.pools.len();
                let finished = pool.tree.finish(tell_into(&mut plan.offsets, number));
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
        // As in PyTorch, 0 counts as unset.
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
