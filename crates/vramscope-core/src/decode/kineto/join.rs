//! Makes a snapshot from a trace that was read.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;

use super::{Move, Trace, UNKNOWN, too_many_devices};
use crate::ErrorKind;
use crate::decode::finish::frozen;
use crate::decode::machine::Machine;
use crate::decode::producer::is_of_ascend;
use crate::decode::unplaced::Unplaced;
use crate::decode::value::{Fault, Value};
use crate::decode::{Key, MOST_DEVICES};
use crate::error::Lookalike;
use crate::model::{
    Action, Annotation, DeviceKind, Event, NO_TIME, Profile, ProfileKind, ProfiledDevice, Snapshot,
    Stage, UNKNOWN_FREE, WarningKind,
};

/// Two threads may note their events in the wrong order; a total that differs for longer than this many events does not
/// come from that.
const THREADS_CROSS: u32 = 16;

/// The snapshot of a trace. `top` is the dict that contained the list of events.
pub(in super::super) fn snapshot(
    mut machine: Machine,
    mut trace: Trace,
    top: Value,
) -> Result<Snapshot, Fault> {
    if trace.moves.is_empty() {
        return Err(ErrorKind::NotASnapshot(Lookalike::ChromeTrace).into());
    }
    if trace.left_out > 0 {
        let kind = WarningKind::ValuesLeftOut;
        machine.warn_at(kind, trace.left_out, Some("traceEvents"));
    }
    let about = About::of(&mut machine, top)?;
    let is_ascend = is_of_ascend(&machine.tables.strings);
    let mut devices = trace.number_devices(is_ascend)?;
    trace.find_stacks(&mut machine)?;
    machine.budget.release(&trace.spans);
    trace.spans = Vec::new();
    let by_time = |moved: &Move| (moved.device, moved.time_ns, moved.row);
    trace.moves.sort_unstable_by_key(by_time);
    let mut traces = vec![0..0; devices.last().map_or(0, |last| last.device as usize + 1)];
    for moves in trace.moves.chunk_by(|a, b| a.device == b.device) {
        let Some(index) = moves.first().map(|first| u32::from(first.device)) else {
            continue;
        };
        let first = machine.tables.events.len() as u32;
        let found = add_events(&mut machine, moves, about.base_ns)?;
        traces[index as usize] = first..machine.tables.events.len() as u32;
        let Some(device) = devices.iter_mut().find(|known| known.device == index) else {
            continue;
        };
        device.before_bytes = found.before_bytes;
        device.peak_reserved_bytes = found.peak_reserved_bytes;
        let is_of_list = device.kind != DeviceKind::Cpu;
        let total = about.total_memory.get(&u64::from(device.number));
        device.total_memory = total.copied().filter(|_| is_of_list);
    }
    add_ranges(&mut machine, &trace, &devices, about.base_ns)?;
    let profile = Profile {
        kind: ProfileKind::Trace,
        devices,
    };
    Ok(frozen(machine, traces, &profile))
}

impl Trace {
    /// Gives each device its index in the snapshot: accelerators keep their numbers, and the host's memory follows the last
    /// one, as in torch's `_profile_to_snapshot`. The moves get these indexes.
    fn number_devices(&mut self, is_ascend: bool) -> Result<Vec<ProfiledDevice>, Fault> {
        let mut sorted: Vec<_> = self.devices.clone();
        let is_host = |kind: i64| DeviceKind::of_number(kind) == DeviceKind::Cpu;
        sorted.sort_unstable_by_key(|&(kind, number)| (is_host(kind), kind, number));
        let (mut devices, mut first, mut next) = (Vec::<ProfiledDevice>::new(), 0, 0);
        let mut index_of = BTreeMap::new();
        let mut last_kind = None;
        for (number_of_kind, number) in sorted {
            if last_kind != Some(number_of_kind) {
                (first, last_kind) = (next, Some(number_of_kind));
            }
            let number_in_kind = if is_host(number_of_kind) {
                0
            } else {
                number.max(0)
            };
            let number_in_kind = u32::try_from(number_in_kind).unwrap_or(u32::MAX);
            let device = number_in_kind.saturating_add(first);
            if device as usize >= MOST_DEVICES {
                return Err(too_many_devices());
            }
            next = device + 1;
            index_of.insert((number_of_kind, number), device as u16);
            if devices.last().is_none_or(|last| last.device != device) {
                devices.push(ProfiledDevice {
                    device,
                    kind: match DeviceKind::of_number(number_of_kind) {
                        // torch has no number for an NPU.
                        DeviceKind::Unknown if is_ascend => DeviceKind::Npu,
                        kind => kind,
                    },
                    number: number_in_kind,
                    before_bytes: 0,
                    peak_reserved_bytes: None,
                    total_memory: None,
                });
            }
        }
        for moved in &mut self.moves {
            let device = self.devices.get(usize::from(moved.device));
            let index = device.and_then(|device| index_of.get(device));
            moved.device = index.copied().unwrap_or(0);
        }
        Ok(devices)
    }
}

/// Information from the keys beside the events.
struct About {
    /// The origin of the events' times, in nanoseconds since 1970; 0 if the times themselves count from 1970.
    base_ns: i64,
    /// The memory of each GPU in bytes, by its number.
    total_memory: BTreeMap<u64, u64>,
}

impl About {
    fn of(machine: &mut Machine, top: Value) -> Result<Self, Fault> {
        let mut about = Self {
            base_ns: 0,
            total_memory: BTreeMap::new(),
        };
        let Value::Dict(dict) = top else {
            return Ok(about);
        };
        let Some(row) = machine.pairs_of(dict) else {
            return Ok(about);
        };
        for index in 0..machine.pairs[row as usize].len() {
            let (name, value) = machine.pairs[row as usize][index];
            let value = machine.value(value);
            match name.text().map(|id| machine.tables.strings.get(id)) {
                Some("baseTimeNanoseconds" | "baseTimeNanosecond") => {
                    if let Value::Int(base) = value {
                        about.base_ns = base;
                    }
                }
                Some("deviceProperties") => {
                    let list = machine.kept_json_of(value, "deviceProperties")?;
                    for device in list.as_array().into_iter().flatten() {
                        let number = |key: &str| device.get(key)?.as_u64();
                        if let (Some(id), Some(bytes)) = (number("id"), number("totalGlobalMem")) {
                            about.total_memory.insert(id, bytes);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(about)
    }
}

/// Microseconds since 1970.
fn time_us(base_ns: i64, time_ns: i64) -> i64 {
    let time = base_ns.checked_add(time_ns);
    time.map_or(NO_TIME, |time| time.div_euclid(1000))
}

/// What a device's events show besides themselves.
struct Found {
    before_bytes: u64,
    peak_reserved_bytes: Option<u64>,
}

/// Adds the events of one device, which are sorted by time.
fn add_events(machine: &mut Machine, moves: &[Move], base_ns: i64) -> Result<Found, Fault> {
    let mut unplaced = Unplaced::default();
    let mut totals = Totals::default();
    let mut peak_reserved = 0;
    for moved in moves.iter().filter(|moved| moved.bytes != 0) {
        let size = moved.bytes.unsigned_abs();
        let mut event = Event {
            action: Action::Alloc,
            addr: moved.addr,
            size,
            time_us: time_us(base_ns, moved.time_ns),
            context: moved.context,
            stack: moved.stack,
        };
        peak_reserved = peak_reserved.max(moved.reserved);
        if moved.has_failed {
            (event.action, event.addr) = (Action::Oom, UNKNOWN_FREE);
            machine.add_event(event)?;
            continue;
        }
        if !moved.has_addr {
            event.addr = unplaced.address(moved.bytes, 0, &mut machine.budget)?;
        }
        totals.add(moved);
        machine.add_profiled(event, moved.bytes < 0)?;
    }
    let differing = totals.finish();
    if differing > 0 {
        machine.warn_at(WarningKind::TotalsDiffer, differing, Some("traceEvents"));
    }
    Ok(Found {
        before_bytes: totals.before_bytes(),
        peak_reserved_bytes: u64::try_from(peak_reserved).ok().filter(|&bytes| bytes > 0),
    })
}

/// Compares the totals that events state with the sums of the events.
#[derive(Default)]
struct Totals {
    /// Bytes in use before the first event that states a total; `None` until that event.
    before: Option<i128>,
    /// The sum of all events.
    sum: i128,
    /// Addresses of live allocations, to recognise frees of earlier ones.
    live: HashSet<u64, RandomState>,
    /// Bytes freed of allocations from before.
    freed_before: i128,
    /// The last accepted difference between the totals and the sums.
    difference: i128,
    /// Events since the difference changed.
    waited: u32,
    times: u64,
}

impl Totals {
    fn add(&mut self, moved: &Move) {
        if moved.bytes > 0 {
            self.live.insert(moved.addr);
        } else if !self.live.remove(&moved.addr) && moved.has_addr {
            self.freed_before -= i128::from(moved.bytes);
        }
        self.sum += i128::from(moved.bytes);
        if moved.allocated == UNKNOWN {
            return;
        }
        let total = i128::from(moved.allocated);
        let before = *self.before.get_or_insert(total - self.sum);
        let difference = total - self.sum - before;
        if difference == self.difference {
            self.waited = 0;
            return;
        }
        self.waited += 1;
        if self.waited > THREADS_CROSS {
            (self.difference, self.waited) = (difference, 0);
            self.times += 1;
        }
    }

    /// How often a new difference between the totals and the sums began.
    fn finish(&mut self) -> u64 {
        self.times + u64::from(std::mem::take(&mut self.waited) > 0)
    }

    /// Bytes in use before the first event and not freed during the trace.
    fn before_bytes(&self) -> u64 {
        let bytes = self.before.unwrap_or(0) - self.freed_before;
        u64::try_from(bytes.max(0)).unwrap_or(0)
    }
}

/// Adds the named ranges of the program to each device.
fn add_ranges(
    machine: &mut Machine,
    trace: &Trace,
    devices: &[ProfiledDevice],
    base_ns: i64,
) -> Result<(), Fault> {
    let mut marks: Vec<(i64, Stage, usize)> = machine.budget.list(2 * trace.ranges.len())?;
    for (row, range) in trace.ranges.iter().enumerate() {
        marks.push((range.start_ns, Stage::Start, row));
        marks.push((range.end_ns, Stage::End, row));
    }
    // A range that begins where another ends follows it, and an empty range begins before it ends.
    marks.sort_by_key(|&(time, stage, row)| {
        let is_start = stage == Stage::Start;
        let is_empty = trace.ranges[row].start_ns == trace.ranges[row].end_ns;
        (time, is_start && !is_empty, is_empty && !is_start)
    });
    let rows = &mut machine.tables.annotations.rows;
    for device in devices {
        machine.budget.rows(rows, marks.len())?;
        for &(time_ns, stage, row) in &marks {
            let range = &trace.ranges[row];
            rows.push(Annotation {
                stage,
                name: range.name,
                device: device.device as i32,
                time_us: time_us(base_ns, time_ns),
                range: Some(row as u64 * MOST_DEVICES as u64 + u64::from(device.device)),
                thread: trace.threads.tid(range.thread),
                domain: None,
                stream: None,
                colour: None,
                category: None,
                payload: None,
            });
        }
    }
    if !rows.is_empty() {
        machine.tables.keys.top |= Key::ExternalAnnotations.bit();
    }
    Ok(())
}
