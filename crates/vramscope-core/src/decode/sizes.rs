//! Removes impossible sizes: they are counted and replaced by 0, so that no sum contains them. They contradict other
//! statements of the file about the same memory, and it is unknown which of the two is wrong. All snapshots pass through
//! here, whether read, built or cut, so no other code needs to handle such sizes.

use crate::Snapshot;
use crate::model::{
    Action, Block, BlockState, BlockTable, LARGEST_BYTES, Segment, SegmentTable, Tenant,
    UNKNOWN_FREE, WarningKind, Warnings,
};

use super::key::Key;

/// Removes the impossible sizes of segments, blocks and events. Computes the blocks' addresses if the file has none.
pub(crate) fn leave_out_impossible(snapshot: &mut Snapshot, found: &mut Warnings) {
    let has_addresses = snapshot.keys.block & Key::Address.bit() != 0;
    let blocks = &mut snapshot.blocks;
    let tables = [
        ("segments", &mut snapshot.segments),
        ("host_segments", &mut snapshot.host_segments),
    ];
    for (name, SegmentTable { rows }) in tables {
        for (index, segment) in rows.iter_mut().enumerate() {
            let place = || format!("{name}[{index}]");
            settle_segment(segment, blocks, has_addresses, found, &place);
        }
    }
    for device in 0..snapshot.traces.len() {
        let rows = snapshot.traces[device].clone();
        settle_events(snapshot, rows, found, &|| {
            format!("device_traces[{device}]")
        });
    }
    let rows = snapshot.host_trace.clone();
    settle_events(snapshot, rows, found, &|| "host_traces".to_owned());
}

fn is_possible(bytes: u64) -> bool {
    bytes <= LARGEST_BYTES
}

/// Whether so many bytes fit between an address and the end of all addresses.
fn has_room(address: u64, bytes: u64) -> bool {
    is_possible(bytes) && address.checked_add(bytes.saturating_sub(1)).is_some()
}

fn settle_segment(
    segment: &mut Segment,
    blocks: &mut BlockTable,
    has_addresses: bool,
    found: &mut Warnings,
    place: &dyn Fn() -> String,
) {
    let is_placed = has_room(segment.address, segment.total_size);
    let sums = [
        segment.allocated_size,
        segment.active_size,
        segment.requested_size,
    ];
    let mut is_sound = is_placed && sums.into_iter().flatten().all(is_possible);
    if !is_sound {
        found.add(WarningKind::ImpossibleSize, place);
    }
    if !is_placed {
        segment.total_size = 0;
    }
    let rows = segment.blocks.start as usize..segment.blocks.end as usize;
    let rows = blocks.rows.get_mut(rows).unwrap_or_default();
    let mut next = segment.address;
    for (index, block) in rows.iter_mut().enumerate() {
        // torch up to 2.0 and `_profile_to_snapshot` write no addresses: each block begins where the one before it ends.
        if !has_addresses {
            block.address = next;
        }
        if !settle_block(block, &mut blocks.tenants) {
            let place = || format!("{}.blocks[{index}]", place());
            found.add(WarningKind::ImpossibleSize, place);
            is_sound = false;
        }
        // A segment without bytes contains nothing.
        if !is_placed {
            block.size = 0;
            settle_block(block, &mut blocks.tenants);
        }
        next = block.address.wrapping_add(block.size);
    }
    // The stated sums include what was removed.
    if !is_sound {
        state_sums(segment, blocks);
    }
}

/// Replaces the sums that a segment states by those of its blocks.
fn state_sums(segment: &mut Segment, blocks: &BlockTable) {
    let sum = |is_counted: fn(&Block) -> bool, bytes: &dyn Fn(&Block) -> u64| {
        let rows = segment.block_ids().map(|id| blocks.get(id));
        let counted = rows.filter(|block| is_counted(block));
        counted.fold(0_u64, |sum, block| sum.saturating_add(bytes(block)))
    };
    let size = |block: &Block| block.size;
    let requested = |block: &Block| blocks.requested_bytes(block);
    let is_allocated = |block: &Block| block.state == BlockState::ActiveAllocated;
    let is_active = |block: &Block| block.state.is_active();
    let sums = [
        sum(is_allocated, &size),
        sum(is_active, &size),
        sum(is_active, &requested),
    ];
    let stated = [
        &mut segment.allocated_size,
        &mut segment.active_size,
        &mut segment.requested_size,
    ];
    for (stated, sum) in stated.into_iter().zip(sums) {
        *stated = stated.map(|_| sum);
    }
}

/// Removes the impossible sizes of a block; `false` if there was one.
fn settle_block(block: &mut Block, tenants: &mut [Tenant]) -> bool {
    let rows = block.history.clone().unwrap_or_default();
    let tenants = tenants.get_mut(rows.start as usize..rows.end as usize);
    let tenants = tenants.unwrap_or_default();
    let mut is_sound = has_room(block.address, block.size);
    if !is_sound {
        block.size = 0;
    }
    // A block that is not in use keeps the last requested size, perhaps of a larger block; so do all tenants but the last.
    let most_requested = match block.state.is_active() {
        true => block.size,
        false => LARGEST_BYTES,
    };
    let is_stated = block.requested_size.is_some();
    if block
        .requested_size
        .is_some_and(|bytes| bytes > most_requested)
    {
        // The requested size is unknown, so the whole block counts as requested.
        block.requested_size = Some(block.size);
        is_sound = false;
    }
    for (index, tenant) in tenants.iter_mut().enumerate() {
        let is_last = index == 0 && !is_stated;
        let most = if is_last {
            most_requested
        } else {
            LARGEST_BYTES
        };
        if tenant.real_size > most {
            tenant.real_size = block.size;
            is_sound = false;
        }
    }
    is_sound
}

fn settle_events(
    snapshot: &mut Snapshot,
    rows: std::ops::Range<u32>,
    found: &mut Warnings,
    trace: &dyn Fn() -> String,
) {
    let rows_of = rows.start as usize..rows.end as usize;
    let events = &mut snapshot.events;
    let (Some(actions), Some(addresses), Some(sizes)) = (
        events.action.get(rows_of.clone()),
        events.addr.get_mut(rows_of.clone()),
        events.size.get_mut(rows_of),
    ) else {
        return;
    };
    let events = actions.iter().zip(addresses).zip(sizes);
    for (index, ((action, addr), size)) in events.enumerate() {
        // A snapshot event has no address. An oom has the device's free bytes in place of one, and a program may request any
        // size but a negative one.
        let (is_addr_sound, is_size_sound) = match action {
            Action::Other(_) => continue,
            Action::Oom => (
                is_possible(*addr) || *addr == UNKNOWN_FREE,
                i64::try_from(*size).is_ok(),
            ),
            Action::Snapshot => (true, is_possible(*size)),
            _ => (true, has_room(*addr, *size)),
        };
        if !is_addr_sound {
            *addr = UNKNOWN_FREE;
        }
        if !is_size_sound {
            *size = 0;
        }
        if !is_addr_sound || !is_size_sound {
            found.add(WarningKind::ImpossibleSize, || {
                format!("{}[{index}]", trace())
            });
        }
    }
}
