//! Turns the decoded value of a file into a frozen [`Snapshot`].

use std::collections::BTreeSet;
use std::ops::Range;

use super::key::Key;
use super::machine::Machine;
use super::value::{DictCell, Fault, ListCell, Record, RecordKind, Value, malformed};
use super::{kineto, producer, timeline};
use crate::ErrorKind;
use crate::ids::StackId;
use crate::model::{
    AnnotationTable, CAPTURE_KEY, CUT_KEY, DAMAGE_KEY, DRY_RUN_KEY, PROFILE_KEY, Producer, Profile,
    Segment, SegmentTable, Snapshot, Source, Warning, WarningKind, capture_of, damage_of,
};

/// Source files' texts by path, written by torch-snapkit and `vramscope record --source`: kept, with no warning.
const SOURCE_KEY: &str = "source_code";

/// Most devices; each needs its own analysis. Today's largest machines have 72.
pub(crate) const MOST_DEVICES: usize = 256;

/// The snapshot in the value on top of the stack.
pub(super) fn snapshot(mut machine: Machine) -> Result<Snapshot, Fault> {
    if let Some(timeline) = machine.timeline.take() {
        return timeline::snapshot(machine, *timeline);
    }
    let top = machine.top_alone()?;
    if let Some(trace) = machine.trace.take() {
        return kineto::snapshot(machine, *trace, top);
    }
    let parts = Parts::of(&mut machine, top)?;
    let traces = machine.traces(parts.device_traces)?;
    let host_trace = match parts.host_traces {
        Some(list) => machine.rows_value(list, RecordKind::Event, Key::HostTraces)?,
        None => 0..0,
    };
    let device_rows = machine.rows_value(parts.segments, RecordKind::Segment, Key::Segments)?;
    let host_rows = match parts.host_segments {
        Some(list) => machine.rows_value(list, RecordKind::Segment, Key::HostSegments)?,
        None => 0..0,
    };
    let annotation_rows = match parts.annotations {
        Some(list) => machine.rows_value(list, RecordKind::Annotation, Key::ExternalAnnotations)?,
        None => 0..0,
    };
    let settings = settings_of(&mut machine, parts.settings)?;
    let segments = machine.slice(&machine.tables.segments, device_rows)?;
    check_devices(&segments)?;
    let host_segments = machine.slice(&machine.tables.segments, host_rows)?;
    let annotations = machine.slice(&machine.tables.annotations.rows, annotation_rows)?;

    let mut warnings = machine.warnings;
    warnings.merge(parts.damage);
    let tables = machine.tables;
    let keys = tables.keys;
    let mut snapshot = Snapshot {
        segments: SegmentTable { rows: segments },
        host_segments: SegmentTable {
            rows: host_segments,
        },
        annotations: AnnotationTable { rows: annotations },
        strings: tables.strings,
        frames: tables.frames,
        stacks: tables.stacks,
        contexts: tables.contexts,
        events: tables.events,
        blocks: tables.blocks,
        traces,
        host_trace,
        settings,
        extras: parts.extras,
        keys,
        source: Source::default(),
        producer: Producer::default(),
        warnings,
    };
    snapshot.keys.top = parts.keys;
    snapshot.producer = producer::of(&snapshot);
    Ok(snapshot)
}

/// The snapshot of a profile, whose events and annotations are in their tables.
pub(super) fn frozen(machine: Machine, traces: Vec<Range<u32>>, profile: &Profile) -> Snapshot {
    let tables = machine.tables;
    let mut keys = tables.keys;
    keys.top |= Key::Segments.bit() | Key::DeviceTraces.bit();
    let of_events = [Key::Action, Key::Addr, Key::Size, Key::Stream, Key::TimeUs];
    let mut has = |key: Key, is_there: bool| keys.event |= if is_there { key.bit() } else { 0 };
    for key in of_events {
        has(key, true);
    }
    let contexts = tables.contexts.rows();
    let stacks = &tables.events.stack;
    has(
        Key::Frames,
        stacks.iter().any(|stack| *stack != StackId::ABSENT),
    );
    has(
        Key::UserMetadata,
        contexts
            .iter()
            .any(|context| context.user_metadata.is_some()),
    );
    has(
        Key::Category,
        contexts.iter().any(|context| context.category.is_some()),
    );
    let mut snapshot = Snapshot {
        annotations: tables.annotations,
        strings: tables.strings,
        frames: tables.frames,
        stacks: tables.stacks,
        contexts: tables.contexts,
        events: tables.events,
        traces,
        keys,
        warnings: machine.warnings,
        ..Snapshot::default()
    };
    profile.put(&mut snapshot.extras);
    snapshot.producer = producer::of(&snapshot);
    snapshot
}

/// The allocator's settings, if they are a dict. Anything else counts as absent, with a warning unless it is None.
fn settings_of(
    machine: &mut Machine,
    value: Option<Value>,
) -> Result<serde_json::Map<String, serde_json::Value>, Fault> {
    let key = Key::AllocatorSettings.text();
    match value
        .map(|value| machine.kept_json_of(value, key))
        .transpose()?
    {
        Some(serde_json::Value::Object(settings)) => return Ok(settings),
        Some(serde_json::Value::Null) | None => {}
        Some(_) => machine.warn_at(WarningKind::ValuesLeftOut, 1, Some(key)),
    }
    Ok(serde_json::Map::new())
}

fn check_devices(segments: &[Segment]) -> Result<(), Fault> {
    let mut devices = BTreeSet::new();
    for segment in segments {
        devices.insert(segment.device);
        if devices.len() > MOST_DEVICES {
            return Err(too_many_devices(Key::Segments));
        }
    }
    Ok(())
}

struct Parts {
    segments: Value,
    device_traces: Option<Value>,
    settings: Option<Value>,
    annotations: Option<Value>,
    host_segments: Option<Value>,
    host_traces: Option<Value>,
    extras: serde_json::Map<String, serde_json::Value>,
    /// The damage of the file that this one was written from.
    damage: Vec<Warning>,
    keys: u64,
}

impl Parts {
    fn of(machine: &mut Machine, top: Value) -> Result<Self, Fault> {
        match top {
            Value::Dict(dict) => Self::of_dict(machine, dict),
            // The output of torch.cuda.memory_snapshot(), and every snapshot before torch 2.0, is only the list of segments.
            Value::List(list) if machine.is_list_of(list, RecordKind::Segment) => Ok(Self {
                segments: top,
                device_traces: None,
                settings: None,
                annotations: None,
                host_segments: None,
                host_traces: None,
                extras: serde_json::Map::new(),
                damage: Vec::new(),
                keys: 0,
            }),
            Value::List(_) => Err(wrong_shape(
                "the top level is a list of something else than segments",
            )),
            _ => Err(wrong_shape("the top level is neither a dict nor a list")),
        }
    }

    fn of_dict(machine: &mut Machine, dict: u32) -> Result<Self, Fault> {
        if let DictCell::Record(record) = machine.dict(dict) {
            let word = record.kind.word();
            return Err(wrong_shape(&format!("the top level is a single {word}")));
        }
        let get = |key| machine.lookup(dict, key);
        let device_traces = get(Key::DeviceTraces);
        let Some(segments) = get(Key::Segments).or(device_traces.map(|_| Value::None)) else {
            return Err(wrong_shape(&format!(
                "the top level is a dict without `segments`{}",
                machine.keys_found(dict)
            )));
        };
        let mut parts = Self {
            segments,
            device_traces,
            settings: get(Key::AllocatorSettings),
            annotations: get(Key::ExternalAnnotations).filter(|value| *value != Value::None),
            host_segments: get(Key::HostSegments).filter(|value| *value != Value::None),
            host_traces: get(Key::HostTraces).filter(|value| *value != Value::None),
            extras: serde_json::Map::new(),
            damage: Vec::new(),
            keys: 0,
        };
        if parts.segments == Value::None {
            machine.make_room(1)?;
            parts.segments = machine.new_list();
            machine.warn(WarningKind::MissingKey("segments".to_owned()));
        }
        parts.collect_extras(machine, dict)?;
        Ok(parts)
    }

    /// Stores the values of unknown keys, and notes the known keys.
    fn collect_extras(&mut self, machine: &mut Machine, dict: u32) -> Result<(), Fault> {
        const TOP: [Key; 6] = [
            Key::Segments,
            Key::DeviceTraces,
            Key::AllocatorSettings,
            Key::ExternalAnnotations,
            Key::HostSegments,
            Key::HostTraces,
        ];
        let Some(row) = machine.pairs_of(dict) else {
            return Ok(());
        };
        for index in 0..machine.pairs[row as usize].len() {
            let (name, value) = machine.pairs[row as usize][index];
            let (Some(id), value) = (name.text(), machine.value(value)) else {
                continue;
            };
            match Key::of(id).filter(|key| TOP.contains(key)) {
                Some(key) => {
                    if self.keys & key.bit() != 0 {
                        machine.warn_at(WarningKind::ValuesLeftOut, 1, Some(key.text()));
                    }
                    self.keys |= key.bit();
                }
                None if self.extras.len() < 64 => {
                    let name = machine.tables.strings.get(id).to_owned();
                    let json = machine.kept_json_of(value, &name)?;
                    if name == DAMAGE_KEY
                        && let Some(damage) = damage_of(&json)
                    {
                        self.damage = damage;
                        continue;
                    }
                    let known = [CUT_KEY, DRY_RUN_KEY, PROFILE_KEY, SOURCE_KEY];
                    let is_known = known.contains(&&*name) && json.is_object();
                    if self.extras.insert(name.clone(), json).is_some() {
                        machine.warn_at(WarningKind::ValuesLeftOut, 1, Some(&name));
                    }
                    let is_capture = name == CAPTURE_KEY && capture_of(&self.extras).is_some();
                    if !is_capture && !is_known {
                        machine.warn(WarningKind::UnknownKey(format!("{name} at the top level")));
                    }
                }
                None => {
                    let name: String = machine.tables.strings.get(id).chars().take(64).collect();
                    machine.warn_at(WarningKind::ValuesLeftOut, 1, Some(&name));
                }
            }
        }
        Ok(())
    }
}

fn too_many_devices(key: Key) -> Fault {
    let kind = ErrorKind::Limit {
        what: "the number of devices",
        limit: MOST_DEVICES as u64,
    };
    Fault {
        kind,
        field: Some(key.text()),
    }
}

fn wrong_shape(what: &str) -> Fault {
    ErrorKind::WrongShape(what.to_owned()).into()
}

impl Machine {
    /// The only value on the stack. Other values that a program left there would be lost silently.
    fn top_alone(&mut self) -> Result<Value, Fault> {
        let top = self.pop()?;
        if !self.stack.is_empty() || !self.marks.is_empty() {
            return Err(malformed("it ends with values that belong to nothing"));
        }
        Ok(top)
    }

    /// A copy of these rows; the originals are released with the rest of the machine.
    fn slice<T: Clone>(&self, rows: &[T], range: Range<u32>) -> Result<Vec<T>, Fault> {
        let rows = rows
            .get(range.start as usize..range.end as usize)
            .unwrap_or(&[]);
        let mut copy = self.budget.list(rows.len())?;
        copy.extend_from_slice(rows);
        Ok(copy)
    }

    fn is_list_of(&self, list: u32, wanted: RecordKind) -> bool {
        match self.lists[list as usize] {
            ListCell::Empty => true,
            ListCell::Rows { kind, .. } => kind == wanted,
            ListCell::Items(row) => self.items[row as usize]
                .iter()
                .all(|item| item.record().is_some_and(|record| record.kind == wanted)),
            _ => false,
        }
    }

    /// A few of a dict's keys, for a message.
    fn keys_found(&self, dict: u32) -> String {
        let Some(row) = self.pairs_of(dict) else {
            return " (it is empty)".to_owned();
        };
        let names = self.pairs[row as usize]
            .iter()
            .filter_map(|(key, _)| key.text());
        let names = names.map(|id| {
            self.tables
                .strings
                .get(id)
                .chars()
                .take(40)
                .collect::<String>()
        });
        let names: Vec<_> = names.take(5).collect();
        if names.is_empty() {
            String::new()
        } else {
            format!(" (it has {})", names.join(", "))
        }
    }

    /// The rows of each device's trace.
    fn traces(&mut self, value: Option<Value>) -> Result<Vec<Range<u32>>, Fault> {
        let field = Some(Key::DeviceTraces.text());
        let list = match value {
            None | Some(Value::None) => return Ok(Vec::new()),
            Some(Value::List(list)) => list,
            Some(_) => {
                return Err(Fault {
                    kind: ErrorKind::Malformed("`device_traces` is no list".to_owned()),
                    field,
                });
            }
        };
        let devices = self.first_values(self.lists[list as usize], MOST_DEVICES + 1)?;
        // Some tools write a flat list of events, for a single device.
        if matches!(
            devices.first(),
            Some(Value::Record(Record {
                kind: RecordKind::Event,
                ..
            }))
        ) {
            return Ok(vec![self.rows_value(
                Value::List(list),
                RecordKind::Event,
                Key::DeviceTraces,
            )?]);
        }
        if devices.len() > MOST_DEVICES {
            return Err(too_many_devices(Key::DeviceTraces));
        }
        devices
            .into_iter()
            .map(|trace| self.rows_value(trace, RecordKind::Event, Key::DeviceTraces))
            .collect()
    }
}
