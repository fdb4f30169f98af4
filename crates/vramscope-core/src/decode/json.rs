//! Decodes JSON snapshots onto the [`Machine`], token by token. The schema is the same, with lists for tuples.
//!
//! PyTorch does not write JSON, but its viewer reads it and other tools make it. serde_json parses the
//! text, and [`Node`] calls the machine as a pickle's opcodes would.

mod not_numbers;
mod surrogates;
mod tap;

use std::cell::Cell;
use std::fmt;
use std::io::BufRead;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::error::Category;

use self::tap::Tap;
use super::key::Key;
use super::kineto::EventsNode;
use super::machine::Machine;
use super::records::TWO_TO_64;
use super::timeline::TimelineNode;
use super::value::{Fault, ListCell, Value, malformed};
use super::{End, Told};
use crate::ErrorKind;
use crate::container::kind_of;
use crate::error::Lookalike;
use crate::model::WarningKind;

/// Bytes between two progress reports.
const CHUNK: u64 = 256 << 10;

/// Values gathered before they are added to their list. Pickle batches have the same size.
const BATCH: usize = 1000;

/// Values for which the stack has room: a token pushes one, and at most one more follows before the next [`Driver::step`].
const PUSHES: usize = 4;

/// What a JSON file contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A snapshot, or a trace of torch.profiler.
    Dict,
    /// A memory timeline of torch.profiler.
    Timeline,
}

/// Reads a JSON value, and leaves it on the machine's stack. The events of a trace, and timelines, are left in the machine
/// itself. Reports progress to `told` every few hundred kilobytes.
pub(super) fn read(
    input: Box<dyn BufRead + '_>,
    form: Form,
    machine: &mut Machine,
    told: &mut Told<'_>,
) -> End {
    let offset = Cell::new(0);
    let token = Cell::new(0);
    let longest = machine.limits.string_bytes as u64;
    let was_lone = Cell::new(false);
    let word = Cell::new(None);
    let mut tap = Tap::new(input, (&was_lone, &word), (&offset, &token), longest);
    let mut driver = Driver {
        machine,
        told,
        offset: &offset,
        token: &token,
        was_lone: &was_lone,
        word: &word,
        asked: 0,
        fault: None,
    };
    let mut deserializer = Deserializer::from_reader(&mut tap);
    let driver_mut = &mut driver;
    let result = match form {
        Form::Dict => {
            let (is_schema, depth) = (true, 0);
            let node = Node {
                driver: driver_mut,
                is_schema,
                depth,
            };
            node.deserialize(&mut deserializer)
        }
        Form::Timeline => TimelineNode { driver: driver_mut }.deserialize(&mut deserializer),
    };
    let fault = match (driver.fault.take(), result) {
        (Some(fault), _) => Some(fault),
        (None, Err(error)) => Some(fault_of(error)),
        (None, Ok(())) => driver.ask().err(),
    };
    let end = End {
        fault,
        offset: offset.get(),
    };
    if end.fault.is_none() {
        match tap.read_rest() {
            Ok(true) => {}
            Ok(false) => machine.warn(WarningKind::TrailingBytes),
            // The snapshot itself is complete, so damage after it is only a warning.
            Err(error) => machine.warn(kind_of(&error).behind_snapshot()),
        }
    }
    end
}

fn fault_of(error: serde_json::Error) -> Fault {
    match error.classify() {
        Category::Io => kind_of(&error.into()).into(),
        Category::Eof => ErrorKind::Truncated("in the middle of JSON").into(),
        Category::Syntax | Category::Data => malformed(format!("this is not valid JSON: {error}")),
    }
}

/// The state shared by all nodes.
pub(super) struct Driver<'m, 'c, 't> {
    pub(super) machine: &'m mut Machine,
    told: &'m mut Told<'t>,
    offset: &'c Cell<u64>,
    token: &'c Cell<u64>,
    /// Whether a lone surrogate was replaced and not yet counted.
    was_lone: &'c Cell<bool>,
    /// The number that the zero being read stands for, unless it is a real zero.
    pub(super) word: &'c Cell<Option<f64>>,
    /// Offset of the last progress report.
    asked: u64,
    /// The error, kept here because serde's errors hold only text.
    fault: Option<Fault>,
}

impl Driver<'_, '_, '_> {
    /// Notes the end of a token, and reports progress from time to time.
    pub(super) fn step(&mut self) -> Result<(), Fault> {
        let offset = self.offset.get();
        self.token.set(offset);
        if self.was_lone.take() {
            self.machine.warn(WarningKind::InvalidUtf8);
        }
        self.machine.make_room(PUSHES)?;
        if offset - self.asked >= CHUNK {
            self.ask()
        } else {
            Ok(())
        }
    }

    fn ask(&mut self) -> Result<(), Fault> {
        self.asked = self.offset.get();
        self.told.chunk(self.machine, self.asked)?;
        Ok(())
    }

    /// Stores an error, and returns one for serde.
    pub(super) fn keep<T, E: serde::de::Error>(
        &mut self,
        result: Result<T, Fault>,
    ) -> Result<T, E> {
        result.map_err(|fault| {
            self.fault = Some(fault);
            E::custom("")
        })
    }

    fn open(&mut self, new: fn(&mut Machine) -> Value) -> Result<(), Fault> {
        self.step()?;
        let container = new(self.machine);
        self.machine.push(container);
        self.machine.mark()
    }

    /// Adds the gathered values to the list below them.
    fn flush(&mut self) -> Result<(), Fault> {
        self.machine.appends()?;
        self.machine.mark()
    }

    /// Ends a list. Two integers become a pair, like a tuple of them in a pickle: every event has a pool id, and a list for
    /// each would take more memory than the event.
    fn close_list(&mut self) -> Result<(), Fault> {
        let machine = &mut *self.machine;
        let start = machine.marks.last().map_or(0, |&mark| mark as usize);
        let last_list = Value::List((machine.lists.len() as u32).wrapping_sub(1));
        let value_at = |index: usize| {
            machine
                .stack
                .get(index)
                .map(|&packed| machine.value(packed))
        };
        let is_fresh = machine.lists.last() == Some(&ListCell::Empty)
            && value_at(start.wrapping_sub(1)) == Some(last_list);
        if let (true, 2, Some(Value::Int(first)), Some(Value::Int(second))) = (
            is_fresh,
            machine.stack.len() - start,
            value_at(start),
            value_at(start + 1),
        ) {
            machine.lists.pop();
            let pair = machine.tables.pair(first, second, &mut machine.budget)?;
            machine.stack.truncate(start - 1);
            machine.marks.pop();
            machine.push(Value::Pair(pair));
            return Ok(());
        }
        machine.appends()
    }

    /// Pushes a key, unless it is that of a trace's events. Some keys show that the file is of another kind.
    fn key(&mut self, key: &str, depth: usize) -> Result<Under, Fault> {
        self.step()?;
        if key == "traceEvents" && depth == 0 {
            return Ok(Under::TraceEvents);
        }
        if key == "ph" && depth == 1 {
            return Err(ErrorKind::NotASnapshot(Lookalike::ChromeTrace).into());
        }
        self.machine.push_text(key.as_bytes())?;
        let key = self
            .machine
            .stack
            .last()
            .map(|&packed| self.machine.value(packed));
        let is_schema = matches!(key, Some(Value::Str(id)) if Key::of(id).is_some());
        Ok(Under::Key { is_schema })
    }
}

/// What follows a key.
enum Under {
    /// A value of the snapshot; `is_schema`: the key belongs to the schema.
    Key { is_schema: bool },
    /// The events of a trace.
    TraceEvents,
}

struct Node<'d, 'm, 'c, 't> {
    driver: &'d mut Driver<'m, 'c, 't>,
    /// Whether the value is under a key of the schema, where every whole number counts as an integer.
    is_schema: bool,
    depth: usize,
}

impl Node<'_, '_, '_, '_> {
    fn push_number<E: serde::de::Error>(self, value: Value) -> Result<(), E> {
        let word = self.driver.word.take();
        self.push(word.map_or(value, Value::Float))
    }

    fn push<E: serde::de::Error>(self, value: Value) -> Result<(), E> {
        self.driver.machine.push(value);
        let result = self.driver.step();
        self.driver.keep(result)
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.push(Value::None)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.push(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.push_number(Value::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.push_number(integer(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        let value = if self.is_schema {
            whole(value)
        } else {
            Value::Float(value)
        };
        self.push_number(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        let result = self
            .driver
            .machine
            .push_text(value.as_bytes())
            .and_then(|()| self.driver.step());
        self.driver.keep(result)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self {
            driver,
            is_schema,
            depth,
        } = self;
        let opened = driver.open(Machine::new_list);
        driver.keep(opened)?;
        let mut gathered = 0;
        while let Some(()) = items.next_element_seed(Node {
            driver,
            is_schema,
            depth: depth + 1,
        })? {
            gathered += 1;
            if gathered == BATCH {
                gathered = 0;
                let flushed = driver.flush();
                driver.keep(flushed)?;
            }
        }
        let closed = driver.close_list();
        driver.keep(closed)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Self { driver, depth, .. } = self;
        let opened = driver.open(Machine::new_dict);
        driver.keep(opened)?;
        while let Some(under) = entries.next_key_seed(KeyNode { driver, depth })? {
            match under {
                Under::Key { is_schema } => entries.next_value_seed(Node {
                    driver,
                    is_schema,
                    depth: depth + 1,
                })?,
                Under::TraceEvents => entries.next_value_seed(EventsNode { driver })?,
            }
        }
        let closed = driver.machine.set_items();
        driver.keep(closed)
    }
}

struct KeyNode<'d, 'm, 'c, 't> {
    driver: &'d mut Driver<'m, 'c, 't>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for KeyNode<'_, '_, '_, '_> {
    type Value = Under;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Under, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyNode<'_, '_, '_, '_> {
    type Value = Under;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Under, E> {
        let result = self.driver.key(key, self.depth);
        self.driver.keep(result)
    }
}

fn integer(value: u64) -> Value {
    i64::try_from(value).map_or(Value::Big(value), Value::Int)
}

/// The integer that a float represents, if it is whole. JavaScript writes large integers as floats, some tools all of them.
fn whole(value: f64) -> Value {
    if value.fract() != 0.0 || !(-TWO_TO_64 / 2.0..=TWO_TO_64).contains(&value) {
        return Value::Float(value);
    }
    // Casting saturates, so 2^64, to which a slightly lower number was rounded, becomes 2^64 - 1.
    if value < 0.0 {
        Value::Int(value as i64)
    } else {
        integer(value as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Lookalike;
    use crate::model::{PoolId, WarningKind};
    use crate::{Error, ErrorKind, Snapshot, decode};

    const SNAPSHOT: &str = r#"{
        "segments": [{"device": 0, "address": 139637976727552, "total_size": 2097152.0,
            "allocated_size": 512, "active_size": 512, "requested_size": 500, "stream": 0,
            "segment_type": "small", "segment_pool_id": [0, 0], "is_expandable": false, "frames": [],
            "blocks": [
                {"address": 139637976727552, "size": 512, "requested_size": 500,
                 "state": "active_allocated", "frames": [{"name": "f", "filename": "a.py", "line": 3}]},
                {"address": 139637976728064, "size": 2096640, "requested_size": 0, "state": "inactive",
                 "frames": []}]}],
        "device_traces": [[], [
            {"action": "alloc", "addr": 18446744073709551615, "size": 500, "stream": 0,
             "time_us": 1700000000000000, "pool_id": [1, 2],
             "frames": [{"name": "f", "filename": "a.py", "line": 3}]},
            {"action": "free_requested", "addr": -1, "size": 5e2, "stream": 0},
            {"action": "free_completed", "addr": 18446744073709552000, "size": 500, "stream": 0,
             "frames": null}]],
        "allocator_settings": {"garbage_collection_threshold": 0.0, "max_split_size": -1}
    }
    "#;

    fn error(text: &str) -> Error {
        decode(text.as_bytes()).map(|_| ()).unwrap_err()
    }

    fn decoded(text: &str) -> Snapshot {
        decode(text.as_bytes()).unwrap()
    }

    #[test]
    fn reads_what_a_pickle_would_hold() {
        let snapshot = decoded(SNAPSHOT);
        // The events have the last possible address, with room for one byte, so their sizes are removed.
        let warnings = snapshot.warnings.list().iter();
        let warnings: Vec<_> = warnings.map(|of| (of.kind.clone(), of.count)).collect();
        let expected = [
            (WarningKind::ImpossibleSize, 3),
            (WarningKind::TimeMissing, 2),
        ];
        assert_eq!(warnings, expected);
        assert_eq!(snapshot.segments.rows[0].total_size, 2_097_152);
        assert_eq!(snapshot.segments.rows[0].pool, Some(PoolId(0, 0)));
        assert_eq!(snapshot.traces, [0..0, 0..3]);
        assert_eq!(snapshot.events.addr, [u64::MAX; 3]);
        assert_eq!(snapshot.events.size, [0; 3]);
        assert_eq!(snapshot.events.stack[0], snapshot.blocks.rows[0].stack);
        assert_eq!(
            snapshot.contexts.get(snapshot.events.context[0]).pool,
            Some(PoolId(1, 2))
        );
        assert!(snapshot.settings["garbage_collection_threshold"].is_f64());
    }

    #[test]
    fn lists_longer_than_a_batch() {
        let event = r#"{"action":"alloc","addr":1,"size":2,"stream":0}"#;
        let text = format!(
            r#"{{"segments":[],"device_traces":[[{}]]}}"#,
            vec![event; 2500].join(",")
        );
        assert_eq!(decoded(&text).traces.first(), Some(&(0..2500)));
    }

    #[test]
    fn lone_surrogates_are_damage_to_a_text_only() {
        let snapshot = decoded(&SNAPSHOT.replace("a.py", "caf\\udce9\\ud83d\\ude00.py"));
        assert!(snapshot.strings.find("caf\u{fffd}\u{1f600}.py").is_some());
        assert_eq!(snapshot.warnings.list()[0].kind, WarningKind::InvalidUtf8);
        assert_eq!(snapshot.warnings.list()[0].count, 2);
    }

    #[test]
    fn every_cut_is_an_error() {
        for cut in 0..SNAPSHOT.trim_end().len() {
            let kind = error(&SNAPSHOT[..cut]).kind;
            assert!(
                matches!(
                    kind,
                    ErrorKind::Truncated(_) | ErrorKind::Empty | ErrorKind::UnknownFormat
                ),
                "{cut}: {kind}"
            );
        }
    }

    #[test]
    fn faults_name_the_place() {
        let error =
            error(r#"{"segments": [], "device_traces": [[], [{"action": "alloc", "addr": "x"}]]}"#);
        assert_eq!(error.path, "device_traces[1][0].addr");
        assert!(matches!(error.kind, ErrorKind::Malformed(_)));
    }

    #[test]
    fn other_json() {
        for text in [
            r#"{"schemaVersion": 1, "traceEvents": []}"#,
            r#"{"traceEvents": [{"name": "x", "ph": "X", "ts": 1, "dur": 2}]}"#,
            r#"[{"name": "x", "ph": "X"}]"#,
        ] {
            assert_eq!(
                error(text).kind,
                ErrorKind::NotASnapshot(Lookalike::ChromeTrace)
            );
        }
        assert!(matches!(
            error(r#"{"a": 1}"#).kind,
            ErrorKind::WrongShape(_)
        ));
        assert!(matches!(error("{]").kind, ErrorKind::Malformed(_)));
        let deep = "[".repeat(100_000);
        assert!(matches!(
            error(&deep).kind,
            ErrorKind::Limit { limit: 64, .. }
        ));
    }

    #[test]
    fn what_follows_is_told() {
        let snapshot = decoded("[] \n\0");
        assert!(snapshot.warnings.is_empty());
        let snapshot = decoded("[] []");
        assert_eq!(snapshot.warnings.list()[0].kind, WarningKind::TrailingBytes);
    }
}
