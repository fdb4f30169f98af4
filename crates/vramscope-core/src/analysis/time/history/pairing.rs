//! Pairs alloc and free events into allocations, and finds those older than the recording.
//!
//! One pass keeps a map from address to the live allocation there, as process_alloc_data.js of the official viewer does
//! (FORMAT.md 4.2). It differs in three points:
//! - An alloc at an address that is still taken ends the older allocation there. The official viewer keeps it for ever,
//!   on top of the newer one.
//! - Blocks of the final state that are pending free count as live. The official viewer leaves them out.
//! - A free that was requested but never completed, and is not pending in the final state, ended with its request.
//!   Traces recorded with `skip_actions=["free_completed"]` are like that.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{AllocationTable, History, Mismatches, NEVER};
use crate::Snapshot;
use crate::ids::{AllocationId, BlockId};
use crate::model::{Action, BlockState, DeviceIndex, Profile};
use crate::sorting::SortFew;

/// Stands for no allocation.
const NONE: u32 = u32::MAX;

/// Marks a row of `before` instead of `recorded`.
const BEFORE: u32 = 1 << 31;

/// Marks a row of the allocations that are only in the final state.
const GHOST: u32 = 1 << 30;

/// The address of memory that is only known as a sum. No device has this address.
const NOWHERE: u64 = 1 << 62;

/// The state of an address.
#[derive(Clone, Copy)]
struct AddressState {
    /// The live allocation: a row of `recorded`, or of `before` with [`BEFORE`], or [`NONE`].
    row: u32,
    /// Number of allocations that have ended here.
    version: u32,
}

struct Pairing {
    addresses: HashMap<u64, AddressState, RandomState>,
    /// Allocations with an alloc event, by birth.
    recorded: AllocationTable,
    /// Allocations known only from their free, in order of the frees.
    before: AllocationTable,
    allocation_of_event: Vec<u32>,
    mismatches: Mismatches,
}

pub(super) fn pair(snapshot: &Snapshot, device: DeviceIndex, rows: Range<u32>) -> History {
    let events = &snapshot.events;
    let actions = events
        .action
        .get(rows.start as usize..rows.end as usize)
        .unwrap_or(&[]);
    let allocs = actions
        .iter()
        .filter(|&&action| action == Action::Alloc)
        .count();
    let mut pairing = Pairing {
        addresses: HashMap::default(),
        recorded: with_capacity(allocs),
        before: AllocationTable::default(),
        allocation_of_event: Vec::with_capacity(actions.len()),
        mismatches: Mismatches::default(),
    };
    for (moment, row) in (1..).zip(rows.clone()) {
        let (address, bytes) = (events.addr[row as usize], events.size[row as usize]);
        let allocation = match events.action[row as usize] {
            Action::Alloc => pairing.alloc(moment, address, bytes),
            Action::FreeRequested => pairing.free_requested(moment, address, bytes),
            Action::FreeCompleted => pairing.free_completed(moment, address, bytes),
            Action::Annotate => pairing
                .addresses
                .get(&address)
                .map_or(NONE, |state| state.row),
            _ => NONE,
        };
        pairing.allocation_of_event.push(allocation);
    }
    pairing.finish(snapshot, device, rows)
}

fn with_capacity(rows: usize) -> AllocationTable {
    AllocationTable {
        address: Vec::with_capacity(rows),
        bytes: Vec::with_capacity(rows),
        born: Vec::with_capacity(rows),
        free_requested: Vec::with_capacity(rows),
        died: Vec::with_capacity(rows),
        version: Vec::with_capacity(rows),
    }
}

impl AllocationTable {
    fn push(&mut self, address: u64, bytes: u64, born: u32, version: u32) -> u32 {
        self.address.push(address);
        self.bytes.push(bytes);
        self.born.push(born);
        self.free_requested.push(NEVER);
        self.died.push(NEVER);
        self.version.push(version);
        self.bytes.len() as u32 - 1
    }

    fn append_row(&mut self, from: &Self, row: usize) {
        self.address.push(from.address[row]);
        self.bytes.push(from.bytes[row]);
        self.born.push(from.born[row]);
        self.free_requested.push(from.free_requested[row]);
        self.died.push(from.died[row]);
        self.version.push(from.version[row]);
    }
}

impl Pairing {
    fn row_mut(&mut self, row: u32) -> (&mut AllocationTable, usize) {
        if row & BEFORE == 0 {
            (&mut self.recorded, row as usize)
        } else {
            (&mut self.before, (row & !BEFORE) as usize)
        }
    }

    fn alloc(&mut self, moment: u32, address: u64, bytes: u64) -> u32 {
        let state = self.addresses.entry(address).or_insert(AddressState {
            row: NONE,
            version: 0,
        });
        let older = state.row;
        if older != NONE {
            state.version += 1;
        }
        let row = self.recorded.push(address, bytes, moment, state.version);
        state.row = row;
        if older != NONE {
            let (table, row) = self.row_mut(older);
            // If a free was requested and its completion not recorded, the allocation ended with the request, otherwise
            // now.
            let requested = table.free_requested[row];
            table.died[row] = if requested == NEVER {
                moment
            } else {
                requested
            };
            if requested == NEVER {
                self.mismatches.alloc_at_live_address += 1;
            } else {
                self.mismatches.requested_without_completion += 1;
            }
        }
        row
    }

    fn free_requested(&mut self, moment: u32, address: u64, bytes: u64) -> u32 {
        let row = self.live_row(address, bytes);
        let (table, index) = self.row_mut(row);
        if table.free_requested[index] == NEVER {
            table.free_requested[index] = moment;
        }
        row
    }

    fn free_completed(&mut self, moment: u32, address: u64, bytes: u64) -> u32 {
        let row = self.live_row(address, bytes);
        let (table, index) = self.row_mut(row);
        table.died[index] = moment;
        if table.free_requested[index] == NEVER {
            self.mismatches.completed_without_request += 1;
        }
        if let Some(state) = self.addresses.get_mut(&address) {
            *state = AddressState {
                row: NONE,
                version: state.version + 1,
            };
        }
        row
    }

    /// The live allocation at an address. If none is known, it must be older than the recording, and is added.
    fn live_row(&mut self, address: u64, bytes: u64) -> u32 {
        let state = self.addresses.entry(address).or_insert(AddressState {
            row: NONE,
            version: 0,
        });
        if state.row == NONE {
            state.row = self.before.push(address, bytes, 0, state.version) | BEFORE;
        }
        state.row
    }

    fn finish(mut self, snapshot: &Snapshot, device: DeviceIndex, rows: Range<u32>) -> History {
        let blocks = active_blocks(snapshot, device);
        self.end_completed(&blocks, !snapshot.segments.is_empty());

        let mut ghosts = AllocationTable::default();
        let mut final_blocks: Vec<(u32, BlockId)> = Vec::new();
        for &(address, block, state) in &blocks {
            let known = self.addresses.get(&address).copied();
            match known.filter(|known| known.row != NONE) {
                Some(known) => final_blocks.push((known.row, block)),
                None => {
                    let bytes = snapshot.blocks.requested_bytes(snapshot.blocks.get(block));
                    let row =
                        ghosts.push(address, bytes, 0, known.map_or(0, |known| known.version));
                    if state == BlockState::ActivePendingFree {
                        ghosts.free_requested[row as usize] = 0;
                    }
                    final_blocks.push((row | GHOST, block));
                }
            }
        }
        // Memory that a profile gives only as a sum.
        let before_bytes = Profile::of(snapshot)
            .and_then(|profile| Some(profile.device(device)?.before_bytes))
            .unwrap_or(0);
        if before_bytes > 0 {
            ghosts.push(NOWHERE, before_bytes, 0, 0);
        }
        self.count_unmatched(snapshot, &final_blocks);
        self.assemble(device, rows, &ghosts, &final_blocks)
    }

    /// Ends the allocations with a requested free that was not completed and is not pending in the final state.
    fn end_completed(&mut self, blocks: &[(u64, BlockId, BlockState)], has_segments: bool) {
        if !has_segments {
            return;
        }
        let pending = |address: u64| {
            let found = blocks.binary_search_by_key(&address, |&(address, ..)| address);
            found.is_ok_and(|index| blocks[index].2 == BlockState::ActivePendingFree)
        };
        for table in [&mut self.recorded, &mut self.before] {
            for row in 0..table.len() {
                let requested = table.free_requested[row];
                if table.died[row] == NEVER && requested != NEVER && !pending(table.address[row]) {
                    table.died[row] = requested;
                    self.mismatches.requested_without_completion += 1;
                    if let Some(state) = self.addresses.get_mut(&table.address[row]) {
                        *state = AddressState {
                            row: NONE,
                            version: state.version + 1,
                        };
                    }
                }
            }
        }
    }

    fn count_unmatched(&mut self, snapshot: &Snapshot, final_blocks: &[(u32, BlockId)]) {
        let mut matched = 0;
        for &(row, block) in final_blocks.iter().filter(|(row, _)| row & GHOST == 0) {
            matched += 1;
            let bytes = snapshot.blocks.requested_bytes(snapshot.blocks.get(block));
            let (table, index) = self.row_mut(row);
            if table.bytes[index] != bytes {
                self.mismatches.block_size_differs += 1;
            }
        }
        let live = |table: &AllocationTable| {
            table.died.iter().filter(|&&died| died == NEVER).count() as u64
        };
        if !snapshot.segments.is_empty() {
            // A damaged file may list two blocks at one address.
            let live = live(&self.recorded) + live(&self.before);
            self.mismatches.live_without_block = live.saturating_sub(matched);
        }
    }

    /// Puts the three kinds into stacking order. Allocations that span the whole recording are at the bottom; above are
    /// the other older ones, those freed last first; on top are the allocations made during the recording.
    fn assemble(
        self,
        device: DeviceIndex,
        rows: Range<u32>,
        ghosts: &AllocationTable,
        final_blocks: &[(u32, BlockId)],
    ) -> History {
        let before_recording = ghosts.len() + self.before.len();
        let mut allocations = with_capacity(before_recording + self.recorded.len());
        for row in 0..ghosts.len() {
            allocations.append_row(ghosts, row);
        }
        for row in (0..self.before.len()).rev() {
            allocations.append_row(&self.before, row);
        }
        for row in 0..self.recorded.len() {
            allocations.append_row(&self.recorded, row);
        }
        let id_of = |row: u32| match row {
            NONE => NONE,
            row if row & GHOST != 0 => row & !GHOST,
            row if row & BEFORE != 0 => (before_recording as u32 - 1) - (row & !BEFORE),
            row => before_recording as u32 + row,
        };
        let mut allocation_of_event = self.allocation_of_event;
        for row in &mut allocation_of_event {
            *row = id_of(*row);
        }
        let mut final_blocks: Vec<_> = final_blocks
            .iter()
            .map(|&(row, block)| (AllocationId(id_of(row)), block))
            .collect();
        final_blocks.sort_unstable();
        History {
            device,
            first_event: rows.start,
            event_count: rows.end - rows.start,
            allocations,
            before_recording: before_recording as u32,
            allocation_of_event,
            final_blocks,
            mismatches: self.mismatches,
            ..History::default()
        }
    }
}

/// Address, row and state of the device's active blocks, by address.
fn active_blocks(snapshot: &Snapshot, device: DeviceIndex) -> Vec<(u64, BlockId, BlockState)> {
    let own = snapshot
        .segments
        .rows
        .iter()
        .filter(|segment| u32::try_from(segment.device) == Ok(device));
    let mut blocks: Vec<_> = own
        .flat_map(crate::model::Segment::block_ids)
        .map(|id| {
            (
                snapshot.blocks.get(id).address,
                id,
                snapshot.blocks.get(id).state,
            )
        })
        .filter(|&(_, _, state)| state.is_active())
        .collect();
    // Files list them in this order.
    blocks.sort_few_by_key(|&(address, id, _)| (address, id));
    blocks
}
