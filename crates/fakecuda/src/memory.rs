//! Allocation and freeing of blocks, for all kinds of owners.

use crate::driver::{Block, Driver, Mapping, Owner, Place};
use crate::entry::{Answer, result};
use crate::habits::habits;
use crate::heap::{GRANULE_BYTES, Heap};
use crate::space::PAGE_BYTES;

impl Driver {
    /// Allocates a block of `requested` bytes.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_OUT_OF_MEMORY`, which also goes into the ledger.
    pub(crate) fn allocate(
        &mut self,
        owner: Owner,
        device: usize,
        context: u64,
        stream: u64,
        requested: u64,
    ) -> Answer<u64> {
        let placed = self.find_place(owner, device, context, requested);
        let (address, bytes, mapping) = placed.inspect_err(|&error| {
            if error == result::OUT_OF_MEMORY {
                let total = self.devices[device].space.total;
                self.note(
                    "oom",
                    device,
                    &[("requested", requested), ("total_bytes", total)],
                );
            }
        })?;
        let id = self.new_block();
        let block = Block {
            requested,
            bytes,
            device,
            context,
            owner,
            mapping,
            id,
        };
        self.blocks.insert(address, block);
        if self.ledger.is_open() {
            let (pool, graph) = owner.numbers();
            let mapping_bytes = self.mappings.get(&mapping).map_or(0, |it| it.bytes);
            self.note(
                "alloc",
                device,
                &[
                    ("address", address),
                    ("requested", requested),
                    ("bytes", bytes),
                    ("context", context),
                    ("stream", stream),
                    ("pool", pool),
                    ("graph", graph),
                    ("mapping", mapping),
                    ("mapping_bytes", mapping_bytes),
                ],
            );
        }
        Ok(address)
    }

    /// Finds a place for a block. Returns its address, its size, and the address of its mapping.
    fn find_place(
        &mut self,
        owner: Owner,
        device: usize,
        context: u64,
        requested: u64,
    ) -> Answer<(u64, u64, u64)> {
        let too_much = result::OUT_OF_MEMORY;
        let bytes = requested
            .checked_next_multiple_of(GRANULE_BYTES)
            .ok_or(too_much)?;
        let is_large = owner == Owner::Context && requested >= habits().shared_page_below_bytes;
        if is_large || matches!(owner, Owner::Managed | Owner::Import) {
            let pages = requested
                .checked_next_multiple_of(PAGE_BYTES)
                .ok_or(too_much)?;
            let is_charged = owner == Owner::Context;
            let base = self.map_new(device, pages, is_charged, owner)?;
            return Ok((base, bytes, base));
        }
        let heap = self.heap(owner, context).ok_or(result::INVALID_VALUE)?;
        if let Some(address) = heap.allocate(bytes) {
            let (mapping, _) = heap.chunk_of(address).ok_or(result::INVALID_VALUE)?;
            return Ok((address, bytes, mapping));
        }
        match owner {
            Owner::Pool(pool) => self.grow_pool(pool, device, bytes)?,
            _ => {
                let unit = match owner {
                    Owner::Context => PAGE_BYTES,
                    _ => habits().pool_chunk_bytes,
                };
                let chunk = bytes.checked_next_multiple_of(unit).ok_or(too_much)?;
                let base = self.map_new(device, chunk, true, owner)?;
                let heap = self.heap(owner, context).ok_or(result::INVALID_VALUE)?;
                heap.add_chunk(base, chunk);
            }
        }
        let heap = self.heap(owner, context).ok_or(result::INVALID_VALUE)?;
        let address = heap.allocate(bytes).ok_or(too_much)?;
        let (mapping, _) = heap.chunk_of(address).ok_or(result::INVALID_VALUE)?;
        Ok((address, bytes, mapping))
    }

    /// Maps as many chunks of a pool as a block of `bytes` needs.
    fn grow_pool(&mut self, pool: u64, device: usize, bytes: u64) -> Answer {
        let chunk_bytes = habits().pool_chunk_bytes;
        let space = &mut self.devices[device].space;
        let it = self.pools.get_mut(&pool).ok_or(result::INVALID_VALUE)?;
        if it.heap.range.is_none() {
            let range_bytes = space.total.next_multiple_of(chunk_bytes);
            let base = space.allocate_range(range_bytes)?;
            it.heap.range = Some((base, base + range_bytes));
        }
        let chunks = it.heap.chunks_to_add(bytes, chunk_bytes);
        let is_charged = it.place == Place::Device;
        let taken = chunk_bytes * chunks.len() as u64;
        if chunks.is_empty() || is_charged && taken > space.free_bytes() {
            return Err(result::OUT_OF_MEMORY);
        }
        if is_charged {
            space.used += taken;
        }
        for base in chunks {
            self.map(base, chunk_bytes, device, is_charged, Owner::Pool(pool));
            if let Some(it) = self.pools.get_mut(&pool) {
                it.heap.add_chunk(base, chunk_bytes);
            }
        }
        Ok(())
    }

    fn heap(&mut self, owner: Owner, context: u64) -> Option<&mut Heap> {
        match owner {
            Owner::Context => Some(&mut self.contexts.get_mut(&context)?.small),
            Owner::Pool(pool) => Some(&mut self.pools.get_mut(&pool)?.heap),
            Owner::Graph(graph) => Some(&mut self.graphs.get_mut(&graph)?.heap),
            Owner::Managed | Owner::Import | Owner::Range(_) => None,
        }
    }

    /// Frees the block at `address`. The owner determines whether its mapping stays.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_VALUE` if no block begins there.
    pub(crate) fn free(&mut self, address: u64, stream: u64) -> Answer {
        let Some(block) = self.blocks.remove(&address) else {
            return Err(result::INVALID_VALUE);
        };
        let (pool, graph) = block.owner.numbers();
        self.note(
            "free",
            block.device,
            &[
                ("address", address),
                ("requested", block.requested),
                ("bytes", block.bytes),
                ("stream", stream),
                ("pool", pool),
                ("graph", graph),
            ],
        );
        match self.heap(block.owner, block.context) {
            // A block in a heap. Large blocks of a context have a mapping of their own instead.
            Some(heap) if heap.chunk_of(address).is_some() => {
                heap.free(address, block.bytes);
                self.drop_empty(&block);
            }
            _ => self.unmap(block.mapping, block.owner),
        }
        Ok(())
    }

    /// Unmaps empty chunks of a heap that does not keep them, after a block was freed.
    fn drop_empty(&mut self, block: &Block) {
        match block.owner {
            Owner::Context => {
                if let Some(heap) = self.heap(block.owner, block.context) {
                    for (base, _) in heap.empty_chunks() {
                        self.remove_chunk(block.owner, block.context, base);
                    }
                }
            }
            Owner::Pool(pool) => {
                let is_ending = self.pools.get(&pool).is_some_and(|pool| pool.is_ending);
                if is_ending {
                    self.trim(pool, 0);
                }
            }
            _ => {}
        }
    }

    fn remove_chunk(&mut self, owner: Owner, context: u64, base: u64) {
        if let Some(heap) = self.heap(owner, context) {
            heap.remove_chunk(base);
        }
        self.unmap(base, owner);
    }

    /// Releases empty chunks of a pool until it holds at most `keep` bytes. A destroyed pool ends with its last
    /// chunk.
    pub(crate) fn trim(&mut self, pool: u64, keep: u64) {
        let owner = Owner::Pool(pool);
        let empty = self
            .pools
            .get(&pool)
            .map(|pool| pool.heap.empty_chunks())
            .unwrap_or_default();
        for (base, _) in empty {
            if self
                .pools
                .get(&pool)
                .is_some_and(|pool| pool.heap.reserved <= keep)
            {
                break;
            }
            self.remove_chunk(owner, 0, base);
        }
        if self
            .pools
            .get(&pool)
            .is_some_and(|pool| pool.is_ending && pool.heap.reserved == 0)
            && let Some(ended) = self.pools.remove(&pool)
            && let Some((base, end)) = ended.heap.range
        {
            self.devices[ended.device]
                .space
                .free_range(base, end - base);
        }
    }

    /// Trims the pools of a device to their thresholds, as a synchronisation does.
    pub(crate) fn synchronise(&mut self, device: usize) {
        if habits().trims_at_synchronise == 0 {
            return;
        }
        let pools: Vec<_> = self
            .pools
            .iter()
            .filter(|(_, pool)| pool.device == device && pool.heap.reserved > 0)
            .map(|(&handle, pool)| (handle, pool.attributes[4]))
            .collect();
        for (pool, threshold) in pools {
            self.trim(pool, threshold);
        }
    }

    /// Frees the memory of a graph that was destroyed and has no executable graphs.
    pub(crate) fn end_graph(&mut self, graph: u64) {
        let is_used = self.executables.values().any(|&of| of == graph);
        let owner = Owner::Graph(graph);
        if is_used || self.graphs.get(&graph).is_none_or(|graph| graph.is_alive) {
            return;
        }
        self.free_all(|block| block.owner == owner);
        if let Some(graph) = self.graphs.remove(&graph) {
            for (base, bytes) in graph.heap.chunks() {
                if habits().graph_memory_stays == 1 {
                    self.devices[graph.device]
                        .left_by_graphs
                        .push((base, bytes));
                } else {
                    self.unmap(base, owner);
                }
            }
        }
    }

    /// Releases the empty chunks of a device's graphs, and what ended graphs have left.
    pub(crate) fn trim_graphs(&mut self, device: usize) {
        for (base, _) in std::mem::take(&mut self.devices[device].left_by_graphs) {
            self.unmap(base, Owner::Graph(0));
        }
        let graphs = self.graphs.iter().filter(|(_, it)| it.device == device);
        let empty: Vec<_> = graphs
            .flat_map(|(&graph, it)| {
                let chunks = it.heap.empty_chunks().into_iter();
                chunks.map(move |(base, _)| (graph, base))
            })
            .collect();
        for (graph, base) in empty {
            self.remove_chunk(Owner::Graph(graph), 0, base);
        }
    }

    /// Frees the blocks that satisfy a condition, as when their owner ends.
    pub(crate) fn free_all(&mut self, condition: impl Fn(&Block) -> bool) {
        let selected = self.blocks.iter().filter(|(_, block)| condition(block));
        let addresses: Vec<_> = selected.map(|(&address, _)| address).collect();
        for address in addresses {
            // Each of them existed a moment ago, so this cannot fail.
            self.free(address, 0).unwrap_or_default();
        }
    }

    /// Maps new memory of a device at new addresses.
    fn map_new(
        &mut self,
        device: usize,
        bytes: u64,
        is_charged: bool,
        owner: Owner,
    ) -> Answer<u64> {
        let space = &mut self.devices[device].space;
        if is_charged && bytes > space.free_bytes() {
            return Err(result::OUT_OF_MEMORY);
        }
        let base = space.allocate_range(bytes)?;
        if is_charged {
            space.used += bytes;
        }
        self.map(base, bytes, device, is_charged, owner);
        Ok(base)
    }

    /// Adds a mapping.
    pub(crate) fn map(
        &mut self,
        base: u64,
        bytes: u64,
        device: usize,
        is_charged: bool,
        owner: Owner,
    ) {
        let mapping = Mapping {
            bytes,
            device,
            is_charged,
        };
        self.mappings.insert(base, mapping);
        let (pool, graph) = owner.numbers();
        self.note(
            "map",
            device,
            &[
                ("address", base),
                ("bytes", bytes),
                ("pool", pool),
                ("graph", graph),
            ],
        );
    }

    /// Removes a mapping. Its addresses become free, unless they belong to a reserved range or a pool's.
    pub(crate) fn unmap(&mut self, base: u64, owner: Owner) {
        let Some(mapping) = self.mappings.remove(&base) else {
            return;
        };
        let space = &mut self.devices[mapping.device].space;
        if mapping.is_charged {
            space.used -= mapping.bytes;
        }
        match owner {
            Owner::Range(_) => {}
            Owner::Pool(_) => space.drop_pages(base, mapping.bytes),
            _ => space.free_range(base, mapping.bytes),
        }
        let (pool, graph) = owner.numbers();
        self.note(
            "unmap",
            mapping.device,
            &[
                ("address", base),
                ("bytes", mapping.bytes),
                ("pool", pool),
                ("graph", graph),
            ],
        );
    }

    /// The block that contains an address, and its start.
    pub(crate) fn block_at(&self, address: u64) -> Option<(u64, &Block)> {
        let (&start, block) = self.blocks.range(..=address).next_back()?;
        (address < start + block.bytes).then_some((start, block))
    }
}

impl Owner {
    /// Pool and graph for the ledger; 0 for other owners.
    fn numbers(self) -> (u64, u64) {
        match self {
            Self::Pool(pool) => (pool, 0),
            Self::Graph(graph) => (0, graph),
            _ => (0, 0),
        }
    }
}
