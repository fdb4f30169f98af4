//! Reads one event of a trace, token by token: the few relevant fields go into [`Fields`], the rest is skipped.

use std::fmt::{self, Write};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::json::Driver;
use super::super::value::Fault;

/// Longest text of an operator's inputs, in bytes. Models have a few dozen inputs; a list of tensors may have thousands.
const INPUTS_BYTES: usize = 240;

/// The relevant fields of an event being read. The buffers are reused for the next event.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) phase: String,
    pub(super) category: String,
    pub(super) name: String,
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
    pub(super) time_ns: Option<i64>,
    duration_ns: Option<i64>,
    pub(super) bytes: Option<i64>,
    pub(super) addr: Option<u64>,
    pub(super) device: Option<i64>,
    pub(super) device_type: Option<i64>,
    pub(super) allocated: Option<i64>,
    pub(super) reserved: Option<i64>,
    shapes: Items,
    types: Items,
}

impl Fields {
    fn clear(&mut self) {
        let (mut phase, mut category, mut name) = (
            std::mem::take(&mut self.phase),
            std::mem::take(&mut self.category),
            std::mem::take(&mut self.name),
        );
        let (mut shapes, mut types) = (
            std::mem::take(&mut self.shapes),
            std::mem::take(&mut self.types),
        );
        for text in [&mut phase, &mut category, &mut name] {
            text.clear();
        }
        for items in [&mut shapes, &mut types] {
            items.text.clear();
            items.ends.clear();
        }
        *self = Self {
            phase,
            category,
            name,
            shapes,
            types,
            ..Self::default()
        };
    }

    /// Start and end in nanoseconds.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let start = self.time_ns?;
        Some((start, start.saturating_add(self.duration_ns?.max(0))))
    }

    /// The inputs of an operator, `(float[64, 32], Scalar)`; empty if none of them is a tensor.
    pub(super) fn inputs(&self) -> String {
        let count = self.shapes.ends.len().max(self.types.ends.len());
        let inputs = (0..count).map(|item| (self.types.get(item), self.shapes.get(item)));
        let is_tensor = |&(kind, shape): &(&str, &str)| {
            shape != "[]" && !shape.is_empty() || kind.starts_with(|c: char| c.is_lowercase())
        };
        let mut text = String::new();
        if !inputs.clone().any(|input| is_tensor(&input)) {
            return text;
        }
        for (kind, shape) in inputs {
            let is_plain = shape == "[]" && !kind.starts_with(|c: char| c.is_lowercase());
            text.push_str(if text.is_empty() { "(" } else { ", " });
            text.push_str(kind.trim_start_matches("c10::"));
            text.push_str(if is_plain { "" } else { shape });
        }
        let rest = text.trim_end_matches([' ', ',']).len();
        text.truncate(rest);
        if text.len() > INPUTS_BYTES {
            text.truncate(text.floor_char_boundary(INPUTS_BYTES));
            text.push('…');
        }
        text.push(')');
        text
    }

    fn set_text(&mut self, field: Field, text: &str) {
        let to = match field {
            Field::Phase => &mut self.phase,
            Field::Category => &mut self.category,
            Field::Name => &mut self.name,
            // Some tools put numbers in quotes.
            _ => return self.set_number(field, text.parse().map_or(Number::None, Number::Int)),
        };
        to.clear();
        to.push_str(text);
    }

    fn set_number(&mut self, field: Field, number: Number) {
        match field {
            Field::Pid => self.pid = number.whole(),
            Field::Tid => self.tid = number.whole(),
            Field::Time => self.time_ns = number.nanoseconds(),
            Field::Duration => self.duration_ns = number.nanoseconds(),
            Field::Bytes => self.bytes = number.whole(),
            Field::Addr => self.addr = number.bits(),
            Field::Device => self.device = number.whole(),
            Field::DeviceType => self.device_type = number.whole(),
            Field::Allocated => self.allocated = number.whole(),
            Field::Reserved => self.reserved = number.whole(),
            _ => {}
        }
    }
}

/// The items of a list as joined texts.
#[derive(Default)]
struct Items {
    text: String,
    ends: Vec<usize>,
}

impl Items {
    fn get(&self, item: usize) -> &str {
        let Some(&end) = self.ends.get(item) else {
            return "";
        };
        let start = item.checked_sub(1).and_then(|before| self.ends.get(before));
        self.text
            .get(start.copied().unwrap_or(0)..end)
            .unwrap_or("")
    }

    /// Whether further items would not be shown.
    fn is_full(&self) -> bool {
        self.text.len() > 2 * INPUTS_BYTES || self.ends.len() > INPUTS_BYTES
    }
}

#[derive(Clone, Copy)]
enum Number {
    None,
    Int(i64),
    Big(u64),
    Float(f64),
}

impl Number {
    fn whole(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(float) if float.fract() == 0.0 && float.abs() < 2_f64.powi(63) => {
                Some(float as i64)
            }
            _ => None,
        }
    }

    /// The number as 64 bits, signed or not.
    fn bits(self) -> Option<u64> {
        match self {
            Self::Big(int) => Some(int),
            other => other.whole().map(i64::cast_unsigned),
        }
    }

    /// Converts from microseconds.
    fn nanoseconds(self) -> Option<i64> {
        match self {
            Self::Int(int) => int.checked_mul(1000),
            Self::Float(float) if float.abs() < 9e15 => Some((float * 1000.0).round() as i64),
            _ => None,
        }
    }
}

/// A key of an event, or of its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Time,
    Duration,
    Arguments,
    Bytes,
    Addr,
    Device,
    DeviceType,
    Allocated,
    Reserved,
    Shapes,
    Types,
    Other,
}

impl Field {
    fn of_event(key: &str) -> Self {
        match key {
            "ph" => Self::Phase,
            "cat" => Self::Category,
            "name" => Self::Name,
            "pid" => Self::Pid,
            "tid" => Self::Tid,
            "ts" => Self::Time,
            "dur" => Self::Duration,
            "args" => Self::Arguments,
            _ => Self::Other,
        }
    }

    fn of_arguments(key: &str) -> Self {
        match key {
            "Bytes" => Self::Bytes,
            "Addr" => Self::Addr,
            "Device Id" => Self::Device,
            "Device Type" => Self::DeviceType,
            "Total Allocated" => Self::Allocated,
            "Total Reserved" => Self::Reserved,
            "Input Dims" | "Input dims" => Self::Shapes,
            "Input type" => Self::Types,
            _ => Self::Other,
        }
    }
}

/// The value of `traceEvents`.
pub(in super::super) struct EventsNode<'d, 'm, 'c, 't> {
    pub(in super::super) driver: &'d mut Driver<'m, 'c, 't>,
}

impl<'de> DeserializeSeed<'de> for EventsNode<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EventsNode<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        let driver = self.driver;
        driver.machine.trace.get_or_insert_default();
        while let Some(()) = events.next_element_seed(Node {
            driver,
            field: Field::Other,
            is_event: true,
        })? {}
        Ok(())
    }
}

impl Driver<'_, '_, '_> {
    /// Ends an event.
    fn end_event(&mut self) -> Result<(), Fault> {
        let Some(mut trace) = self.machine.trace.take() else {
            return Ok(());
        };
        let added = trace.add(self.machine);
        self.machine.trace = Some(trace);
        added
    }
}

struct KeyNode<'d, 'm, 'c, 't> {
    driver: &'d mut Driver<'m, 'c, 't>,
    of: fn(&str) -> Field,
}

impl<'de> DeserializeSeed<'de> for KeyNode<'_, '_, '_, '_> {
    type Value = Field;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyNode<'_, '_, '_, '_> {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Field, E> {
        let Self { driver, of } = self;
        // The skipped value may have contained a word for a number.
        driver.word.take();
        let stepped = driver.step();
        driver.keep(stepped)?;
        Ok(of(key))
    }
}

struct Node<'d, 'm, 'c, 't> {
    driver: &'d mut Driver<'m, 'c, 't>,
    field: Field,
    is_event: bool,
}

impl Node<'_, '_, '_, '_> {
    fn fields(&mut self) -> &mut Fields {
        &mut self.driver.machine.trace.get_or_insert_default().fields
    }

    fn number(mut self, number: Number) {
        // NaN and infinities arrive as zeros.
        let number = match self.driver.word.take() {
            Some(_) => Number::None,
            None => number,
        };
        let field = self.field;
        self.fields().set_number(field, number);
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.field {
            Field::Other if !self.is_event => deserializer
                .deserialize_ignored_any(IgnoredAny)
                .map(|IgnoredAny| ()),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Node<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, _value: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.number(Number::Int(value));
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.number(i64::try_from(value).map_or(Number::Big(value), Number::Int));
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.number(Number::Float(value));
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(mut self, value: &str) -> Result<(), E> {
        let field = self.field;
        self.fields().set_text(field, value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let is_shapes = match self.field {
            Field::Shapes => true,
            Field::Types => false,
            _ => {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(());
            }
        };
        let fields = self.fields();
        let list = match is_shapes {
            true => &mut fields.shapes,
            false => &mut fields.types,
        };
        list.text.clear();
        list.ends.clear();
        while items.next_element_seed(ItemNode { list })?.is_some() {
            if !list.is_full() {
                list.ends.push(list.text.len());
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        if !self.is_event && self.field != Field::Arguments {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let is_event = self.is_event;
        let of = match is_event {
            true => Field::of_event,
            false => Field::of_arguments,
        };
        if is_event {
            self.fields().clear();
        }
        let driver = self.driver;
        while let Some(field) = entries.next_key_seed(KeyNode { driver, of })? {
            entries.next_value_seed(Node {
                driver,
                field,
                is_event: false,
            })?;
        }
        if is_event {
            let added = driver.end_event();
            driver.keep(added)?;
        }
        Ok(())
    }
}

/// An item of a list of shapes or types about to be read, to be appended to the earlier ones.
struct ItemNode<'i> {
    list: &'i mut Items,
}

impl ItemNode<'_> {
    fn write(self, text: impl fmt::Display) {
        if !self.list.is_full() {
            let _ = write!(self.list.text, "{text}");
        }
    }
}

impl<'de> DeserializeSeed<'de> for ItemNode<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemNode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a shape or a type")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, _value: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.write(value);
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.write(value);
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.write(value);
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.write(&value[..value.floor_char_boundary(INPUTS_BYTES)]);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let list = self.list;
        ItemNode { list }.write("[");
        let mut is_first = true;
        loop {
            let before = list.text.len();
            if !is_first {
                ItemNode { list }.write(", ");
            }
            is_first = false;
            if items.next_element_seed(ItemNode { list })?.is_none() {
                list.text.truncate(before);
                break;
            }
        }
        ItemNode { list }.write("]");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
