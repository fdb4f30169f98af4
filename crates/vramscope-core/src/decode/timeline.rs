//! Reads memory timelines of torch.profiler (FORMAT.md 3.10), in both forms of `export_memory_timeline`:
//!
//! - `.raw.json`: `[[time in ns, action, ± bytes, category], …]`, an event for each tensor that already existed, was made,
//!   changed or dropped;
//! - `.json`: `[[time in µs, …], [[0, bytes of each category …], …]]`, the sums at each time.
//!
//! Neither has addresses, stacks or the device. In the first, a tensor that changes (an activation's memory becomes a
//! gradient's) is freed and allocated again with its new category. In the second, growth of a category becomes an
//! allocation, and shrinkage is taken from the latest ones: its bands are sums, not tensors.

use std::fmt;

use serde::de::{DeserializeSeed, SeqAccess, Visitor};

use super::finish::frozen;
use super::json::Driver;
use super::machine::Machine;
use super::unplaced::Unplaced;
use super::value::{Fault, malformed};
use crate::Snapshot;
use crate::ids::{ContextId, StackId};
use crate::model::{
    Action, Context, DeviceKind, Event, Profile, ProfileKind, ProfiledDevice, WarningKind,
};

/// The categories, indexed by their numbers.
const CATEGORIES: [&str; 8] = [
    "parameter",
    "optimizer_state",
    "input",
    "temporary",
    "activation",
    "gradient",
    "autograd_detail",
    "unknown",
];

/// More microseconds since 1970 would be in the year 5138.
const MOST_MICROSECONDS: i64 = 100_000_000_000_000_000;

/// torch's number for a tensor that changed.
const CHANGED: i64 = 3;

#[derive(Default)]
pub(super) struct Timeline {
    /// The first list: an event, or the times of all rows.
    first: Vec<i64>,
    is_raw: bool,
    /// The list being read.
    row: Vec<i64>,
    /// Rows read after the first list.
    rows: usize,
    contexts: [Option<ContextId>; CATEGORIES.len()],
    unplaced: Unplaced,
    /// Tensors that existed before, until the first time is known: bytes and category.
    before: Vec<(i64, usize)>,
    last_us: Option<i64>,
    /// The first half of a change: bytes and category.
    changing: Option<(i64, usize)>,
    /// By category: address and bytes of the allocations that make up its sum.
    pieces: [Vec<(u64, u64)>; CATEGORIES.len()],
    /// By category: the sum of its pieces.
    held: [u64; CATEGORIES.len()],
    /// Rows that are not events.
    left_out: u64,
}

impl Timeline {
    pub(super) fn has_rows(&self) -> bool {
        !self.first.is_empty()
    }

    /// Handles a list inside the outermost one.
    fn list(&mut self, machine: &mut Machine, place: usize) -> Result<(), Fault> {
        if place == 0 {
            self.first = std::mem::take(&mut self.row);
            return Ok(());
        }
        if place == 1 {
            self.is_raw = true;
            let first = std::mem::take(&mut self.first);
            self.raw(machine, &first)?;
            self.first = first;
        }
        let row = std::mem::take(&mut self.row);
        let read = self.raw(machine, &row);
        self.row = row;
        read
    }

    /// Handles an event of the raw form.
    fn raw(&mut self, machine: &mut Machine, row: &[i64]) -> Result<(), Fault> {
        let &[time_ns, action, bytes, category] = row else {
            self.left_out += 1;
            return Ok(());
        };
        let category = usize::try_from(category).unwrap_or(usize::MAX);
        if category >= CATEGORIES.len() || bytes == i64::MIN {
            self.left_out += 1;
            return Ok(());
        }
        if time_ns >= 0 {
            self.last_us = Some(time_ns / 1000);
            for (bytes, category) in std::mem::take(&mut self.before) {
                self.event(machine, bytes, category)?;
            }
        } else if self.last_us.is_none() {
            machine.budget.room(&mut self.before, 1)?;
            self.before.push((bytes, category));
            return Ok(());
        }
        match (self.changing.take(), action, bytes) {
            (None, CHANGED, ..0) => {
                self.changing = Some((bytes, category));
                Ok(())
            }
            (Some((before, old)), CHANGED, now) if before == -now => {
                if old == category {
                    return Ok(());
                }
                let address = self.event(machine, before, old)?;
                self.place(machine, address, now, category)?;
                self.unplaced
                    .keep(address, now, category as u64, &mut machine.budget)?;
                Ok(())
            }
            (other, ..) => {
                if let Some((bytes, category)) = other {
                    self.event(machine, bytes, category)?;
                }
                self.event(machine, bytes, category).map(|_| ())
            }
        }
    }

    /// Adds an allocation or a free, and returns its address.
    fn event(&mut self, machine: &mut Machine, bytes: i64, category: usize) -> Result<u64, Fault> {
        if bytes == 0 {
            return Ok(0);
        }
        let budget = &mut machine.budget;
        let address = self.unplaced.address(bytes, category as u64, budget)?;
        self.place(machine, address, bytes, category)?;
        Ok(address)
    }

    fn place(
        &mut self,
        machine: &mut Machine,
        addr: u64,
        bytes: i64,
        category: usize,
    ) -> Result<(), Fault> {
        let event = Event {
            action: Action::Alloc,
            addr,
            size: bytes.unsigned_abs(),
            time_us: self.last_us.unwrap_or(0),
            context: self.context(machine, category)?,
            stack: StackId::ABSENT,
        };
        machine.add_profiled(event, bytes <= 0)
    }

    fn context(&mut self, machine: &mut Machine, category: usize) -> Result<ContextId, Fault> {
        if let Some(known) = self.contexts[category] {
            return Ok(known);
        }
        let name = machine.intern(CATEGORIES[category])?;
        let context = Context {
            category: Some(name),
            ..Context::default()
        };
        let context = machine.tables.context(context, &mut machine.budget)?;
        self.contexts[category] = Some(context);
        Ok(context)
    }

    /// Handles the sums at one time.
    fn sums(&mut self, machine: &mut Machine) -> Result<(), Fault> {
        let Some(&time_us) = self.first.get(self.rows) else {
            return Err(malformed("a memory timeline has more sums than times"));
        };
        self.rows += 1;
        // torch 2.1 wrote nanoseconds.
        let is_ns = time_us > MOST_MICROSECONDS;
        self.last_us = Some(if is_ns { time_us / 1000 } else { time_us });
        if self.row.len() != CATEGORIES.len() + 1 {
            self.left_out += 1;
            return Ok(());
        }
        for category in 0..CATEGORIES.len() {
            let wanted = u64::try_from(self.row[category + 1]).unwrap_or(0);
            let held = self.held[category];
            if wanted > held {
                self.grow(machine, category, wanted - held)?;
            } else {
                self.shrink(machine, category, held - wanted)?;
            }
        }
        Ok(())
    }

    fn grow(&mut self, machine: &mut Machine, category: usize, bytes: u64) -> Result<(), Fault> {
        let signed = i64::try_from(bytes).unwrap_or(i64::MAX);
        let address = self.event(machine, signed, category)?;
        machine.budget.room(&mut self.pieces[category], 1)?;
        self.pieces[category].push((address, signed.unsigned_abs()));
        self.held[category] = self.held[category].saturating_add(signed.unsigned_abs());
        Ok(())
    }

    /// Removes bytes from the latest pieces of a category.
    fn shrink(&mut self, machine: &mut Machine, category: usize, bytes: u64) -> Result<(), Fault> {
        let mut rest = bytes;
        while rest > 0
            && let Some((address, piece)) = self.pieces[category].pop()
        {
            self.place(machine, address, -(piece as i64), category)?;
            self.held[category] = self.held[category].saturating_sub(piece);
            if piece > rest {
                self.grow(machine, category, piece - rest)?;
                return Ok(());
            }
            rest -= piece;
        }
        Ok(())
    }
}

pub(super) fn snapshot(mut machine: Machine, mut timeline: Timeline) -> Result<Snapshot, Fault> {
    // A single event looks like the times of no sums.
    if timeline.rows == 0 && !timeline.is_raw && timeline.first.len() == 4 {
        timeline.is_raw = true;
        let first = std::mem::take(&mut timeline.first);
        timeline.raw(&mut machine, &first)?;
    }
    if let Some((bytes, category)) = timeline.changing.take() {
        timeline.event(&mut machine, bytes, category)?;
    }
    for (bytes, category) in std::mem::take(&mut timeline.before) {
        timeline.event(&mut machine, bytes, category)?;
    }
    if machine.tables.events.is_empty() {
        return Err(malformed("a memory timeline without memory"));
    }
    if timeline.left_out > 0 {
        machine.warn_at(WarningKind::ValuesLeftOut, timeline.left_out, None);
    }
    let device = ProfiledDevice {
        device: 0,
        kind: DeviceKind::Unknown,
        number: 0,
        before_bytes: 0,
        peak_reserved_bytes: None,
        total_memory: None,
    };
    let kind = match timeline.is_raw {
        true => ProfileKind::RawTimeline,
        false => ProfileKind::Timeline,
    };
    let devices = vec![device];
    let events = 0..machine.tables.events.len() as u32;
    Ok(frozen(machine, vec![events], &Profile { kind, devices }))
}

impl Driver<'_, '_, '_> {
    fn with_timeline<T>(
        &mut self,
        act: impl FnOnce(&mut Timeline, &mut Machine) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut timeline = self.machine.timeline.take().unwrap_or_default();
        let done = act(&mut timeline, self.machine);
        self.machine.timeline = Some(timeline);
        done
    }
}

/// The outermost list.
pub(super) struct TimelineNode<'d, 'm, 'c, 't> {
    pub(super) driver: &'d mut Driver<'m, 'c, 't>,
}

impl<'de> DeserializeSeed<'de> for TimelineNode<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TimelineNode<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of lists")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut lists: A) -> Result<(), A::Error> {
        let driver = self.driver;
        driver.machine.timeline.get_or_insert_default();
        let mut place = 0;
        while let Some(item) = lists.next_element_seed(ItemNode { driver, depth: 0 })? {
            let taken = driver.with_timeline(|timeline, machine| match item {
                Item::Numbers => timeline.list(machine, place),
                Item::Sums => Ok(()),
                Item::Number => {
                    timeline.left_out += 1;
                    Ok(())
                }
            });
            driver.keep(taken)?;
            place += 1;
        }
        Ok(())
    }
}

/// The value that was read.
enum Item {
    Number,
    /// A list of numbers, now in [`Timeline::row`].
    Numbers,
    /// A list of lists of numbers, already handled as sums.
    Sums,
}

/// A number, a list of numbers, or a list of such lists about to be read.
struct ItemNode<'d, 'm, 'c, 't> {
    driver: &'d mut Driver<'m, 'c, 't>,
    /// The number of lists around it, not counting the outermost.
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ItemNode<'_, '_, '_, '_> {
    type Value = Item;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl ItemNode<'_, '_, '_, '_> {
    fn number<E: serde::de::Error>(self, number: i64) -> Result<Item, E> {
        // NaN and infinities arrive as zeros.
        self.driver.word.take();
        let stepped = self.driver.step().and_then(|()| {
            self.driver.with_timeline(|timeline, machine| {
                machine.budget.rows(&mut timeline.row, 1)?;
                timeline.row.push(number);
                Ok(())
            })
        });
        self.driver.keep(stepped)?;
        Ok(Item::Number)
    }
}

impl<'de> Visitor<'de> for ItemNode<'_, '_, '_, '_> {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a list of numbers")
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Item, E> {
        self.number(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Item, E> {
        self.number(i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Item, E> {
        // Casting saturates.
        self.number(value as i64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Item, A::Error> {
        let Self { driver, depth } = self;
        if depth > 1 {
            return Err(serde::de::Error::custom("lists of sums hold numbers only"));
        }
        let emptied = driver.with_timeline(|timeline, _| {
            timeline.row.clear();
            Ok(())
        });
        driver.keep(emptied)?;
        let mut read = Item::Numbers;
        while let Some(item) = items.next_element_seed(ItemNode {
            driver,
            depth: depth + 1,
        })? {
            if matches!(item, Item::Numbers) {
                let taken = driver.with_timeline(Timeline::sums);
                driver.keep(taken)?;
                read = Item::Sums;
            }
        }
        Ok(read)
    }
}
