//! Iteration over the records of a log, past unfinished and damaged ones.

use std::sync::atomic::{Ordering, fence};

use crate::layout::{
    self, HEADER_BYTES, Kind, LONGEST_PAYLOAD_BYTES, RECORD_ALIGNMENT, RECORD_HEADER_BYTES,
    record_bytes, record_check,
};

use super::Header;

/// One record. Texts are borrowed as recorded and may be invalid UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// The executable and its arguments.
    Program(Program<'a>),
    /// A mapped executable or library.
    Module {
        /// Its addresses.
        module: layout::Module,
        /// Its GNU build id; empty if it has no build id.
        build_id: &'a [u8],
        /// Its path.
        path: &'a [u8],
    },
    /// A stack.
    Stack {
        /// Its number in events, from 1.
        number: u32,
        /// Return addresses, innermost first.
        addresses: Addresses<'a>,
    },
    /// A call of the driver.
    Event(layout::Event),
    /// A numbered text.
    Text {
        /// Its number in annotations, from 1.
        number: u32,
        /// The text.
        text: &'a [u8],
    },
    /// An annotation by the program.
    Annotation {
        /// Its operation, time and place.
        annotation: layout::Annotation,
        /// Its colour, category and payload.
        attributes: layout::Attributes,
    },
    /// A named thread.
    Thread {
        /// Linux thread id.
        thread: u32,
        /// The thread's name.
        name: &'a [u8],
    },
    /// A device.
    Device {
        /// Ordinal, UUID and size.
        device: layout::Device,
        /// The device's name.
        name: &'a [u8],
    },
    /// Usage of a memory pool.
    Pool(layout::Pool),
    /// Free memory of a device.
    Memory(layout::Memory),
    /// A snapshot that the program requests.
    Dump {
        /// Nanoseconds since the Unix epoch.
        time_ns: u64,
        /// Path of the snapshot.
        path: &'a [u8],
    },
    /// A remark for the reader of the snapshot.
    Note(&'a [u8]),
    /// The program's name for an object.
    Name {
        /// The object that it names.
        of: layout::Name,
        /// The name.
        name: &'a [u8],
    },
}

/// Iterates over the executable's path and the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program<'a>(&'a [u8]);

impl<'a> Iterator for Program<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        // The last text may be truncated.
        let (text, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        self.0 = rest;
        Some(text)
    }
}

/// Iterates over the return addresses of a stack, innermost first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses<'a>(&'a [u8]);

impl Iterator for Addresses<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let (address, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*address))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.len() / 8;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Addresses<'_> {}

impl<'a> Record<'a> {
    /// Decodes a record from its payload. `None` if the payload is too short for its kind.
    fn read(kind: Kind, payload: &'a [u8]) -> Option<Self> {
        let number = |bytes: &'a [u8]| {
            let (number, rest) = bytes.split_first_chunk()?;
            Some((u32::from_le_bytes(*number), rest))
        };
        Some(match kind {
            Kind::Program => Self::Program(Program(payload)),
            Kind::Module => {
                let (module, rest) = layout::Module::read(payload)?;
                let (build_id, path) = rest.split_at_checked(module.build_id_bytes as usize)?;
                Self::Module {
                    module,
                    build_id,
                    path,
                }
            }
            Kind::Stack => {
                let (layout::Stack { number, frames }, rest) = layout::Stack::read(payload)?;
                let addresses = Addresses(rest.get(..(frames as usize).checked_mul(8)?)?);
                Self::Stack { number, addresses }
            }
            Kind::Event => Self::Event(layout::Event::read(payload)?.0),
            Kind::Text => {
                let (number, text) = number(payload)?;
                Self::Text { number, text }
            }
            Kind::Annotation => {
                let (annotation, rest) = layout::Annotation::read(payload)?;
                let attributes = layout::Attributes::read(rest);
                Self::Annotation {
                    annotation,
                    attributes: attributes.map_or_else(Default::default, |(read, _)| read),
                }
            }
            Kind::Thread => {
                let (thread, name) = number(payload)?;
                Self::Thread { thread, name }
            }
            Kind::Device => {
                let (device, name) = layout::Device::read(payload)?;
                Self::Device { device, name }
            }
            Kind::Pool => Self::Pool(layout::Pool::read(payload)?.0),
            Kind::Memory => Self::Memory(layout::Memory::read(payload)?.0),
            Kind::Dump => {
                let (time_ns, path) = payload.split_first_chunk()?;
                let time_ns = u64::from_le_bytes(*time_ns);
                Self::Dump { time_ns, path }
            }
            Kind::Note => Self::Note(payload),
            Kind::Name => {
                let (of, name) = layout::Name::read(payload)?;
                Self::Name { of, name }
            }
        })
    }
}

/// Why a stretch of a log could not be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DamageKind {
    /// A record without a complete payload: its thread was killed while writing it.
    Unfinished,
    /// Bytes that are not a record.
    Lost,
    /// A record of a kind that this version does not know.
    UnknownKind,
    /// A record shorter than its kind requires.
    Malformed,
    /// The file ends before its records do.
    CutOff,
}

/// Damage of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The kind of damage.
    pub kind: DamageKind,
    /// Number of occurrences.
    pub count: u64,
    /// File offset of the first occurrence.
    pub offset: u64,
}

/// Iterates over the records of a log in order, each with its file offset.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// End of the last record, at most.
    end: u64,
    is_running: bool,
    /// Whether the log was full. Then the room reserved at its end was never filled.
    is_full: bool,
    damage: Vec<Damage>,
}

impl<'a> Records<'a> {
    pub(super) fn new(bytes: &'a [u8], header: &Header, from_offset: u64) -> Self {
        let align = RECORD_ALIGNMENT as u64;
        let first = from_offset.max(header.consumed_offset).max(HEADER_BYTES);
        let offset = first.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        let length = bytes.len() as u64;
        let mut records = Self {
            bytes,
            offset: offset.min(length),
            end: header.write_offset.min(header.backed_bytes).min(length),
            is_running: false,
            is_full: header.dropped_records > 0,
            damage: Vec::new(),
        };
        if header.write_offset > length && !records.is_full {
            records.add(DamageKind::CutOff, length);
        }
        records
    }

    /// For the log of a running program: stop at the first unfinished record instead of counting it as damage.
    #[must_use]
    pub fn while_running(mut self) -> Self {
        self.is_running = true;
        self.damage.clear();
        self
    }

    /// File offset of the next record. [`Log::records`](super::Log::records) can continue from it.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Damage found so far, one entry per kind.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn add(&mut self, kind: DamageKind, offset: u64) {
        match self.damage.iter_mut().find(|damage| damage.kind == kind) {
            Some(damage) => damage.count += 1,
            None => self.damage.push(Damage {
                kind,
                count: 1,
                offset,
            }),
        }
    }

    /// Payload length and kind number of the record at `offset`, if there is one.
    #[inline]
    fn head(&self, offset: u64) -> Option<(usize, u8)> {
        let start = usize::try_from(offset).ok()?;
        let head: &[u8; RECORD_HEADER_BYTES] = self.bytes.get(start..)?.first_chunk()?;
        let [a, b, c, d, kind, zero, e, f] = *head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let is_record = zero == 0
            && u16::from_le_bytes([e, f]) == record_check(offset)
            && length <= LONGEST_PAYLOAD_BYTES
            && offset + record_bytes(length) as u64 <= self.end;
        is_record.then_some((length, kind))
    }

    /// Skips to the next record. Returns whether there is one.
    fn resynchronise(&mut self) -> bool {
        let lost = self.offset;
        let align = RECORD_ALIGNMENT as u64;
        let mut offset = lost;
        while offset < self.end && self.head(offset).is_none() {
            offset += align;
        }
        // The space that a full log reserved for its last record remains zero; that is not damage.
        let rest = self.bytes.get(lost as usize..self.end as usize);
        let is_room = offset >= self.end && self.is_full;
        if !(is_room && rest.is_none_or(|rest| rest.iter().all(|&byte| byte == 0))) {
            self.add(DamageKind::Lost, lost);
        }
        self.offset = offset.min(self.end);
        offset < self.end
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, Record<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.offset < self.end {
            let offset = self.offset;
            let Some((length, kind)) = self.head(offset) else {
                if self.is_running || !self.resynchronise() {
                    return None;
                }
                continue;
            };
            if self.is_running {
                if kind == 0 {
                    return None;
                }
                // The program's thread stores the kind after the payload, with Release. Without this fence a processor could
                // have read the payload before the kind.
                fence(Ordering::Acquire);
            }
            self.offset = offset + record_bytes(length) as u64;
            if kind == 0 {
                self.add(DamageKind::Unfinished, offset);
                continue;
            }
            let Some(kind) = Kind::of_number(kind) else {
                self.add(DamageKind::UnknownKind, offset);
                continue;
            };
            let start = offset as usize + RECORD_HEADER_BYTES;
            let payload = self.bytes.get(start..start + length).unwrap_or_default();
            match Record::read(kind, payload) {
                Some(record) => return Some((offset, record)),
                None => self.add(DamageKind::Malformed, offset),
            }
        }
        None
    }
}
