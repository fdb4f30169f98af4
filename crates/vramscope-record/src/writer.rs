//! Writes a log in memory, from one thread. For tests of the reader and everything that uses it, also in other crates.
//!
//! The injected library writes the same format into a shared file.

use crate::layout::{
    Annotation, Attributes, Call, Device, Event, HEADER_BYTES, Kind, LONGEST_PAYLOAD_BYTES, MAGIC,
    Memory, Module, Name, Pool, RECORD_ALIGNMENT, RECORD_HEADER_BYTES, Stack, VERSION, header,
    record_bytes, record_check,
};

/// A log under construction.
#[derive(Clone, Debug)]
pub struct LogWriter {
    bytes: Vec<u8>,
}

impl Default for LogWriter {
    fn default() -> Self {
        let mut log = Self {
            bytes: vec![0; HEADER_BYTES as usize],
        };
        log.bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        log.set_u32(header::VERSION, VERSION);
        log.set_u64(header::PROCESS, 4711);
        log.set_u32(header::IS_RECORDING, 1);
        log
    }
}

impl LogWriter {
    /// Sets a field of the header; `field` is one of [`header`]'s offsets.
    pub fn set_u32(&mut self, field: usize, value: u32) {
        self.bytes[field..field + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Sets a field of the header; `field` is one of [`header`]'s offsets.
    pub fn set_u64(&mut self, field: usize, value: u64) {
        self.bytes[field..field + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// File offset of the next record.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Adds a record whose payload is the concatenation of `parts`, truncated to the maximum size.
    pub fn put(&mut self, kind: Kind, parts: &[&[u8]]) {
        self.put_raw(kind as u8, parts);
    }

    /// Adds a record that its thread did not finish.
    pub fn put_unfinished(&mut self, payload_bytes: usize) {
        self.put_raw(0, &[&vec![0xAA; payload_bytes]]);
    }

    fn put_raw(&mut self, kind: u8, parts: &[&[u8]]) {
        let payload = parts.concat();
        let payload = &payload[..payload.len().min(LONGEST_PAYLOAD_BYTES)];
        let offset = self.bytes.len();
        self.bytes
            .extend_from_slice(&(payload.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&[kind, 0]);
        self.bytes
            .extend_from_slice(&record_check(offset as u64).to_le_bytes());
        debug_assert_eq!(self.bytes.len(), offset + RECORD_HEADER_BYTES);
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(offset + record_bytes(payload.len()), 0);
    }

    /// Adds bytes that are not a record, padded to the next possible record offset.
    pub fn put_garbage(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let length = self.bytes.len().next_multiple_of(RECORD_ALIGNMENT);
        self.bytes.resize(length, 0);
    }

    /// Adds the executable's path and its arguments.
    pub fn program(&mut self, texts: &[&str]) {
        let lengths: Vec<_> = texts
            .iter()
            .map(|text| (text.len() as u32).to_le_bytes())
            .collect();
        let parts: Vec<&[u8]> = lengths
            .iter()
            .zip(texts)
            .flat_map(|(length, text)| [length.as_slice(), text.as_bytes()])
            .collect();
        self.put(Kind::Program, &parts);
    }

    /// Adds a module; `build_id_bytes` is set to the length of `build_id`.
    pub fn module(&mut self, module: Module, build_id: &[u8], path: &str) {
        let build_id_bytes = build_id.len() as u32;
        let module = Module {
            build_id_bytes,
            ..module
        };
        self.put(
            Kind::Module,
            &[&module.to_bytes(), build_id, path.as_bytes()],
        );
    }

    /// Adds a stack; `number` counts from 1.
    pub fn stack(&mut self, number: u32, addresses: &[u64]) {
        let frames = addresses.len() as u32;
        let bytes: Vec<u8> = addresses.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.put(Kind::Stack, &[&Stack { number, frames }.to_bytes(), &bytes]);
    }

    /// Adds a driver call.
    pub fn event(&mut self, event: Event) {
        self.put(Kind::Event, &[&event.to_bytes()]);
    }

    /// Adds a text; `number` counts from 1.
    pub fn text(&mut self, number: u32, text: &str) {
        self.put(Kind::Text, &[&number.to_le_bytes(), text.as_bytes()]);
    }

    /// Adds an annotation.
    pub fn annotation(&mut self, annotation: Annotation) {
        self.put(Kind::Annotation, &[&annotation.to_bytes()]);
    }

    /// Adds an annotation with attributes.
    pub fn annotation_with(&mut self, annotation: Annotation, attributes: Attributes) {
        let parts = (annotation.to_bytes(), attributes.to_bytes());
        self.put(Kind::Annotation, &[&parts.0, &parts.1]);
    }

    /// Adds the program's name for an object.
    pub fn name(&mut self, of: Name, name: &str) {
        self.put(Kind::Name, &[&of.to_bytes(), name.as_bytes()]);
    }

    /// Adds a named thread; `thread` is a Linux thread id.
    pub fn thread(&mut self, thread: u32, name: &str) {
        self.put(Kind::Thread, &[&thread.to_le_bytes(), name.as_bytes()]);
    }

    /// Adds a device.
    pub fn device(&mut self, device: Device, name: &str) {
        self.put(Kind::Device, &[&device.to_bytes(), name.as_bytes()]);
    }

    /// Adds a sample of a pool's usage.
    pub fn pool(&mut self, pool: Pool) {
        self.put(Kind::Pool, &[&pool.to_bytes()]);
    }

    /// Adds a sample of a device's free memory.
    pub fn memory(&mut self, memory: Memory) {
        self.put(Kind::Memory, &[&memory.to_bytes()]);
    }

    /// Adds a request for a snapshot at `path`.
    pub fn dump(&mut self, time_ns: u64, path: &str) {
        self.put(Kind::Dump, &[&time_ns.to_le_bytes(), path.as_bytes()]);
    }

    /// Adds a remark for the reader of the snapshot.
    pub fn note(&mut self, text: &str) {
        self.put(Kind::Note, &[text.as_bytes()]);
    }

    /// The log as a file would contain it now, with a finished header.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut log = self.clone();
        let end = log.offset();
        log.set_u64(header::WRITE_OFFSET, end);
        log.set_u64(header::FILE_BYTES, end);
        log.set_u64(header::CAPACITY_BYTES, end);
        log.bytes
    }
}

/// A log with this many calls. The program allocates from its device's pool and frees, on eight streams, with 1,000
/// different stacks of 13 frames and up to 2,000 live allocations. For benchmarks and experiments.
#[must_use]
pub fn sample(calls: usize) -> Vec<u8> {
    const BASE: u64 = 0x7f00_0000_0000;
    const CHUNK_BYTES: u64 = 32 << 20;
    const SLOT_BYTES: u64 = 64 << 10;
    const SLOTS: usize = 2000;
    const STACKS: u64 = 1000;
    let mut log = LogWriter::default();
    log.program(&["/usr/bin/sample"]);
    for number in 1..=STACKS {
        let frames: Vec<u64> = (0..13).map(|frame| 0x40_0000 + number * frame).collect();
        log.stack(number as u32, &frames);
    }
    let mut is_live = [false; SLOTS];
    // A linear congruential generator: any sequence will do if it is the same every time.
    let mut random = 1_u64;
    for call in 0..calls as u64 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let slot = (random >> 40) as usize % SLOTS;
        let address = BASE + slot as u64 * SLOT_BYTES;
        let mut event = Event {
            time_ns: 1_700_000_000_000_000_000 + call * 1000,
            address,
            stream: (random >> 33) % 8,
            context: 1,
            pool: 1,
            stack: 1 + ((random >> 20) % STACKS) as u32,
            thread: 1,
            call: Call::cuMemFreeAsync as u8,
            ..Event::default()
        };
        if !is_live[slot] {
            event.call = Call::cuMemAllocAsync as u8;
            event.size_bytes = 1 + (random >> 48) % SLOT_BYTES;
            event.mapping_base = BASE + (address - BASE) / CHUNK_BYTES * CHUNK_BYTES;
            event.mapping_bytes = CHUNK_BYTES;
        }
        is_live[slot] = !is_live[slot];
        log.event(event);
    }
    log.bytes()
}
