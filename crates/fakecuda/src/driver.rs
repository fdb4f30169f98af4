//! The driver's state: devices, contexts, pools, and what lives in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::entry::{Answer, contexts, result};
use crate::heap::Heap;
use crate::ledger::Ledger;
use crate::space::Space;

/// Everything, behind one lock.
pub(crate) struct Driver {
    /// The C function that is running.
    pub(crate) call: &'static str,
    pub(crate) has_pools: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: BTreeMap<u64, Context>,
    pub(crate) pools: BTreeMap<u64, Pool>,
    /// What was given out and has an address, by it.
    pub(crate) blocks: BTreeMap<u64, Block>,
    /// What is mapped, by its base.
    pub(crate) mappings: BTreeMap<u64, Mapping>,
    /// Reserved address ranges: start to device and bytes.
    pub(crate) ranges: BTreeMap<u64, (usize, u64)>,
    /// Physical allocations by handle.
    pub(crate) physical: BTreeMap<u64, Physical>,
    /// Pinned host memory by address.
    pub(crate) host: BTreeMap<u64, Host>,
    /// Arrays, which have a handle only: device, context and bytes.
    pub(crate) arrays: BTreeMap<u64, Array>,
    /// External memory by handle: bytes.
    pub(crate) external: BTreeMap<u64, u64>,
    pub(crate) streams: BTreeMap<u64, u64>,
    pub(crate) graphs: BTreeMap<u64, Graph>,
    /// Executable graphs, and of which graph they are.
    pub(crate) executables: BTreeMap<u64, u64>,
    /// Streams that are captured, and into which graph.
    pub(crate) captures: BTreeMap<u64, u64>,
    pub(crate) ledger: Ledger,
    next_handle: u64,
    next_block: u64,
}

/// A device.
pub(crate) struct Device {
    pub(crate) space: Space,
    /// The primary context's handle.
    pub(crate) primary: u64,
    /// How often it is retained.
    pub(crate) retained: u32,
    pub(crate) default_pool: u64,
    /// What `cuMemAllocAsync` takes from.
    pub(crate) pool: u64,
}

/// A context, alive.
pub(crate) struct Context {
    pub(crate) device: usize,
    /// Small blocks, packed in pages.
    pub(crate) small: Heap,
}

/// A memory pool.
pub(crate) struct Pool {
    pub(crate) device: usize,
    pub(crate) heap: Heap,
    pub(crate) attributes: [u64; 9],
    /// Its owner gave it up; it goes when its last block does.
    pub(crate) is_ending: bool,
}

/// A graph and the memory of its nodes.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) device: usize,
    pub(crate) heap: Heap,
    /// Whether the program may still name it.
    pub(crate) is_alive: bool,
}

/// A physical allocation of the virtual-memory functions.
pub(crate) struct Physical {
    pub(crate) device: usize,
    pub(crate) bytes: u64,
    /// Handles to it that were not released.
    pub(crate) handles: u32,
    pub(crate) mappings: u32,
    /// Whether this process took the memory, or imported it.
    pub(crate) is_owned: bool,
}

/// Pinned host memory.
pub(crate) struct Host {
    pub(crate) bytes: u64,
    pub(crate) context: u64,
    pub(crate) flags: u32,
    /// Whether it is the program's own, and only registered.
    pub(crate) is_registered: bool,
}

/// An array.
pub(crate) struct Array {
    pub(crate) device: usize,
    pub(crate) context: u64,
    pub(crate) bytes: u64,
}

/// Whose memory a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// `cuMemAlloc` and its like: the context's.
    Context,
    /// Of the context, and in no device's memory until it is touched there.
    Managed,
    /// Of this pool.
    Pool(u64),
    /// Of this graph.
    Graph(u64),
    /// Of another process, seen here.
    Import,
    /// A mapped range; of this physical allocation.
    Range(u64),
}

/// Memory that was given out.
pub(crate) struct Block {
    pub(crate) requested: u64,
    /// What it takes.
    pub(crate) bytes: u64,
    pub(crate) device: usize,
    /// 0 for what no context owns.
    pub(crate) context: u64,
    pub(crate) owner: Owner,
    pub(crate) mapping: u64,
    /// Never used twice.
    pub(crate) id: u64,
}

/// A range of addresses with memory behind them.
pub(crate) struct Mapping {
    pub(crate) bytes: u64,
    pub(crate) device: usize,
    /// Whether the device's memory is taken for it.
    pub(crate) is_charged: bool,
}

impl Driver {
    pub(crate) fn new() -> Self {
        let megabytes = |name, default| number_of(name).unwrap_or(default) << 20;
        let ledger = std::env::var_os("FAKECUDA_LEDGER").map(PathBuf::from);
        let mut driver = Self {
            call: "cuInit",
            has_pools: std::env::var_os("FAKECUDA_NO_POOLS").is_none(),
            devices: Vec::new(),
            contexts: BTreeMap::new(),
            pools: BTreeMap::new(),
            blocks: BTreeMap::new(),
            mappings: BTreeMap::new(),
            ranges: BTreeMap::new(),
            physical: BTreeMap::new(),
            host: BTreeMap::new(),
            arrays: BTreeMap::new(),
            external: BTreeMap::new(),
            streams: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            captures: BTreeMap::new(),
            ledger: Ledger::new(ledger.as_deref()),
            next_handle: 0x5550_0000_0000,
            next_block: 1,
        };
        for _ in 0..number_of("FAKECUDA_DEVICES").unwrap_or(1) {
            let space = Space::new(
                megabytes("FAKECUDA_TOTAL_MB", 8192),
                megabytes("FAKECUDA_OTHER_MB", 256),
            );
            let (primary, pool) = (driver.new_handle(), driver.new_handle());
            let device = driver.devices.len();
            driver.pools.insert(pool, Pool::new(device));
            driver.devices.push(Device {
                space,
                primary,
                retained: 0,
                default_pool: pool,
                pool,
            });
        }
        driver
    }

    /// A handle that looks like the real ones: an address.
    pub(crate) fn new_handle(&mut self) -> u64 {
        self.next_handle += 0x340;
        self.next_handle
    }

    /// A block's number.
    pub(crate) fn new_block(&mut self) -> u64 {
        self.next_block += 1;
        self.next_block
    }

    /// The device with this ordinal.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_DEVICE`.
    pub(crate) fn device(&mut self, ordinal: i32) -> Answer<(usize, &mut Device)> {
        let index = usize::try_from(ordinal).map_err(|_negative| result::INVALID_DEVICE)?;
        let device = self.devices.get_mut(index);
        Ok((index, device.ok_or(result::INVALID_DEVICE)?))
    }

    /// The calling thread's context.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_CONTEXT` if it has none, `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
    pub(crate) fn current(&mut self) -> Answer<(u64, &mut Context)> {
        let handle = contexts(|stack| stack.last().copied()).unwrap_or(0);
        if handle == 0 {
            return Err(result::INVALID_CONTEXT);
        }
        let context = self.contexts.get_mut(&handle);
        Ok((handle, context.ok_or(result::CONTEXT_IS_DESTROYED)?))
    }

    /// The context that a stream belongs to; of the default streams the current one.
    ///
    /// # Errors
    ///
    /// As [`current`](Self::current); `CUDA_ERROR_INVALID_HANDLE` for what is no stream.
    pub(crate) fn context_of_stream(&mut self, stream: u64) -> Answer<u64> {
        match stream {
            0..=2 => self.current().map(|(context, _)| context),
            _ => self
                .streams
                .get(&stream)
                .copied()
                .ok_or(result::INVALID_HANDLE),
        }
    }

    /// The device of a stream.
    ///
    /// # Errors
    ///
    /// As [`context_of_stream`](Self::context_of_stream).
    pub(crate) fn device_of_stream(&mut self, stream: u64) -> Answer<usize> {
        let context = self.context_of_stream(stream)?;
        let context = self.contexts.get(&context);
        Ok(context.ok_or(result::CONTEXT_IS_DESTROYED)?.device)
    }

    /// Writes a line about what happened on `device`.
    pub(crate) fn note(&mut self, what: &str, device: usize, fields: &[(&str, u64)]) {
        if !self.ledger.is_kept() {
            return;
        }
        let free = self.devices.get(device).map(|it| it.space.free_bytes());
        let mut all = vec![
            ("device", device as u64),
            ("free_bytes", free.unwrap_or_default()),
        ];
        all.extend_from_slice(fields);
        self.ledger.write(self.call, what, &all);
    }
}

impl Pool {
    pub(crate) fn new(device: usize) -> Self {
        Self {
            device,
            heap: Heap::default(),
            // The three ways of reusing memory are on, the release threshold is 0.
            attributes: [0, 1, 1, 1, 0, 0, 0, 0, 0],
            is_ending: false,
        }
    }
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
