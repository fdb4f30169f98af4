//! The allocations of a device with all their properties.

use std::borrow::Cow;

use super::{
    Cells, Columns, Field, Kind, TakeColumns, field, known_moment, known_stack, pool_text,
};
use crate::analysis::code::call_sites::CallSite;
use crate::analysis::code::frames::Location;
use crate::analysis::properties::{self, Property, Values, values};
use crate::analysis::recording::Device;
use crate::analysis::roles::{Confidence, Role};
use crate::analysis::time::history::{NEVER, StackSource};
use crate::analysis::time::lifetime::lifetime;
use crate::ids::{AllocationId, EventId};

/// Columns that every allocation has.
const FIRST: [Field; 18] = [
    field(
        "allocation",
        Kind::Number,
        "its number on the device, from 1, in the order of stacking",
    ),
    field(
        "name",
        Kind::Text,
        "its address and which life of that address it is, as torch's viewer has it",
    ),
    field("address", Kind::Address, "where it was"),
    field(
        "requested_bytes",
        Kind::Bytes,
        "the size that was asked for",
    ),
    field(
        "block_bytes",
        Kind::Bytes,
        "the size of its block, if it lives at the end",
    ),
    field(
        "rounding_bytes",
        Kind::Bytes,
        "the block's size less the size asked for, if it lives at the end",
    ),
    field(
        "alloc_event",
        Kind::Number,
        "the event that began it; none if it is older than the recording",
    ),
    field(
        "free_requested_event",
        Kind::Number,
        "the event that asked for its end; none if it was not asked for",
    ),
    field(
        "free_completed_event",
        Kind::Number,
        "the event that ended it; none if it lives at the end",
    ),
    field("alloc_time_us", Kind::TimeUs, "when it began"),
    field(
        "free_requested_time_us",
        Kind::TimeUs,
        "when its end was asked for",
    ),
    field("free_completed_time_us", Kind::TimeUs, "when it ended"),
    field("lifetime_events", Kind::Number, "how many events it lived"),
    field("lifetime_us", Kind::Number, "how long it lived"),
    field(
        "lifetime_is_lower_bound",
        Kind::Flag,
        "whether it began before the recording or lives at its end",
    ),
    field("stream", Kind::Number, "the CUDA stream's handle"),
    field(
        "stream_number",
        Kind::Number,
        "the stream's number in the snapshot: 0 is the default one",
    ),
    field(
        "pool",
        Kind::Text,
        "the private memory pool, (0 0) is the default one",
    ),
];

/// Further columns about the role and the call site.
const LAST: [Field; 5] = [
    field(
        "role_confidence",
        Kind::Text,
        "how sure that is: certain, likely or guess",
    ),
    field("function", Kind::Text, "the function of the call site"),
    field("file", Kind::Text, "the file of the call site"),
    field("line", Kind::Number, "the line of the call site"),
    field(
        "stack_of",
        Kind::Text,
        "what its stack was recorded with: alloc, block or free",
    ),
];

/// The properties that have a column.
fn properties() -> impl Iterator<Item = (Property, Field)> {
    let field = |property: Property| {
        let row = property.row();
        let kind = match row.kind {
            properties::Kind::Number => Kind::Number,
            _ => Kind::Text,
        };
        Some((property, field(row.field?, kind, row.help)))
    };
    Property::all().filter_map(field)
}

/// The columns about an allocation, also used for the page's table.
pub(crate) fn fields() -> Vec<Field> {
    let properties = properties().map(|(_, field)| field);
    FIRST.into_iter().chain(properties).chain(LAST).collect()
}

/// Number of columns before [`fields()`].
pub(super) const BEFORE: usize = 1;

/// All columns: the device, [`fields()`], and a reference to another table.
pub(super) fn fields_of_table() -> Vec<Field> {
    let mut all = vec![field(
        "device",
        Kind::Number,
        "the device's index, as CUDA numbers them within the process",
    )];
    all.extend(fields());
    all.push(field(
        "stack_id",
        Kind::Number,
        "its stack in `stacks`, within one snapshot",
    ));
    all
}

pub(super) fn columns<E>(device: Device<'_>, take: &mut TakeColumns<'_, E>) -> Result<(), E> {
    let snapshot = device.snapshot();
    let pools = device.pool_of().values().iter();
    let pools: Vec<Cow<'_, str>> = pools.map(|pool| pool_text(*pool)).collect();
    let located = |site: &CallSite| {
        let frame = site.frame.map(|frame| snapshot.frames.get(frame));
        frame.map(|frame| Location::of(snapshot, frame))
    };
    let sites = device.call_sites().sites();
    let locations: Vec<Option<Location<'_>>> = sites.iter().map(located).collect();
    let values: Vec<Values<'_>> = properties()
        .map(|(property, _)| values(device, property))
        .collect();
    let stacks = device.stack_of();
    let own: [Cells<'_>; BEFORE] = [Cells::integers(|_| device.index())];
    let cells = own.into_iter().chain(sizes(device)).chain(times(device));
    let cells = cells.chain(place(device, &pools));
    let cells = cells.chain(values.iter().map(of_property));
    let cells = cells.chain(role_and_site(device, &locations));
    let stack = Cells::maybe(|row| known_stack(stacks[row]));
    take(&Columns {
        rows: device.history.allocations.len(),
        cells: cells.chain([stack]).collect(),
    })
}

fn of_property<'c>(values: &'c Values<'_>) -> Cells<'c> {
    match values {
        Values::Numbers(number) => Cells::maybe(|row| number(row).map(u64::cast_signed)),
        Values::Names(names) => {
            let unknown = names.is_unknown_a_word.then_some(&names.unknown);
            let words = names.words().iter().chain(unknown).map(|word| &**word);
            let last = names.labels.len();
            Cells::texts(words, move |row| ((names.of)(row) as usize).min(last))
        }
    }
}

fn sizes<'c>(device: Device<'c>) -> [Cells<'c>; 6] {
    let (snapshot, history) = (device.snapshot(), device.history);
    let table = &history.allocations;
    let block = move |row: usize| {
        let lives = table.died[row] == NEVER;
        let block = lives.then(|| history.final_block(AllocationId::from_index(row)));
        block.flatten().map(|block| snapshot.blocks.get(block).size)
    };
    [
        Cells::integers(|row| row as u32 + 1),
        Cells::made(|row| format!("b{:x}_{}", table.address[row], table.version[row])),
        Cells::sizes(|row| table.address[row]),
        Cells::sizes(|row| table.bytes[row]),
        Cells::maybe(move |row| block(row).map(u64::cast_signed)),
        Cells::maybe(move |row| {
            let rounding = block(row).map(|block| block.saturating_sub(table.bytes[row]));
            rounding.map(u64::cast_signed)
        }),
    ]
}

fn times<'c>(device: Device<'c>) -> [Cells<'c>; 9] {
    let (snapshot, history) = (device.snapshot(), device.history);
    let table = &history.allocations;
    let id = AllocationId::from_index;
    let time = |event: Option<EventId>| snapshot.events.time_us.get(event?.index());
    let life = move |row| lifetime(history, id(row));
    [
        Cells::maybe(|row| known_moment(table.born[row])),
        Cells::maybe(|row| known_moment(table.free_requested[row])),
        Cells::maybe(|row| known_moment(table.died[row])),
        Cells::maybe(move |row| time(history.alloc_event(id(row)))),
        Cells::maybe(move |row| time(history.free_requested_event(id(row)))),
        Cells::maybe(move |row| time(history.free_completed_event(id(row)))),
        Cells::integers(move |row| life(row).events),
        Cells::maybe(move |row| life(row).us),
        Cells::flags(move |row| life(row).at_least),
    ]
}

fn place<'c>(device: Device<'c>, pools: &'c [Cow<'static, str>]) -> [Cells<'c>; 3] {
    let (streams, pool_of) = (device.stream_of(), device.pool_of());
    let numbers = device.recording.streams().numbers();
    let number = |stream: &Option<i64>| numbers.get(&(*stream)?).copied().map(i64::from);
    let numbers: Vec<Option<i64>> = streams.values().iter().map(number).collect();
    [
        Cells::maybe(|row| streams[row]),
        Cells::maybe(move |row| numbers[streams.place(row)]),
        Cells::texts(pools.iter().map(|pool| &**pool), |row| pool_of.place(row)),
    ]
}

/// The confidence of the role, the call site's frame, and the source of the stack.
fn role_and_site<'c>(device: Device<'c>, locations: &[Option<Location<'c>>]) -> [Cells<'c>; 5] {
    let (snapshot, history) = (device.snapshot(), device.history);
    let (site_of, rules) = (device.site_of(), device.rule_of());
    let site = |row: usize| site_of[row].index();
    let by_site = |text: fn(Location<'c>) -> &'c str| {
        let texts = locations.iter().map(|location| location.map_or("", text));
        Cells::texts(texts, site)
    };
    let line = |location: &Option<Location<'_>>| location.map(|it| it.line).filter(|&it| it > 0);
    let lines: Vec<Option<u32>> = locations.iter().map(line).collect();
    let rule = |row: usize| rules[row].rule();
    [
        Cells::texts(
            Confidence::ALL.map(Confidence::word),
            move |row| match rule(row).role {
                Role::Unknown => usize::MAX,
                _ => rule(row).confidence as usize,
            },
        ),
        by_site(|it| it.function),
        by_site(|it| it.file),
        Cells::maybe(move |row| lines[site(row)].map(i64::from)),
        Cells::texts(["alloc", "block", "free"], |row| {
            let (stack, source) = history.stack(snapshot, AllocationId::from_index(row));
            match source {
                _ if !stack.has_frames() => usize::MAX,
                StackSource::Alloc => 0,
                StackSource::Block => 1,
                StackSource::Free => 2,
            }
        }),
    ]
}
