//! Tables of every file: each value is of its column's kind, ids match across tables, and sums agree with the history.

use std::collections::HashMap;
use std::convert::Infallible;

use vramscope_core::analysis::code::call_tree::{StackSums, TreeOptions};
use vramscope_core::analysis::groups::stack_samples::stack_samples;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::tables::{Kind, Table, Value, for_each_row};
use vramscope_synth::files::all_files;

use crate::support::recorded;

/// A table's rows as texts by column.
type Rows = Vec<HashMap<&'static str, String>>;

fn is_of(kind: Kind, value: &Value<'_>) -> bool {
    matches!(
        (kind, value),
        (_, Value::None)
            | (Kind::Number, Value::Number(_))
            | (Kind::Bytes, Value::Bytes(_))
            | (Kind::Address, Value::Address(_))
            | (Kind::TimeUs, Value::TimeUs(_))
            | (Kind::Text, Value::Text(_))
            | (Kind::Flag, Value::Flag(_))
    )
}

fn rows(table: Table, device: Device<'_>) -> Rows {
    let fields = table.fields();
    let mut rows = Vec::new();
    let result = for_each_row::<Infallible>(table, device.recording, &[device], &mut |values| {
        assert_eq!(values.len(), fields.len(), "{}", table.name());
        for (field, value) in fields.iter().zip(values) {
            assert!(is_of(field.kind, value), "{}: {value:?}", field.name);
        }
        let texts = values.iter().map(ToString::to_string);
        rows.push(fields.iter().map(|field| field.name).zip(texts).collect());
        Ok(())
    });
    result.unwrap();
    rows
}

fn sum(rows: &Rows, column: &str, is_in: impl Fn(&HashMap<&'static str, String>) -> bool) -> u64 {
    let chosen = rows.iter().filter(|row| is_in(row));
    chosen.map(|row| row[column].parse::<u64>().unwrap()).sum()
}

#[test]
fn tables_say_what_the_history_says() {
    for file in all_files() {
        let recording = recorded(&file);
        // Files of a million events would take minutes as texts.
        if recording.snapshot.events.len() > 20_000 {
            continue;
        }
        for device in recording.devices() {
            let of = |table| rows(table, device);
            check_totals(&file.name, device.history, &of);
            check_ids(&of);
            check_samples(device);
        }
    }
}

fn check_totals(name: &str, history: &History, of: &impl Fn(Table) -> Rows) {
    let (events, allocations) = (of(Table::Events), of(Table::Allocations));
    assert_eq!(events.len(), history.event_count as usize, "{name}");
    for (moment, event) in (1..).zip(&events) {
        let live = history.active_bytes[moment];
        assert_eq!(event["live_bytes"], live.to_string(), "{name}");
    }
    // The live bytes at the peak, from the columns alone.
    let number = |text: &str, missing| text.parse::<u32>().unwrap_or(missing);
    let peak = sum(&allocations, "requested_bytes", |row| {
        let (born, died) = (&row["alloc_event"], &row["free_completed_event"]);
        number(born, 0) <= history.peak_moment && history.peak_moment < number(died, u32::MAX)
    });
    assert_eq!(peak, history.active_bytes[history.peak_moment as usize]);
    let held = sum(&of(Table::Segments), "bytes", |row| {
        row["free_event"].is_empty()
    });
    if !held.eq(&history.reserved_bytes(history.event_count)) {
        // If segment events do not lead to the final state, the curve is lifted; see `reserved_steps`.
        let listed = sum(&of(Table::Blocks), "bytes", |_| true);
        assert!(
            held <= history.reserved_bytes(history.event_count),
            "{name}: {held} {listed}"
        );
    }
}

fn check_ids(of: &impl Fn(Table) -> Rows) {
    let frames = of(Table::Frames).len();
    let stacks = of(Table::Stacks);
    let known: std::collections::HashSet<_> = stacks.iter().map(|row| &row["stack_id"]).collect();
    assert!(
        stacks
            .iter()
            .all(|row| row["frame_id"].parse::<usize>().unwrap() < frames)
    );
    let allocations = of(Table::Allocations).len();
    for table in [
        Table::Events,
        Table::Allocations,
        Table::Segments,
        Table::Blocks,
    ] {
        for row in of(table) {
            let stack = &row["stack_id"];
            assert!(
                stack.is_empty() || known.contains(stack),
                "{}",
                table.name()
            );
            let allocation = row.get("allocation").map_or("", String::as_str);
            assert!(
                allocation
                    .parse::<usize>()
                    .is_ok_and(|number| number <= allocations)
                    || allocation.is_empty()
            );
        }
    }
}

/// Samples agree with trees of the same allocations.
fn check_samples(device: Device<'_>) {
    let moment = device.history.peak_moment;
    let samples = stack_samples(device, moment);
    for (selection, is_live) in [(Selection::LiveAt(moment), true), (Selection::All, false)] {
        let options = TreeOptions {
            selection,
            weight: Weight::Bytes,
            only: None,
            matches: None,
        };
        let sums = StackSums::of(
            device.snapshot(),
            device.history,
            device.call_sites(),
            &options,
        );
        let amounts = samples
            .iter()
            .map(|sample| if is_live { sample.live } else { sample.all });
        let (bytes, count) = amounts.fold((0_u64, 0), |(bytes, count), amount| {
            (bytes.saturating_add(amount.bytes), count + amount.count)
        });
        assert_eq!((bytes, count), (sums.total.bytes, sums.total.count));
        let freed = samples.iter().filter(|sample| sample.key.is_freed_at);
        let freed: u64 = freed
            .map(|sample| {
                if is_live {
                    sample.live.count
                } else {
                    sample.all.count
                }
            })
            .sum();
        assert_eq!(
            freed,
            sums.freed.iter().map(|(_, sums)| sums.count).sum::<u64>()
        );
    }
}
