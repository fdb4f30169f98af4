//! The effect of each driver call on the address spaces.

use std::ops::Range;

use vramscope_core::model::Action;

use super::arrays::Array;
use super::journal::{Entry, Location, Origin, PoolRow};
use super::pools::{NO_POOL, PoolKey, PoolPlace};
use super::samples::{PoolSample, Sample};
use super::space::{Allocation, Owner, Retention, Space};
use super::{DestroyedPool, FreedResource, Recording, Uncertain};
use crate::layout::{
    self, Call, Event, HOST_LOCATIONS, MANAGED_ALLOCATION, OUT_OF_MEMORY, SUCCESS, flags,
    pool_flags,
};

impl Recording {
    pub(super) fn push_event(&mut self, event: &Event) {
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
            // The following pool sample shows what the pool released.
            Call::cuMemAddressReserve | Call::cuMemAddressFree | Call::cuMemPoolTrimTo => {}
            Call::cuMemCreate | Call::cuMemImportFromShareableHandle | Call::cuMulticastCreate => {
                self.create(event, call)
            }
            Call::cuMemRetainAllocationHandle => self.device.retain(event.address, event.pool),
            Call::cuMemRelease => {
                let released = self.device.physical.release(event.pool);
                self.keep_for_undo(event, FreedResource::Physical(released), false);
            }
            Call::cuMemMap => self.map(event, call),
            Call::cuMemUnmap => self.unmap(event, call),
            Call::cuMemPoolCreate => self.create_pool(event),
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
                let array = self.arrays.remove(event.address);
                self.keep_for_undo(event, FreedResource::Array(array), false);
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

    fn create_pool(&mut self, event: &Event) {
        let row = self.device.pools.non_default_row(event.pool);
        let place = match (event.mapping_base, event.mapping_bytes) {
            (MANAGED_ALLOCATION, _) => PoolPlace::Managed,
            (_, location) if HOST_LOCATIONS.contains(&location) => PoolPlace::Host,
            _ => PoolPlace::Device,
        };
        self.device.pools.set_place(row, place);
    }

    fn destroy_pool(&mut self, event: &Event, call: Call) {
        let destroyed = self.device.pools.destroy(event.pool).map(|(row, figures)| {
            let empty = self.device.pools.empty_segments(row);
            self.release_segments(empty, origin_of(event, call));
            let sample = figures.map(|figures| {
                let usage = self.device.pools.usage(figures.device);
                self.push_pool_usage(figures.device, usage)
            });
            DestroyedPool {
                row,
                figures,
                uncertain: self.take_uncertain(row),
                sample,
            }
        });
        self.keep_for_undo(event, FreedResource::Pool(destroyed), false);
    }

    /// Withdraws the sample of the pools that remained, because the pool was not destroyed after all.
    fn withdraw_pool_usage(&mut self, without: &PoolSample) {
        self.pool_samples.withdraw(without);
        let usage = self.device.pools.usage(without.device);
        self.push_pool_usage(without.device, usage);
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
        // A pointer does not show whether memory is the host's or the device's; at most one of the spaces contains it.
        let note = event.pool as u32;
        for space in [&self.device, &self.host] {
            space.annotate(
                &mut self.journal,
                event.address,
                note,
                origin_of(event, call),
            );
        }
    }

    fn subfree(&mut self, event: &Event, call: Call) {
        let (space, journal) = (&mut self.device, &mut self.journal);
        let origin = origin_of(event, call);
        if event.size_bytes > 0 {
            let range = event.address..event.address.saturating_add(event.size_bytes);
            space.free_parts(journal, range, origin);
        } else if !space.free_part(journal, event.address, origin) {
            self.counts.unknown_frees += 1;
        }
    }

    /// The address range of an allocation. `None` for 0 bytes, or if the range exceeds the address space.
    fn range_of(&mut self, event: &Event) -> Option<Range<u64>> {
        let end = event.address.checked_add(event.size_bytes);
        match end {
            Some(end) if event.address != 0 && event.size_bytes != 0 => {
                self.empty_allocations.remove(&event.address);
                Some(event.address..end)
            }
            Some(_) => {
                self.counts.empty_allocations += 1;
                // The program may still free it.
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

    fn allocation_of(&mut self, event: &Event, call: Call, range: Range<u64>) -> Allocation {
        let mapping_end = event.mapping_base.checked_add(event.mapping_bytes);
        let mapping = match mapping_end {
            Some(end) if event.mapping_base != 0 => event.mapping_base..end,
            _ => 0..0,
        };
        Allocation {
            location: Location::Device(self.device_of(event)),
            range,
            mapping,
            stream: event.stream,
            context: event.context,
            pool: NO_POOL,
            origin: origin_of(event, call),
            retention: Retention::UntilEmpty,
            is_owned: is_owned(event),
            is_part: false,
        }
    }

    fn alloc(&mut self, event: &Event, call: Call) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let mut allocation = self.allocation_of(event, call, range);
        let is_captured =
            event.flags & flags::CAPTURING != 0 || call == Call::cuGraphAddMemAllocNode;
        let is_pool = matches!(
            call,
            Call::cuMemAllocAsync | Call::cuMemAllocFromPoolAsync | Call::cuMemPoolImportPointer
        );
        // Managed memory resides wherever it was last used. A graph's memory does not exist before the launch.
        // Neither counts as held.
        allocation.is_owned &= !is_captured && call != Call::cuMemAllocManaged;
        if is_captured {
            let device = u8::try_from(event.device).unwrap_or(0);
            allocation.pool = self.device.pools.graph_row(event.pool, device);
        } else if is_pool && event.pool != 0 {
            allocation.pool = self.device.pools.row_of(PoolKey::Pool(event.pool));
            // No sample of a pool here shows when the exporting process's pool releases memory.
            if call != Call::cuMemPoolImportPointer {
                allocation.retention = Retention::ByPool;
            }
            let pool = self.device.pools.get(allocation.pool);
            // The driver names no device for memory on the host, even for a pool whose creation was not seen.
            if pool.place == PoolPlace::Host || event.device < 0 {
                self.alloc_in_host(allocation);
                return;
            }
            allocation.is_owned &= pool.place == PoolPlace::Device;
            if pool.is_inexact() {
                allocation.mapping = 0..0;
            }
        }
        self.device.allocate(&mut self.journal, &allocation);
    }

    /// Imports another process's memory. Opening it again returns the same address, and each opening needs its own
    /// close.
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
        let allocation = self.allocation_of(event, call, range);
        self.alloc_in_host(allocation);
    }

    fn alloc_in_host(&mut self, allocation: Allocation) {
        let allocation = Allocation {
            location: Location::Host,
            mapping: 0..0,
            pool: NO_POOL,
            retention: Retention::UntilEmpty,
            ..allocation
        };
        self.host.allocate(&mut self.journal, &allocation);
    }

    fn free(&mut self, event: &Event, call: Call) {
        // cuMemFree(0) is allowed and does nothing.
        if event.address == 0 {
            return;
        }
        if self.empty_allocations.remove(&event.address) {
            self.keep_for_undo(event, FreedResource::EmptyAllocation, false);
            return;
        }
        if call == Call::cuIpcCloseMemHandle
            && let Some(again) = self.opened.get_mut(&event.address)
        {
            if *again > 0 {
                *again -= 1;
                self.keep_for_undo(event, FreedResource::ImportOpening, false);
                return;
            }
            self.opened.remove(&event.address);
        }
        let origin = origin_of(event, call);
        // Memory of a pool on the host is freed like a device's.
        let blocks = |space: &Space| space.blocks.contains_key(&event.address);
        let is_host = is_of_host(call) || (!blocks(&self.device) && blocks(&self.host));
        let is_known = if is_host {
            self.host.free(&mut self.journal, event.address, origin)
        } else {
            self.device.free(&mut self.journal, event.address, origin)
        };
        if !is_known {
            self.counts.unknown_frees += 1;
        }
        self.keep_for_undo(event, FreedResource::Blocks, is_host);
    }

    fn map(&mut self, event: &Event, call: Call) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let physical = self.device.physical.find(event.pool);
        let mut allocation = self.allocation_of(event, call, range);
        allocation.mapping = allocation.range.clone();
        allocation.stream = 0;
        allocation.retention = Retention::UntilUnmapped(0);
        if let Some((serial, device, is_owned)) = physical {
            allocation.location = Location::Device(device);
            allocation.retention = Retention::UntilUnmapped(serial);
            allocation.is_owned = is_owned;
        }
        self.device.allocate(&mut self.journal, &allocation);
    }

    fn unmap(&mut self, event: &Event, call: Call) {
        let end = event.address.saturating_add(event.size_bytes);
        let range = event.address..end;
        if range.is_empty() {
            return;
        }
        let origin = origin_of(event, call);
        if !self.device.unmap(&mut self.journal, &range, origin) {
            self.counts.unknown_frees += 1;
        }
        self.keep_for_undo(event, FreedResource::Blocks, false);
    }

    fn suballoc(&mut self, event: &Event, call: Call) {
        let Some(range) = self.range_of(event) else {
            return;
        };
        let arena = self.device.make_arena(&mut self.journal, &range);
        let mut allocation = self.allocation_of(event, call, range);
        allocation.mapping = 0..0;
        allocation.is_part = true;
        if let Some((location, pool)) = arena {
            allocation.location = location;
            allocation.pool = pool;
        }
        self.device.allocate(&mut self.journal, &allocation);
    }

    fn end_context(&mut self, event: &Event, call: Call) {
        let origin = origin_of(event, call);
        let device = self.device_of(event);
        if event.context == 0 && event.device < 0 {
            return;
        }
        let (owner, journal) = (Owner::of_context(event.context, device), &mut self.journal);
        self.device.end_context(journal, owner, origin);
        if call != Call::cuCtxDestroy {
            self.last_ends.insert(device, origin);
            let changed = self.device.take_changed_pools(device).into_iter();
            self.uncertain
                .extend(changed.map(|(pool, bytes)| (pool, Uncertain { device, bytes })));
        }
        if event.context != 0 {
            self.host.end_context(journal, owner, origin);
        }
        self.arrays.end(owner);
    }

    pub(super) fn release_segments(&mut self, segments: Vec<u64>, origin: Origin) {
        self.device
            .release_segments(&mut self.journal, segments, origin);
    }

    /// Withdraws the last free of this thread, which the driver refused.
    fn free_failed(&mut self, event: &Event, call: Call) {
        let Some(last) = self.last_frees.get_mut(&event.thread) else {
            return;
        };
        if last.key != Some((event.call, event.address, event.pool)) {
            return;
        }
        last.key = None;
        let (undo, resource) = (
            std::mem::take(&mut last.undo),
            std::mem::take(&mut last.resource),
        );
        let space = match last.is_host {
            true => &mut self.host,
            false => &mut self.device,
        };
        let mut without_pool = None;
        match resource {
            // The free was counted as unknown, but the memory was never allocated.
            FreedResource::Blocks if undo.is_empty() => {
                self.counts.unknown_frees = self.counts.unknown_frees.saturating_sub(1);
            }
            FreedResource::Pool(Some(pool)) => {
                let DestroyedPool { row, figures, .. } = pool;
                space.pools.undo_destroy(event.pool, row, figures);
                if let Some(uncertain) = pool.uncertain {
                    self.uncertain.insert(row, uncertain);
                }
                without_pool = pool.sample;
            }
            FreedResource::Physical(Some(released)) => {
                space.physical.undo_release(event.pool, released)
            }
            FreedResource::Array(Some(array)) => {
                self.arrays.undo_remove(event.address, array);
            }
            FreedResource::EmptyAllocation => {
                self.empty_allocations.insert(event.address);
            }
            FreedResource::ImportOpening => *self.opened.entry(event.address).or_default() += 1,
            _ => {}
        }
        if !undo.is_empty() && !space.undo(&mut self.journal, &undo) {
            self.counts.impossible += 1;
        }
        if let Some(without) = without_pool {
            self.withdraw_pool_usage(&without);
        }
        if call == Call::cuIpcCloseMemHandle {
            self.opened.entry(event.address).or_default();
        }
    }

    /// Stores what a free released until the thread's next free.
    fn keep_for_undo(&mut self, event: &Event, resource: FreedResource, is_host: bool) {
        let space = match is_host {
            true => &mut self.host,
            false => &mut self.device,
        };
        let last = self.last_frees.entry(event.thread).or_default();
        last.key = Some((event.call, event.address, event.pool));
        last.resource = resource;
        last.is_host = is_host;
        std::mem::swap(&mut last.undo, &mut space.undo);
    }

    fn out_of_memory(&mut self, event: &Event, call: Call) {
        let host = [
            Call::cuMemHostAlloc,
            Call::cuMemAllocHost,
            Call::cuMemHostRegister,
        ];
        let device = self.device_of(event);
        let location = match host.contains(&call) {
            true => Location::Host,
            false => Location::Device(device),
        };
        let origin = origin_of(event, call);
        // As in torch, the address of an `oom` event is the device's free bytes.
        let (free_bytes, bytes) = (event.mapping_base, event.size_bytes);
        let entry = Entry {
            stream: event.stream,
            ..Entry::new(Action::Oom, origin, free_bytes, bytes)
        };
        self.counts.out_of_memory += 1;
        self.journal.push(location, entry);
        // A total of 0 means that the driver could not be queried.
        if event.mapping_bytes != 0 {
            self.push_memory_sample(device, event.mapping_base, event.mapping_bytes);
        }
    }

    pub(super) fn push_memory_sample(&mut self, device: u8, free_bytes: u64, total_bytes: u64) {
        let tracked_bytes = self.tracked_bytes(device);
        self.samples.push(Sample {
            device,
            time_us: self.journal.time_us,
            free_bytes,
            total_bytes,
            tracked_bytes,
            unplaced_bytes: self.device.pools.usage(device).unplaced_bytes,
        });
    }

    /// Bytes of a device that this process is known to hold.
    pub(super) fn tracked_bytes(&self, device: u8) -> u64 {
        self.arrays
            .bytes(device)
            .saturating_add(self.device.held_bytes(device))
            .saturating_add(self.device.physical.held_bytes(device))
            .saturating_add(self.device.pools.usage(device).beside_bytes)
    }

    /// The device of a call; device 0 if unknown.
    fn device_of(&mut self, event: &Event) -> u8 {
        // Snapshots have 256 devices at most.
        let device = u8::try_from(event.device.max(0)).unwrap_or_else(|_| {
            self.counts.impossible += 1;
            0
        });
        self.journal.add_device(device);
        device
    }

    /// The row of the pool in a pool sample.
    pub(super) fn sampled_pool(&mut self, pool: &layout::Pool, device: u8) -> PoolRow {
        let pools = &mut self.device.pools;
        if pool.flags & pool_flags::GRAPHS != 0 {
            pools.row_of(PoolKey::GraphMemory(device))
        } else if pool.flags & pool_flags::DEFAULT != 0 {
            pools.row_of(PoolKey::Pool(pool.pool))
        } else {
            pools.non_default_row(pool.pool)
        }
    }
}

/// Whether a call frees host memory.
fn is_of_host(call: Call) -> bool {
    matches!(call, Call::cuMemFreeHost | Call::cuMemHostUnregister)
}

fn origin_of(event: &Event, call: Call) -> Origin {
    Origin {
        call: call as u8,
        stack: event.stack,
    }
}

/// Whether the memory belongs to this process.
fn is_owned(event: &Event) -> bool {
    event.flags & flags::NOT_OWNED == 0
}
