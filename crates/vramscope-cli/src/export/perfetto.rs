//! A trace for Perfetto and chrome://tracing, in their JSON format: each device is a process, with
//!
//! - counters of live and reserved bytes, also for each private pool,
//! - annotations and other ranges as nested slices,
//! - failed allocations, snapshots, and segments allocated from or released to CUDA as instants,
//! - allocations as asynchronous slices named by their call site; only the largest if there are very many.
//!
//! Times are µs since the Unix epoch; if a file has no times, its events are one µs apart, and `otherData.clock` says
//! so. See "Trace Event Format" by Google.

mod event;
mod tracks;

use std::cmp::Reverse;
use std::io::Write;

use serde_json::{Value, json};
use vramscope_core::analysis::memory::private_pools::private_pools;
use vramscope_core::analysis::time::history::{History, NEVER};
use vramscope_core::analysis::time::markers::MarkerKind;
use vramscope_core::ids::{AllocationId, EventId};
use vramscope_core::tables::{Table, Value as Cell, for_each_row};

use self::event::Trace;
use super::{Asked, WRITER, damage_lines, failed};
use crate::failure::Failure;
use crate::subject::{Device, Subject};

/// Maximum number of allocations of a device, unless the user sets a minimum size. A viewer takes seconds for this
/// many.
const ALLOCATIONS: usize = 100_000;

/// The thread for a device's instants; annotations are on the threads after it.
const ALLOCATOR_THREAD: u32 = 1;

pub(super) fn write(subject: &Subject, asked: &Asked, out: &mut dyn Write) -> Result<(), Failure> {
    let min_bytes = asked.min_size.map(|size| size.0);
    out.write_all(b"{\"traceEvents\":[").map_err(failed)?;
    let mut trace = Trace::new(out);
    let mut notes = Vec::new();
    for device in subject.devices() {
        notes.push(write_device(&device, min_bytes, &mut trace)?);
    }
    out.write_all(b"\n],\"displayTimeUnit\":\"ms\",\"otherData\":")
        .map_err(failed)?;
    let mut other = json!({"writer": WRITER, "file": subject.name, "devices": notes});
    let damage = damage_lines(subject);
    if !damage.is_empty() {
        other["damage"] = damage.into();
    }
    super::write_json(out, &other)?;
    out.write_all(b"}\n").map_err(failed)
}

/// Writes a device's tracks; returns a summary of them for the metadata of the trace.
fn write_device(
    device: &Device<'_>,
    min_bytes: Option<u64>,
    trace: &mut Trace<'_>,
) -> Result<Value, Failure> {
    let history = device.history;
    // Perfetto takes process 0 for the idle process.
    trace.process = u64::from(device.index()) + 1;
    trace.name_process(&device.snapshot().device_name(device.index()))?;
    trace.name_thread(ALLOCATOR_THREAD, "allocator")?;
    write_counters(device, trace)?;
    let left_out = tracks::write(device, ALLOCATOR_THREAD + 1, trace)?;
    write_instants(device, trace)?;
    let from_bytes = min_bytes.unwrap_or_else(|| size_of_largest(history, ALLOCATIONS));
    let shown = write_allocations(device, from_bytes, trace)?;
    let has_times = device.has_times();
    let clock = if has_times {
        "microseconds since the Unix epoch"
    } else {
        "event numbers: the file has no times"
    };
    Ok(json!({
        "device": device.index(),
        "clock": clock,
        "allocations": history.allocations.len(),
        "allocations_shown": shown,
        "allocations_shown_from_bytes": from_bytes,
        "annotations_left_out": left_out,
    }))
}

/// The time at which a moment begins, in µs; without times, its number.
fn time(history: &History, moment: u32) -> i64 {
    let time = history.moment_start_us.get(moment);
    time.unwrap_or_else(|| moment.into())
}

fn write_counters(device: &Device<'_>, trace: &mut Trace<'_>) -> Result<(), Failure> {
    let history = device.history;
    let mut last = None;
    for (moment, &bytes) in (0..).zip(&history.active_bytes) {
        // A last point shows how long the value stays.
        if last != Some(bytes) || moment == history.event_count {
            trace.counter("live", time(history, moment), bytes)?;
        }
        last = Some(bytes);
    }
    let end = history.event_count;
    let steps = |name: &str, steps: &[(u32, u64)], trace: &mut Trace<'_>| {
        let last = steps.last().map(|&(_, bytes)| (end, bytes));
        let mut all = steps.iter().copied().chain(last);
        all.try_for_each(|(moment, bytes)| trace.counter(name, time(history, moment), bytes))
    };
    if device.is_reserved_known() {
        steps("reserved", &history.reserved_steps, trace)?;
    }
    let snapshot = &device.subject.snapshot;
    for pool in private_pools(snapshot, history, device.segments()) {
        let name = pool.pool.map_or("other pools".to_owned(), |pool| {
            device.subject.pools().label(pool)
        });
        let name = match pool.stream {
            0 => name,
            stream => format!("{name}, {}", device.recording.streams().name(stream)),
        };
        steps(&format!("{name}: live"), &pool.active_steps, trace)?;
        steps(&format!("{name}: reserved"), &pool.reserved_steps, trace)?;
    }
    Ok(())
}

fn write_instants(device: &Device<'_>, trace: &mut Trace<'_>) -> Result<(), Failure> {
    let (snapshot, history) = (&device.subject.snapshot, device.history);
    let sites = device.call_sites();
    for moment in 1..=history.event_count {
        let id = EventId(history.first_event + moment - 1);
        let event = snapshot.events.get(id);
        let Some(kind) = MarkerKind::of(event.action) else {
            continue;
        };
        let mut arguments = json!({"event": moment, "bytes": event.size});
        match kind {
            MarkerKind::Oom => arguments["device_free_bytes"] = event.device_free_bytes().into(),
            MarkerKind::Snapshot => {}
            _ => arguments["address"] = format!("{:#x}", event.addr).into(),
        }
        let text = snapshot.contexts.get(event.context).user_metadata;
        let text = text.map_or("", |text| event::clip(snapshot.strings.get(text)));
        if !text.is_empty() {
            arguments["user_metadata"] = text.into();
        }
        if event.stack.has_frames() {
            let site = sites.of_stack(event.stack);
            arguments["call_site"] = event::clip(&sites.get(site).label).into();
        }
        let name = snapshot.action_name(id);
        trace.instant(name, ALLOCATOR_THREAD, time(history, moment), arguments)?;
    }
    Ok(())
}

/// The smallest size that at most `count` allocations have or exceed; 0 if there are no more allocations.
fn size_of_largest(history: &History, count: usize) -> u64 {
    let mut sizes = history.allocations.bytes.clone();
    if sizes.len() <= count {
        return 0;
    }
    let (_, &mut next, _) = sizes.select_nth_unstable_by_key(count, |&bytes| Reverse(bytes));
    next.saturating_add(1)
}

/// The arguments of an allocation's slice.
const ARGUMENTS: [&str; 12] = [
    "allocation",
    "address",
    "requested_bytes",
    "block_bytes",
    "alloc_event",
    "free_completed_event",
    "stream_number",
    "pool",
    "category",
    "user_metadata",
    "annotation",
    "stack_id",
];

/// Writes the allocations of at least `from_bytes` in order of time; returns their number.
fn write_allocations(
    device: &Device<'_>,
    from_bytes: u64,
    trace: &mut Trace<'_>,
) -> Result<usize, Failure> {
    let table = &device.history.allocations;
    let is_shown = |id: &AllocationId| table.bytes[id.index()] >= from_bytes;
    let ids = (0..table.len()).map(AllocationId::from_index);
    let mut ends: Vec<_> = ids.filter(is_shown).collect();
    let shown = ends.len();
    ends.retain(|id| table.died[id.index()] != NEVER);
    ends.sort_by_key(|id| table.died[id.index()]);
    let mut ends = ends.into_iter().peekable();
    let names = Table::Allocations.fields();
    let mut ids = (0..).map(AllocationId);
    for_each_row(
        Table::Allocations,
        device.subject,
        &[**device],
        &mut |values| {
            let Some(id) = ids.next().filter(is_shown) else {
                return Ok(());
            };
            // Rows are in order of birth.
            let born = table.born[id.index()];
            while let Some(ended) = ends.next_if(|ended| table.died[ended.index()] <= born) {
                end(device, ended, trace)?;
            }
            let told = names.iter().zip(values);
            let told = told.filter(|(field, _)| ARGUMENTS.contains(&field.name));
            let arguments = told.filter_map(|(field, value)| {
                let value = match value {
                    Cell::None => return None,
                    Cell::Number(number) | Cell::TimeUs(number) => Value::from(*number),
                    Cell::Bytes(bytes) => Value::from(*bytes),
                    Cell::Flag(flag) => Value::from(*flag),
                    value => Value::from(value.to_string()),
                };
                Some((field.name.to_owned(), value))
            });
            let arguments = Value::Object(arguments.collect());
            trace.begin(
                name(device, id),
                id.index(),
                time(device.history, born),
                arguments,
            )
        },
    )?;
    ends.try_for_each(|ended| end(device, ended, trace))?;
    Ok(shown)
}

fn end(device: &Device<'_>, id: AllocationId, trace: &mut Trace<'_>) -> Result<(), Failure> {
    let died = device.history.allocations.died[id.index()];
    trace.end(name(device, id), id.index(), time(device.history, died))
}

/// The slice's name, the call site: viewers group slices by name.
fn name<'a>(device: &'a Device<'_>, id: AllocationId) -> &'a str {
    let site = device.site_of()[id.index()];
    &device.call_sites().get(site).label
}
