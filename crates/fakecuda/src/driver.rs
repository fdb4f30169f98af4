//! The driver's state: devices, contexts, pools, and everything in them.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::PathBuf;

use crate::entry::{Answer, contexts, on_drivers_thread, result};
use crate::heap::Heap;
use crate::ledger::Ledger;
use crate::space::Space;

/// The whole state, behind one lock.
pub(crate) struct Driver {
    /// The C function that is running.
    pub(crate) call: &'static str,
    pub(crate) has_pools: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: BTreeMap<u64, Context>,
    pub(crate) pools: BTreeMap<u64, Pool>,
    /// Allocations by address.
    pub(crate) blocks: BTreeMap<u64, Block>,
    /// Mappings by start address.
    pub(crate) mappings: BTreeMap<u64, Mapping>,
    /// Reserved address ranges: start → device and bytes.
    pub(crate) ranges: BTreeMap<u64, (usize, u64)>,
    /// Physical allocations by handle.
    pub(crate) physical: BTreeMap<u64, Physical>,
    /// Pinned host memory by address.
    pub(crate) host: BTreeMap<u64, Host>,
    /// Arrays by handle.
    pub(crate) arrays: BTreeMap<u64, Array>,
    /// External memory: handle → bytes.
    pub(crate) external: BTreeMap<u64, u64>,
    pub(crate) streams: BTreeMap<u64, u64>,
    pub(crate) graphs: BTreeMap<u64, Graph>,
    /// Executable graphs: handle → graph.
    pub(crate) executables: BTreeMap<u64, u64>,
    /// Captures by stream.
    pub(crate) captures: BTreeMap<u64, Capture>,
    /// Size of the allocations of which the driver tells only device and context.
    pub(crate) odd_bytes: Option<u64>,
    pub(crate) ledger: Ledger,
    next_handle: u64,
    next_block: u64,
}

/// A device.
pub(crate) struct Device {
    pub(crate) space: Space,
    /// The primary context's handle.
    pub(crate) primary: u64,
    /// Number of times it is retained.
    pub(crate) retained: u32,
    pub(crate) default_pool: u64,
    /// The current pool, from which `cuMemAllocAsync` allocates.
    pub(crate) pool: u64,
    /// Memory of graphs that have ended: start and bytes.
    pub(crate) left_by_graphs: Vec<(u64, u64)>,
}

/// A living context.
pub(crate) struct Context {
    pub(crate) device: usize,
    /// Small blocks, which share pages.
    pub(crate) small: Heap,
}

/// Where a pool's memory is. Only a device's takes memory of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Device,
    Managed,
    Host,
}

/// A memory pool.
pub(crate) struct Pool {
    pub(crate) device: usize,
    pub(crate) place: Place,
    pub(crate) heap: Heap,
    pub(crate) attributes: [u64; 9],
    /// Destroyed by the program. Ends with its last block.
    pub(crate) is_ending: bool,
}

/// `CUhostFn`
pub(crate) type HostFunction = extern "C" fn(*mut c_void);

/// A function of the program, and what it is called with.
#[derive(Clone, Copy)]
pub(crate) struct HostCall {
    pub(crate) function: HostFunction,
    pub(crate) data: u64,
}

impl HostCall {
    /// Runs it as a driver does: on another thread, which must not call the driver.
    pub(crate) fn run(self) {
        on_drivers_thread(|| (self.function)(self.data as *mut c_void));
    }
}

/// A graph and the memory of its nodes.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) device: usize,
    pub(crate) heap: Heap,
    /// Functions of the program in the order of their nodes.
    pub(crate) host_calls: Vec<HostCall>,
    /// Whether the graph was not destroyed.
    pub(crate) is_alive: bool,
}

/// A stream that is being captured into a graph.
#[derive(Clone, Copy)]
pub(crate) struct Capture {
    pub(crate) graph: u64,
    /// Whether it began in global mode.
    pub(crate) is_global: bool,
    /// Whether a call that is not allowed meanwhile has ended it.
    pub(crate) is_invalid: bool,
}

/// A physical allocation (`cuMemCreate`).
pub(crate) struct Physical {
    pub(crate) device: usize,
    pub(crate) bytes: u64,
    /// Number of handles that were not released.
    pub(crate) handles: u32,
    pub(crate) mappings: u32,
    /// Whether this process allocated the memory; otherwise it is imported.
    pub(crate) is_owned: bool,
}

/// Pinned host memory.
pub(crate) struct Host {
    pub(crate) bytes: u64,
    pub(crate) context: u64,
    pub(crate) flags: u32,
    /// Whether the program allocated it, so that it is only registered.
    pub(crate) is_registered: bool,
}

/// An array.
pub(crate) struct Array {
    pub(crate) device: usize,
    pub(crate) context: u64,
    pub(crate) bytes: u64,
}

/// The owner of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// A context: `cuMemAlloc` and similar functions.
    Context,
    /// A context; takes no device memory until it is used there.
    Managed,
    /// This pool.
    Pool(u64),
    /// This graph.
    Graph(u64),
    /// Another process, from which it was imported.
    Import,
    /// The mapping of this physical allocation.
    Range(u64),
}

/// An allocation.
pub(crate) struct Block {
    pub(crate) requested: u64,
    /// Bytes that it occupies.
    pub(crate) bytes: u64,
    pub(crate) device: usize,
    /// 0 if no context owns it.
    pub(crate) context: u64,
    pub(crate) owner: Owner,
    pub(crate) mapping: u64,
    /// Unique in the process.
    pub(crate) id: u64,
}

/// A mapped address range.
pub(crate) struct Mapping {
    pub(crate) bytes: u64,
    pub(crate) device: usize,
    /// Whether it takes memory of the device.
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
            odd_bytes: number_of("FAKECUDA_ODD_BYTES"),
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
            driver.pools.insert(pool, Pool::new(device, Place::Device));
            driver.devices.push(Device {
                space,
                primary,
                retained: 0,
                default_pool: pool,
                pool,
                left_by_graphs: Vec::new(),
            });
        }
        driver
    }

    /// Creates a handle. Like real ones, it looks like an address.
    pub(crate) fn new_handle(&mut self) -> u64 {
        self.next_handle += 0x340;
        self.next_handle
    }

    /// Creates the number of a block.
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

    /// The context of a stream; for the default streams, the current context.
    ///
    /// # Errors
    ///
    /// Those of [`current`](Self::current), and `CUDA_ERROR_INVALID_HANDLE` for an unknown stream.
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
    /// Those of [`context_of_stream`](Self::context_of_stream).
    pub(crate) fn device_of_stream(&mut self, stream: u64) -> Answer<usize> {
        let context = self.context_of_stream(stream)?;
        let context = self.contexts.get(&context);
        Ok(context.ok_or(result::CONTEXT_IS_DESTROYED)?.device)
    }

    /// Writes a ledger line about an event on `device`.
    pub(crate) fn note(&mut self, what: &str, device: usize, fields: &[(&str, u64)]) {
        if !self.ledger.is_open() {
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
    pub(crate) fn new(device: usize, place: Place) -> Self {
        Self {
            device,
            place,
            heap: Heap::default(),
            // The three ways of reusing memory are enabled, the release threshold is 0.
            attributes: [0, 1, 1, 1, 0, 0, 0, 0, 0],
            is_ending: false,
        }
    }
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
