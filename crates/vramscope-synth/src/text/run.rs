//! Runs the lines of a text.

use std::collections::BTreeMap;

use super::device::{Device, Truth};
use super::line::{Tail, Word, duration_us, number, size, unquoted, word};
use crate::allocator::HeapOptions;
use crate::recorder::Recorder;
use crate::snapshot::{
    Action, Annotation, Block, BlockState, Frame, PoolId, Segment, Settings, Snapshot, StackRef,
    Text, TraceEntry,
};
use crate::stacks::StackBook;

/// Bytes of address space from one device to the next; the first device is the highest.
const DEVICE_STRIDE: u64 = 0x0400_0000_0000;
const FIRST_BASE: u64 = 0x7f00_0000_0000;
const HOST_BASE: u64 = 0x7ffe_0000_0000;

/// Success, or a message about the line.
pub(super) type Done = Result<(), String>;

/// Parts of the snapshot to leave out of the file.
#[derive(Debug, Default)]
struct Without {
    times: bool,
    frames: bool,
    segments: bool,
    traces: bool,
    segment_events: bool,
    all_but_state: bool,
}

/// The state between two lines.
#[derive(Debug, Default)]
pub(super) struct Runner {
    devices: Vec<Device>,
    current: usize,
    book: StackBook,
    stacks: BTreeMap<Vec<u32>, u32>,
    next_list: u32,
    clock_us: Option<i64>,
    annotations: Vec<Annotation>,
    settings: Settings,
    host: BTreeMap<String, (usize, Option<StackRef>)>,
    host_segments: Vec<Segment>,
    host_traces: Vec<TraceEntry>,
    without: Without,
}

impl Runner {
    /// Runs one line.
    pub(super) fn line(&mut self, words: &[Word<'_>]) -> Done {
        let Some((first, rest)) = words.split_first() else {
            return Ok(());
        };
        self.device(self.current);
        match first.text {
            "unrecorded" => self.event(rest, Truth::Unrecorded),
            "phantom" => self.event(rest, Truth::Phantom),
            "device" => {
                self.current = number(rest, 0)? as usize;
                if self.current > 255 {
                    return Err("there are at most 256 devices".to_owned());
                }
                self.device(self.current);
                Ok(())
            }
            "capacity" => {
                let bytes = size(word(rest, 0)?)?;
                self.remake(|options| options.capacity_bytes = bytes)
            }
            "expandable" => {
                self.settings.expandable_segments = true;
                self.remake(|options| options.expandable = true)
            }
            "begin" | "end" => self.annotation(first.text == "begin", word(rest, 0)?),
            "host" => self.host(rest),
            "wait" => {
                let clock = self.clock_us.unwrap_or(START_US);
                self.clock_us = Some(clock + duration_us(word(rest, 0)?)?);
                Ok(())
            }
            "time" => {
                self.clock_us = Some(number(rest, 0)? as i64);
                Ok(())
            }
            "drop" => {
                let count = number(rest, 1)? as usize;
                self.device(self.current).drop_first = count;
                Ok(())
            }
            "mode" if word(rest, 0)? == "state" => {
                self.without.all_but_state = true;
                Ok(())
            }
            "no" => self.leave_out(rest),
            "setting" => self.setting(word(rest, 0)?),
            _ => self.event(words, Truth::Both),
        }
    }

    /// The device of this number, made on first use.
    fn device(&mut self, number: usize) -> &mut Device {
        while self.devices.len() <= number {
            let base = FIRST_BASE - (self.devices.len() as u64 % 16) * DEVICE_STRIDE;
            let options = HeapOptions {
                base,
                ..HeapOptions::default()
            };
            self.devices.push(Device {
                recorder: Recorder::new(options, Vec::new(), 0),
                names: BTreeMap::new(),
                options,
                drop_first: 0,
            });
        }
        &mut self.devices[number]
    }

    fn remake(&mut self, change: impl FnOnce(&mut HeapOptions)) -> Done {
        let device = self.device(self.current);
        if device.recorder.heap.reserved() > 0 {
            return Err("this must come before the device's first event".to_owned());
        }
        change(&mut device.options);
        device.recorder = Recorder::new(device.options, Vec::new(), 0);
        Ok(())
    }

    fn leave_out(&mut self, rest: &[Word<'_>]) -> Done {
        match (word(rest, 0)?, rest.len()) {
            ("times", 1) => self.without.times = true,
            ("frames", 1) => self.without.frames = true,
            ("segments", 1) => self.without.segments = true,
            ("traces", 1) => self.without.traces = true,
            ("segment", 2) => self.without.segment_events = true,
            _ => return Err("say no times, frames, segments, traces or segment events".to_owned()),
        }
        Ok(())
    }

    fn setting(&mut self, text: &str) -> Done {
        let (key, value) = text.split_once('=').ok_or("a setting is KEY=VALUE")?;
        match key {
            "alloc_conf" => self.settings.alloc_conf = unquoted(value).to_owned().into(),
            "max_split_size" => {
                let parsed = value
                    .parse()
                    .map_err(|_wrong| format!("{value:?} is no number"));
                self.settings.max_split_size = parsed?;
            }
            _ => return Err(format!("there is no setting {key:?}")),
        }
        Ok(())
    }

    fn annotation(&mut self, is_start: bool, name: &str) -> Done {
        let clock = self.clock_us.unwrap_or(START_US) + 1;
        self.clock_us = Some(clock);
        let (name, device) = (unquoted(name).to_owned().into(), self.current as i32);
        self.annotations.push(Annotation {
            is_start,
            name,
            device,
            time_us: clock,
        });
        Ok(())
    }

    /// Runs a line on its device, with the clock and the list numbers that all devices share.
    fn event(&mut self, words: &[Word<'_>], truth: Truth) -> Done {
        let fixed = match word(words, 0)? {
            "segment" | "map" | "unmap" | "alloc" | "annotate" => 3,
            "event" => 4,
            "snapshot" | "empty_cache" => 1,
            _ => 2,
        };
        let tail = Tail::parse(words.get(fixed..).unwrap_or_default())?;
        let stack = tail.stack.as_deref().map(|frames| self.intern(frames));
        let (clock, list, quiet) = (self.clock_us, self.next_list, self.without.segment_events);
        let device = self.device(self.current);
        let recorder = &mut device.recorder;
        recorder.clock_us = clock.unwrap_or(START_US);
        recorder.next_list = list;
        recorder.compile_context = tail.compile.clone().unwrap_or(Text::Borrowed("N/A"));
        recorder.user_metadata = tail.meta.clone().unwrap_or_default();
        let before = recorder.sink.len();
        let result = device.command(words, &tail, stack, truth);
        let recorder = &mut device.recorder;
        match truth {
            Truth::Unrecorded => recorder.sink.truncate(before),
            _ => tidy_entries(&mut recorder.sink, before, quiet, words, &tail),
        }
        let (clock, list) = (recorder.clock_us, recorder.next_list);
        self.clock_us = Some(clock);
        self.next_list = list;
        result
    }

    /// The number of a stack given outermost first.
    fn intern(&mut self, frames: &[Frame]) -> u32 {
        let book = &mut self.book;
        let numbers: Vec<u32> = frames
            .iter()
            .rev()
            .map(|f| book.intern(f.clone()))
            .collect();
        let known = self.stacks.entry(numbers.clone());
        *known.or_insert_with(|| book.table.add_stack(numbers))
    }

    fn host(&mut self, words: &[Word<'_>]) -> Done {
        let name = word(words, 1)?;
        let clock = self.clock_us.unwrap_or(START_US) + 1;
        self.clock_us = Some(clock);
        let record = |entry: TraceEntry| TraceEntry {
            time_us: Some(clock),
            ..entry
        };
        if word(words, 0)? == "free" {
            let (index, frames) = self.host.remove(name).ok_or("it is not allocated")?;
            let segment = &mut self.host_segments[index];
            segment.blocks[0].state = BlockState::Inactive;
            segment.blocks[0].frames = None;
            for action in [Action::FreeRequested, Action::FreeCompleted] {
                let entry = TraceEntry::new(action, segment.address, segment.total_size);
                self.host_traces
                    .push(record(TraceEntry { frames, ..entry }));
            }
            return Ok(());
        }
        let size = size(word(words, 2)?)?.next_power_of_two();
        let tail = Tail::parse(&words[3..])?;
        let stack = tail.stack.as_deref().map(|frames| self.intern(frames));
        let frames = stack.map(|stack| StackRef {
            list: self.next_list,
            stack,
        });
        self.next_list += u32::from(frames.is_some());
        let last = self.host_segments.last();
        let address = last.map_or(HOST_BASE, |s| {
            s.address + s.total_size.next_multiple_of(4096)
        });
        for action in [Action::SegmentAlloc, Action::Alloc] {
            let entry = TraceEntry::new(action, address, size);
            self.host_traces
                .push(record(TraceEntry { frames, ..entry }));
        }
        self.host
            .insert(name.to_owned(), (self.host_segments.len(), frames));
        self.host_segments.push(host_segment(address, size, frames));
        Ok(())
    }

    /// The snapshot to write.
    pub(super) fn finish(self) -> Snapshot {
        let without = self.without;
        let mut snapshot = Snapshot {
            settings: self.settings,
            external_annotations: self.annotations,
            host_segments: self.host_segments,
            host_traces: self.host_traces,
            stacks: self.book.table,
            ..Snapshot::default()
        };
        for (number, device) in self.devices.into_iter().enumerate() {
            let mut trace = device.recorder.sink;
            trace.drain(..device.drop_first.min(trace.len()));
            if without.all_but_state {
                trace.drain(..trace.len().saturating_sub(1));
            }
            for entry in &mut trace {
                if without.frames || without.all_but_state {
                    entry.frames = None;
                }
                if without.times {
                    entry.time_us = None;
                }
            }
            if !without.segments {
                snapshot
                    .segments
                    .extend(device.recorder.heap.segments(number as i32));
            }
            if !without.traces {
                snapshot.device_traces.push(trace);
            }
        }
        if without.frames {
            for segment in &mut snapshot.segments {
                segment.frames = None;
                segment
                    .blocks
                    .iter_mut()
                    .for_each(|block| block.frames = None);
            }
        }
        snapshot
    }
}

/// The time of the first entry, in microseconds since the Unix epoch.
const START_US: i64 = 1_767_000_000_000_000;

/// Leaves out entries that must not be recorded, and adds the line's notes to its own entries.
fn tidy_entries(
    sink: &mut Vec<TraceEntry>,
    from: usize,
    is_quiet: bool,
    words: &[Word<'_>],
    tail: &Tail,
) {
    let own_segment = words.first().is_some_and(|w| w.text != "alloc");
    let mut index = from;
    while index < sink.len() {
        let is_segment = matches!(
            sink[index].action,
            Action::SegmentAlloc | Action::SegmentFree | Action::SegmentMap | Action::SegmentUnmap
        );
        if is_segment && is_quiet && !own_segment {
            sink.remove(index);
            continue;
        }
        let entry = &mut sink[index];
        entry.internal_metadata = tail.internal.clone().unwrap_or_default();
        entry.forward_frames.clone_from(&tail.forward);
        entry.category.clone_from(&tail.category);
        index += 1;
    }
}

fn host_segment(address: u64, size: u64, frames: Option<StackRef>) -> Segment {
    let block = Block {
        address,
        size,
        requested_size: size,
        state: BlockState::ActiveAllocated,
        frames,
        history: Vec::new(),
    };
    let pool: PoolId = (0, 0);
    Segment {
        device: -1,
        address,
        total_size: size,
        is_small: true,
        pool,
        frames,
        blocks: vec![block],
        ..Segment::default()
    }
}
