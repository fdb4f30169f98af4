//! A profile for pprof: messages of `profile.proto`, compressed with gzip by the caller.
//!
//! One file for all devices, like a heap profile of Go: objects and bytes in use at a moment, and of all allocations,
//! by stack; each sample is labelled with its device, stream, pool and category. Samples are written one by one,
//! followed by new entries of the tables that they refer to.

mod proto;

use std::collections::HashMap;
use std::io::Write;

use prost::Message;
use vramscope_core::analysis::code::frame_groups::GroupId;
use vramscope_core::analysis::groups::stack_samples::{SampleKey, StackSample, stack_samples};
use vramscope_core::analysis::memory::capture::AllocatorKind;

use self::proto::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use super::stacks::{Frames, moment, nothing};
use super::{Asked, WRITER, damage_lines, failed};
use crate::failure::Failure;
use crate::subject::{Device, Subject};

/// The values of a sample, in this order; pprof shows the second first.
const SAMPLE_TYPES: [(&str, &str); 4] = [
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
];
/// Maximum depth of a stack; real ones have a few hundred frames at most.
const MAX_DEPTH: usize = 1024;
/// The one mapping: the program that was recorded.
const MAPPING: u64 = 1;

/// Writes the profile.
///
/// # Errors
/// When there is no such moment, or nothing was allocated.
pub(super) fn write(subject: &Subject, asked: &Asked, out: &mut dyn Write) -> Result<(), Failure> {
    let at = asked.at.as_deref();
    let mut writer = Writer {
        out,
        frames: Frames::of(subject),
        names: Names::default(),
        functions: HashMap::new(),
        locations: HashMap::new(),
    };
    // The format requires the empty text first.
    writer.text("")?;
    let mut comments = vec![writer.text(&subject.name)?];
    for line in damage_lines(subject) {
        comments.push(writer.text(&format!("damaged: {line}"))?);
    }
    let mut samples = 0;
    for device in subject.devices() {
        let (moment, name) = moment(&device, at)?;
        let comment = format!("device {}: in use = {name}", device.index());
        comments.push(writer.text(&comment)?);
        samples += writer.device(&device, moment)?;
    }
    if samples == 0 {
        return Err(nothing(subject));
    }
    writer.head(subject, comments)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    frames: Frames<'a>,
    names: Names,
    /// (name, file) → function, from 1.
    functions: HashMap<(i64, i64), u64>,
    locations: HashMap<GroupId, u64>,
}

/// The string table.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, i64>,
}

impl Writer<'_> {
    fn put(&mut self, part: &Profile) -> Result<(), Failure> {
        self.out.write_all(&part.encode_to_vec()).map_err(failed)
    }

    /// The index of a text, which is written at first use.
    fn text(&mut self, text: &str) -> Result<i64, Failure> {
        if let Some(&number) = self.names.numbers.get(text) {
            return Ok(number);
        }
        let number = self.names.numbers.len() as i64;
        self.names.numbers.insert(text.to_owned(), number);
        self.put(&Profile {
            string_table: vec![text.to_owned()],
            ..Profile::default()
        })?;
        Ok(number)
    }

    /// Writes a device's samples; returns their number.
    fn device(&mut self, device: &Device<'_>, moment: u32) -> Result<usize, Failure> {
        let samples = stack_samples(**device, moment);
        for sample in &samples {
            let location_id = self.stack(device, sample.key)?;
            let label = self.labels(device, sample.key)?;
            let sample = Sample {
                location_id,
                value: values(sample),
                label,
            };
            self.put(&Profile {
                sample: vec![sample],
                ..Profile::default()
            })?;
        }
        Ok(samples.len())
    }

    /// The locations of a stack, innermost first.
    fn stack(&mut self, device: &Device<'_>, key: SampleKey) -> Result<Vec<u64>, Failure> {
        let snapshot = &device.subject.snapshot;
        let mut path = Vec::new();
        if key.is_freed_at {
            path.push(GroupId::FREED_AT);
        }
        if key.stack.has_frames() {
            let about = path.len();
            self.frames.groups.push_path(snapshot, key.stack, &mut path);
            if path.len() == about {
                path.push(GroupId::ALL_FOLDED);
            }
        } else {
            path.push(GroupId::NO_STACK);
        }
        path.truncate(MAX_DEPTH);
        path.iter()
            .rev()
            .map(|&group| self.location(group))
            .collect()
    }

    fn location(&mut self, group: GroupId) -> Result<u64, Failure> {
        if let Some(&id) = self.locations.get(&group) {
            return Ok(id);
        }
        let frame = self.frames.named(group);
        let (line, file) = (frame.line, frame.file.to_owned());
        let name = frame.function;
        let function_id = self.function(&name, &file)?;
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(group, id);
        let location = Location {
            id,
            mapping_id: MAPPING,
            line: vec![Line {
                function_id,
                line: line.into(),
            }],
        };
        self.put(&Profile {
            location: vec![location],
            ..Profile::default()
        })?;
        Ok(id)
    }

    fn function(&mut self, name: &str, file: &str) -> Result<u64, Failure> {
        let (name, filename) = (self.text(name)?, self.text(file)?);
        if let Some(&id) = self.functions.get(&(name, filename)) {
            return Ok(id);
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert((name, filename), id);
        let function = Function {
            id,
            name,
            system_name: name,
            filename,
        };
        self.put(&Profile {
            function: vec![function],
            ..Profile::default()
        })?;
        Ok(id)
    }

    fn labels(&mut self, device: &Device<'_>, key: SampleKey) -> Result<Vec<Label>, Failure> {
        let subject = device.subject;
        let mut labels = vec![Label {
            key: self.text("device")?,
            str: 0,
            num: device.index().into(),
        }];
        let stream = key.stream.map(|stream| subject.streams().label(stream));
        let pool = key.pool.map(|pool| subject.pools().label(pool));
        let category = key
            .category
            .map(|text| subject.snapshot.strings.get(text).to_owned());
        for (name, text) in [("stream", stream), ("pool", pool), ("category", category)] {
            if let Some(text) = text {
                let (key, str) = (self.text(name)?, self.text(&text)?);
                labels.push(Label { key, str, num: 0 });
            }
        }
        Ok(labels)
    }

    /// Writes the fields that occur once in a profile.
    fn head(&mut self, subject: &Subject, comment: Vec<i64>) -> Result<(), Failure> {
        let mut types = Vec::new();
        for (name, unit) in SAMPLE_TYPES {
            let (r#type, unit) = (self.text(name)?, self.text(unit)?);
            types.push(ValueType { r#type, unit });
        }
        let period_type = ValueType {
            r#type: self.text("space")?,
            unit: self.text("bytes")?,
        };
        let holder = match AllocatorKind::of(&subject.snapshot) {
            AllocatorKind::Torch => "PyTorch",
            AllocatorKind::Driver => "CUDA driver",
        };
        let mapping = Mapping {
            id: MAPPING,
            filename: self.text(holder)?,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        };
        let writer = self.text(WRITER)?;
        let times = || {
            subject
                .devices()
                .map(|device| &device.history.moment_start_us)
        };
        let start_us = times().filter_map(|times| times.first()).min();
        let end_us = times().filter_map(|times| times.last()).max();
        let (start_us, end_us) = (start_us.unwrap_or(0), end_us.unwrap_or(0));
        let head = Profile {
            default_sample_type: types[1].r#type,
            sample_type: types,
            mapping: vec![mapping],
            time_nanos: start_us.saturating_mul(1000),
            duration_nanos: end_us.saturating_sub(start_us).saturating_mul(1000),
            period_type: Some(period_type),
            period: 1,
            comment: comment.into_iter().chain([writer]).collect(),
            ..Profile::default()
        };
        self.put(&head)
    }
}

/// In the order of [`SAMPLE_TYPES`].
fn values(sample: &StackSample) -> Vec<i64> {
    let (live, all) = (sample.live, sample.all);
    let values = [live.count, live.bytes, all.count, all.bytes];
    let signed = values.map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    signed.to_vec()
}
