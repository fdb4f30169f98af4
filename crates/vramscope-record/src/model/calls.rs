//! What each call of the driver does to the address spaces.

use std::ops::Range;

use vramscope_core::model::Action;

use super::journal::{By, Entry, Place, PoolRow};
use super::pools::{NO_POOL, PoolKey};
use super::samples::Sample;
use super::space::{Grant, Keeping};
use super::{Array, Gone, Recording};
use crate::layout::{Call, Event, OUT_OF_MEMORY, SUCCESS, flags};

impl Recording {
    /// One call.
    pub(super) fn event(&mut self, event: &Event) {
        self.counts.events += 1;
        self.journal.advance(event.time_ns);
        let Some(call) = Call::of_number(event.call) else {
            self.counts.unknown_calls += 1;
            return;
        };
        if event.flags & flags::FREE_FAILED != 0 {
            self.free_failed(event, call);
        } else if event.result == OUT_OF_MEMORY {
            self.out_of_memory(event, call);
        } else if event.result == SUCCESS {
            self.device.undo.clear();
            self.host.undo.clear();
            self.succeeded(event, call);
        }
    }

    fn succeeded(&mut self, event: &Event, call: Call) {
        match call {
            Call::cuMemAlloc
            | Call::cuMemAllocPitch
            | Call::cuMemAllocManaged
            | Call::cuExternalMemoryGetMappedBuffer
            | Call::cuMemAllocAsync
            | Call::cuMemAllocFromPoolAsync
            | Call::cuMemPoolImportPointer
            | Call::cuGraphAddMemAllocNode => self.alloc(event, call),
            Call::cuIpcOpenMemHandle => self.open(event, call),
            Call::cuMemFree
            | Call::cuMemFreeAsync
            | Call::cuIpcCloseMemHandle
            | Call::cuGraphAddMemFreeNode => self.free(event, call),
            Call::cuMemHostAlloc | Call::cuMemAllocHost | Call::cuMemHostRegister => {
                self.alloc_host(event, call);
            }
            Call::cuMemFreeHost | Call::cuMemHostUnregister => self.free(event, call),
            // What a pool gave back says the sample that follows.
            Call::cuMemAddressReserve | Call::cuMemAddressFree | Call::cuMemPoolTrimTo => {}
            Call::cuMemCreate | Call::cuMemImportFromShareableHandle => self.create(event, call),
            Call::cuMemRelease => {
                let released = self.device.physical.release(event.pool);
                self.remember(event, Gone::Physical(released));
            }
            Call::cuMemMap => self.map(event, call),
            Call::cuMemUnmap => self.unmap(event, call),
            Call::cuMemPoolCreate => {
                self.device.pools.other(event.pool);
            }
            Call::cuMemPoolDestroy => self.destroy_pool(event, call),
            Call::cuCtxDestroy
            | Call::cuDevicePrimaryCtxRelease
            | Call::cuDevicePrimaryCtxReset => {
                self.end_context(event, call);
            }
            Call::cuArrayCreate | Call::cuArray3DCreate | Call::cuMipmappedArrayCreate => {
                self.create_array(event);
            }
            Call::cuArrayDestroy | Call::cuMipmappedArrayDestroy => {
                let array = self.arrays.remove(&event.address);
                self.remember(event, Gone::Array(array));
            }
            Call::suballoc => self.suballoc(event, call),
            Call::annotate => self.annotate(event, call),
            Call::subfree => self.subfree(event, call),
        }
    }

    fn create(&mut self, event: &Event, call: Call) {
        let is_owned = call == Call::cuMemCreate && is_owned(event);
        let device = self.device_of(event);
        let physical = &mut self.device.physical;
        physical.create(event.pool, device, event.size_bytes, is_owned);
    }

    fn destroy_pool(&mut self, event: &Event, call: Call) {
        let pools = &mut self.device.pools;
        let row = pools.destroy(event.pool);
        let empty = row.map_or_else(Vec::new, |row| pools.empty(row));
        self.give_back(&empty, by_of(event, call));
        self.remember(event, Gone::Pool(row));
    }

    fn create_array(&mut self, event: &Event) {
        let array = Array {
            device: self.device_of(event),
            bytes: event.size_bytes,
            context: event.context,
        };
        self.arrays.insert(event.address, array);
    }

    fn annotate(&mut self, event: &Event, call: Call) {
        // A pointer does not say whose memory it is: at most one of them knows it.
        let note = event.pool as u32;
        for space in [&self.device, &self.host] {
            space.annotate(&mut self.journal, event.address, note, by_of(event, call));
        }
    }

    fn subfree(&mut self, event: &Event, call: Call) {
        let (space, journal) = (&mut self.device, &mut self.journal);
        if !space.free_part(journal, event.address, by_of(event, call)) {
            self.counts.unknown_frees += 1;
        }
    }

    /// The range of an allocation; `None` for what takes no room, or more than there is.
    fn range_of(&mut self, event: &Event) -> Option<Range<u64>> {
        let end = event.address.checked_add(event.size_bytes);
        match end {
            Some(end) if event.address != 0 && event.size_bytes != 0 => {
                self.empty_allocations.remove(&event.address);
                Some(event.address..end)
            }
            Some(_) => {
                self.counts.empty_allocations += 1;
                // It may be freed all the same.
                if event.address != 0 && event.call != Call::suballoc as u8 {
                    self.empty_allocations.insert(event.address);
                }
                None
            }
            None => {
                self.counts.impossible += 1;
                None
            }
        }
    }

    fn grant_of(&mut self, event: &Event, call: Call, range: Range<u64>) -> Grant {
        let mapping_end = event.mapping_base.checked_add(event.mapping_bytes);
        let mapping = match mapping_end {
            Some(end) if event.mapping_base != 0 => event.mapping_base..end,
            _ => 0..0,
        };
        Grant {
            place: Place::Device(self.device_of(event)),
            range,
            mapping,
            stream: event.stream,
            context: event.context,
            pool: NO_POOL,
            by: by_of(event, call),
            keeping: Keeping::No,
            is_owned: is_owned(event),
            is_part: false,
        }
    }

    fn alloc(&mut self, event: &Event, call: Call) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let mut grant = self.grant_of(event, call, range);
        let is_captured =
            event.flags & flags::CAPTURING != 0 || call == Call::cuGraphAddMemAllocNode;
        let is_pool = matches!(
            call,
            Call::cuMemAllocAsync | Call::cuMemAllocFromPoolAsync | Call::cuMemPoolImportPointer
        );
        // Managed memory is where it was touched last, and a graph's does not exist before the launch.
        grant.is_owned &= !is_captured && call != Call::cuMemAllocManaged;
        if is_captured {
            grant.pool = self.device.pools.row(PoolKey::Graph(event.pool));
        } else if is_pool && event.pool != 0 {
            grant.pool = self.device.pools.row(PoolKey::Pool(event.pool));
            grant.keeping = Keeping::Pool;
        }
        self.device.grant(&mut self.journal, &grant);
    }

    /// Another process's memory: opened again it has the same address, and must be closed as often.
    fn open(&mut self, event: &Event, call: Call) {
        if self.opened.contains_key(&event.address)
            && self.device.blocks.contains_key(&event.address)
        {
            *self.opened.entry(event.address).or_default() += 1;
            return;
        }
        self.opened.insert(event.address, 0);
        self.alloc(event, call);
    }

    fn alloc_host(&mut self, event: &Event, call: Call) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let grant = Grant {
            place: Place::Host,
            mapping: 0..0,
            ..self.grant_of(event, call, range)
        };
        self.host.grant(&mut self.journal, &grant);
    }

    fn free(&mut self, event: &Event, call: Call) {
        // cuMemFree(0) is allowed, and does nothing.
        if event.address == 0 {
            return;
        }
        if self.empty_allocations.remove(&event.address) {
            self.remember(event, Gone::Empty);
            return;
        }
        if call == Call::cuIpcCloseMemHandle
            && let Some(again) = self.opened.get_mut(&event.address)
        {
            if *again > 0 {
                *again -= 1;
                self.remember(event, Gone::Opening);
                return;
            }
            self.opened.remove(&event.address);
        }
        let by = by_of(event, call);
        let is_known = if is_of_host(call) {
            self.host.free(&mut self.journal, event.address, by)
        } else {
            self.device.free(&mut self.journal, event.address, by)
        };
        if !is_known {
            self.counts.unknown_frees += 1;
        }
        self.remember(event, Gone::Memory);
    }

    fn map(&mut self, event: &Event, call: Call) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let physical = self.device.physical.find(event.pool);
        let mut grant = self.grant_of(event, call, range);
        grant.mapping = grant.range.clone();
        grant.stream = 0;
        grant.keeping = Keeping::Mapped(0);
        if let Some((serial, device, is_owned)) = physical {
            grant.place = Place::Device(device);
            grant.keeping = Keeping::Mapped(serial);
            grant.is_owned = is_owned;
        }
        self.device.grant(&mut self.journal, &grant);
    }

    fn unmap(&mut self, event: &Event, call: Call) {
        let end = event.address.saturating_add(event.size_bytes);
        let range = event.address..end;
        if range.is_empty() {
            return;
        }
        let by = by_of(event, call);
        if !self.device.unmap(&mut self.journal, &range, by) {
            self.counts.unknown_frees += 1;
        }
        self.remember(event, Gone::Memory);
    }

    fn suballoc(&mut self, event: &Event, call: Call) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let arena = self.device.make_arena(&mut self.journal, &range);
        let mut grant = self.grant_of(event, call, range);
        grant.mapping = 0..0;
        grant.is_part = true;
        if let Some((place, pool)) = arena {
            grant.place = place;
            grant.pool = pool;
        }
        self.device.grant(&mut self.journal, &grant);
    }

    fn end_context(&mut self, event: &Event, call: Call) {
        let by = by_of(event, call);
        let device = self.device_of(event);
        let (context, journal) = (event.context, &mut self.journal);
        if context == 0 && event.device < 0 {
            return;
        }
        self.device.end_context(journal, context, device, by);
        if context != 0 {
            self.host.end_context(journal, context, device, by);
        }
        self.arrays.retain(|_, array| match context {
            0 => array.device != device,
            context => array.context != context,
        });
    }

    pub(super) fn give_back(&mut self, segments: &[u64], by: By) {
        self.device.give_back(&mut self.journal, segments, by);
    }

    /// The driver refused the last free of this thread.
    fn free_failed(&mut self, event: &Event, call: Call) {
        let Some(last) = self.last_frees.get_mut(&event.thread) else {
            return;
        };
        if last.what != Some((event.call, event.address, event.pool)) {
            return;
        }
        last.what = None;
        let (undo, gone) = (
            std::mem::take(&mut last.undo),
            std::mem::take(&mut last.gone),
        );
        let space = match is_of_host(call) {
            true => &mut self.host,
            false => &mut self.device,
        };
        match gone {
            // Nothing was known to be there, and nothing was.
            Gone::Memory if undo.is_empty() => {
                self.counts.unknown_frees = self.counts.unknown_frees.saturating_sub(1);
            }
            Gone::Pool(Some(row)) => space.pools.undo_destroy(event.pool, row),
            Gone::Physical(Some(released)) => space.physical.undo_release(event.pool, released),
            Gone::Array(Some(array)) => {
                self.arrays.entry(event.address).or_insert(array);
            }
            Gone::Empty => {
                self.empty_allocations.insert(event.address);
            }
            Gone::Opening => *self.opened.entry(event.address).or_default() += 1,
            _ => {}
        }
        if !undo.is_empty() && !space.undo(&mut self.journal, &undo) {
            self.counts.impossible += 1;
        }
        if call == Call::cuIpcCloseMemHandle {
            self.opened.entry(event.address).or_default();
        }
    }

    /// Keeps what the call just made took away, until the thread's next one.
    fn remember(&mut self, event: &Event, gone: Gone) {
        let is_host = Call::of_number(event.call).is_some_and(is_of_host);
        let space = match is_host {
            true => &mut self.host,
            false => &mut self.device,
        };
        let last = self.last_frees.entry(event.thread).or_default();
        last.what = Some((event.call, event.address, event.pool));
        last.gone = gone;
        std::mem::swap(&mut last.undo, &mut space.undo);
    }

    fn out_of_memory(&mut self, event: &Event, call: Call) {
        let host = [
            Call::cuMemHostAlloc,
            Call::cuMemAllocHost,
            Call::cuMemHostRegister,
        ];
        let device = self.device_of(event);
        let place = match host.contains(&call) {
            true => Place::Host,
            false => Place::Device(device),
        };
        let entry = Entry {
            action: Action::Oom,
            is_undone: false,
            by: by_of(event, call),
            pool: NO_POOL,
            note: 0,
            address: event.mapping_base,
            bytes: event.size_bytes,
            stream: event.stream,
            time_us: 0,
        };
        self.counts.out_of_memory += 1;
        self.journal.push(place, entry);
        // 0 in all: it could not be asked.
        if event.mapping_bytes != 0 {
            self.sample(device, event.mapping_base, event.mapping_bytes);
        }
    }

    /// What the driver said is free now.
    pub(super) fn sample(&mut self, device: u8, free_bytes: u64, total_bytes: u64) {
        let tracked_bytes = self.tracked_bytes(device);
        self.samples.push(Sample {
            device,
            time_us: self.journal.time_us,
            free_bytes,
            total_bytes,
            tracked_bytes,
        });
    }

    /// Bytes of a device that this recording knows the process to hold.
    pub(super) fn tracked_bytes(&self, device: u8) -> u64 {
        let arrays = self.arrays.values();
        let arrays = arrays.filter(|array| array.device == device);
        arrays
            .fold(0_u64, |sum, array| sum.saturating_add(array.bytes))
            .saturating_add(self.device.held_bytes(device))
            .saturating_add(self.device.physical.held_bytes(device))
    }

    /// The device of a call; the first one where nobody knows.
    fn device_of(&mut self, event: &Event) -> u8 {
        // Snapshots have 256 devices at most.
        let device = u8::try_from(event.device.max(0)).unwrap_or_else(|_| {
            self.counts.impossible += 1;
            0
        });
        self.journal.add_device(device);
        device
    }

    /// The row of a pool that a sample is about.
    pub(super) fn sampled_pool(&mut self, pool: u64, is_default: bool) -> PoolRow {
        match is_default {
            true => self.device.pools.row(PoolKey::Pool(pool)),
            false => self.device.pools.other(pool),
        }
    }
}

/// Whether a free is one of the host's memory.
fn is_of_host(call: Call) -> bool {
    matches!(call, Call::cuMemFreeHost | Call::cuMemHostUnregister)
}

fn by_of(event: &Event, call: Call) -> By {
    By {
        call: call as u8,
        stack: event.stack,
    }
}

/// Whether memory is this process's, and on the device.
fn is_owned(event: &Event) -> bool {
    event.flags & flags::NOT_OWNED == 0
}
