//! Reads a text, and says what it tells of memory. All words and figures are those of the command line.

use vramscope_core::units::Count;
use vramscope_protocol as protocol;
use vramscope_protocol::views::text::{
    Also, BarOf, BarPart, BufferRow, Card, CourseLine, Courses, DeviceRow, FigureRow, Quantity,
    Told, UsageRow,
};
use vramscope_text::{
    Conclusion, Failure, Figure, NOTHING, Reading, Record, Report, ShareOf, Sure, conclude,
    next_steps, notes, who_failed, whole,
};

/// Columns of a chart: about one for two pixels.
const COLUMNS: usize = 400;

/// Lines that tell a quantity before it is drawn: fewer are no course.
const FEWEST_LINES: u64 = 3;

/// Most rows of a list, of which a log may have thousands.
const MOST_ROWS: usize = 100;

/// The failure of a text that tells nothing of memory.
pub(super) fn nothing() -> protocol::Failure {
    protocol::Failure {
        message: format!(
            "This is not a memory snapshot. {}",
            NOTHING.trim_end_matches('.')
        ),
        advice: "Open a snapshot, or the text of an out-of-memory error from its first line on: whole logs will do.".to_owned(),
        ..protocol::Failure::default()
    }
}

/// All that a text tells.
pub(super) fn told(reading: &Reading) -> Told {
    let whole = whole(reading);
    let failed = reading.records.iter().enumerate();
    let failed = failed.filter_map(|(place, record)| Some((place, record, conclude(record)?)));
    let failed: Vec<_> = failed.collect();
    let first = failed
        .iter()
        .position(|(place, ..)| Some(*place) == whole.first);
    // The first one is among those that are shown, wherever it stands.
    let skipped = first.map_or(0, |first| (first + 1).saturating_sub(MOST_ROWS));
    let cards = failed.iter().skip(skipped).take(MOST_ROWS);
    Told {
        lines: reading.lines,
        failures: whole.failures,
        who: who_failed(&whole),
        command: reading.command.clone(),
        cards: cards
            .map(|(_, record, told)| card(record, told, reading.command.as_deref()))
            .collect(),
        first: first.unwrap_or(0) - skipped,
        notes: notes(reading, &whole),
        usage: usage(reading),
        courses: courses(reading),
        devices: devices(reading),
    }
}

fn card(record: &Record, told: &Conclusion, command: Option<&str>) -> Card {
    let cause = told.main();
    let (requested, free) = record.request();
    let mut card = Card {
        line: record.line,
        times: record.times,
        from: record.teller(),
        framework: record
            .framework
            .map_or_else(String::new, |framework| framework.name().to_owned()),
        place: record.place.clone(),
        requested_bytes: requested.map(|figure| figure.bytes),
        free_bytes: free.map(|figure| figure.bytes),
        why: cause.why.to_owned(),
        is_certain: cause.sure == Sure::Certain,
        how_sure: cause.how_sure().to_owned(),
        title: cause.title.clone(),
        seen: cause.seen.clone(),
        to_try: cause.to_try.clone(),
        ..Card::default()
    };
    card.bar = bar(told, requested);
    let also = told.causes[1..].iter().map(|cause| Also {
        why: cause.why.to_owned(),
        how_sure: cause.how_sure().to_owned(),
        explanation: cause.explanation(),
    });
    card.also = also.collect();
    let next = next_steps(record, command).into_iter();
    card.next = next.map(|(line, tells)| (line, tells.to_owned())).collect();
    if let Report::Failure(failure) = &record.report {
        lists(&mut card, failure);
    }
    card
}

/// The device's parts, and the request on the same scale.
fn bar(told: &Conclusion, requested: Option<&Figure>) -> Vec<BarPart> {
    let device: u64 = told.shares.iter().map(|share| share.bytes).sum();
    if device == 0 {
        return Vec::new();
    }
    let whole = requested.map_or(device, |figure| figure.bytes.max(device));
    let share = |bytes: u64| bytes as f64 / whole as f64;
    let mut parts: Vec<BarPart> = told
        .shares
        .iter()
        .map(|part| BarPart {
            of: match part.of {
                ShareOf::Others | ShareOf::OthersOrContext => BarOf::Others,
                ShareOf::Context => BarOf::Context,
                ShareOf::Live => BarOf::Live,
                ShareOf::Pools => BarOf::Pools,
                ShareOf::Reserved => BarOf::Reserved,
                ShareOf::Free => BarOf::Free,
            },
            name: part.of.words().to_owned(),
            bytes: part.bytes,
            off_bytes: part.off_bytes,
            share: share(part.bytes),
        })
        .collect();
    parts.extend(requested.map(|figure| BarPart {
        of: BarOf::Requested,
        name: "requested".to_owned(),
        bytes: figure.bytes,
        off_bytes: figure.off_bytes,
        share: share(figure.bytes),
    }));
    parts
}

/// The figures of a failure, the processes and the buffers.
fn lists(card: &mut Card, failure: &Failure) {
    let figures = failure.figures().into_iter();
    let figures = figures.filter_map(|(_, label, figure)| {
        let figure = figure?;
        Some(FigureRow {
            label: label.to_owned(),
            bytes: figure.bytes,
            remark: figure.remark(),
        })
    });
    card.figures = figures.collect();
    let processes = failure.processes.iter();
    card.processes = processes
        .map(|process| (process.pid, process.held.bytes))
        .collect();
    let buffers = failure.buffers.iter();
    let largest = buffers.clone().map(|buffer| buffer.size.bytes).max();
    let largest = largest.unwrap_or(0).max(1);
    card.buffers = buffers
        .map(|buffer| BufferRow {
            bytes: buffer.size.bytes,
            share: buffer.size.bytes as f64 / largest as f64,
            shape: buffer.shape.clone(),
            operator: buffer.operator.clone(),
            place: buffer.place.clone(),
        })
        .collect();
}

fn usage(reading: &Reading) -> Vec<UsageRow> {
    let rows = reading.usage.iter().take(MOST_ROWS);
    rows.map(|usage| UsageRow {
        tool: usage.tool.to_owned(),
        from: usage.from.clone(),
        what: usage.what.to_owned(),
        line: usage.line,
        count: usage.count,
        bytes: [&usage.first, &usage.last, &usage.highest].map(|figure| figure.bytes),
    })
    .collect()
}

/// What was told several times, in the order of the text.
fn courses(reading: &Reading) -> Courses {
    let mut courses = Courses {
        text_lines: reading.lines,
        ..Courses::default()
    };
    let mut tellers: Vec<u64> = Vec::new();
    let told = reading.usage.iter();
    let told = told.filter(|usage| usage.count >= FEWEST_LINES);
    for usage in told.take(MOST_ROWS) {
        let columns = usage.course.columns(reading.lines, COLUMNS);
        let name = format!("{} {}", usage.tool, usage.what);
        let known = courses.quantities.iter().position(|it| it.name == name);
        let place = known.unwrap_or_else(|| {
            tellers.push(0);
            courses.quantities.push(Quantity {
                name,
                tellers: String::new(),
                highest_bytes: vec![None; columns.len()],
            });
            courses.quantities.len() - 1
        });
        let highest = &mut courses.quantities[place].highest_bytes;
        for (highest, bytes) in highest.iter_mut().zip(&columns) {
            *highest = (*highest).max(*bytes);
        }
        tellers[place] += 1;
        let first = columns.iter().take_while(|bytes| bytes.is_none()).count();
        courses.lines.push(CourseLine {
            quantity: place as u32,
            first: first as u32,
            bytes: columns.into_iter().map(Option::unwrap_or_default).collect(),
        });
    }
    for (quantity, count) in courses.quantities.iter_mut().zip(tellers) {
        if count > 1 {
            quantity.tellers = format!("from {} sources, a line each", Count(count));
        }
    }
    courses
}

fn devices(reading: &Reading) -> Vec<DeviceRow> {
    let rows = reading.records.iter().flat_map(|record| {
        let devices = match &record.report {
            Report::Devices(devices) => &devices[..],
            _ => &[],
        };
        devices.iter().map(|device| DeviceRow {
            line: record.line,
            device: device.device,
            bytes: [device.used.bytes, device.total.bytes],
            share: (device.used.bytes as f64 / device.total.bytes.max(1) as f64).min(1.0),
            processes: device
                .processes
                .iter()
                .map(|process| {
                    let name = format!("{} {}", process.pid, process.name);
                    (name.trim_end().to_owned(), process.held.bytes)
                })
                .collect(),
        })
    });
    rows.take(MOST_ROWS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = include_bytes!("../../../tests/fixtures/text/train.log");

    fn told_of(text: &[u8]) -> Told {
        told(&vramscope_text::read(text))
    }

    #[test]
    fn an_error_becomes_a_card() {
        let told = told_of(LOG);
        assert_eq!((told.failures, told.cards.len(), told.first), (1, 1, 0));
        let card = &told.cards[0];
        assert_eq!((card.from.as_str(), card.line), ("rank 1", 10));
        assert!(card.is_certain && card.why == "held by others", "{card:?}");
        assert_eq!(card.processes[0].0, 4242);
        assert!(card.next[0].0.starts_with("vramscope record -- torchrun"));
        let widths: f64 = card.bar.iter().map(|part| part.share).sum();
        let requested = card.bar.last().unwrap();
        assert_eq!(requested.of, BarOf::Requested);
        assert!((widths - requested.share - 1.0).abs() < 1e-9, "{widths}");
    }

    #[test]
    fn a_request_larger_than_the_device_sets_the_scale() {
        let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 100.00 GiB. GPU 0 has a total capacity of 50.00 GiB of which \
                    40.00 GiB is free. Of the allocated memory 5.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but \
                    unallocated.";
        let told = told_of(text.as_bytes());
        let bar = &told.cards[0].bar;
        assert!((bar.last().unwrap().share - 1.0).abs() < 1e-9);
        let device: f64 = bar[..bar.len() - 1].iter().map(|part| part.share).sum();
        assert!((device - 0.5).abs() < 1e-9, "{device}");
    }

    #[test]
    fn what_is_told_often_has_a_course() {
        let mut text = String::from("Loading\n");
        for step in 1..=40 {
            for rank in 0..2 {
                text += &format!(
                    "[Rank {rank}] | allocated: {}.0 | max allocated: 900.0\n",
                    step * 10 + rank
                );
            }
        }
        let courses = told_of(text.as_bytes()).courses;
        let names: Vec<_> = courses
            .quantities
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(names, ["Megatron allocated", "Megatron allocated at most"]);
        assert_eq!((courses.lines.len(), courses.text_lines), (4, 81));
        assert_eq!(courses.quantities[0].tellers, "from 2 sources, a line each");
        let line = &courses.lines[0];
        assert_eq!((line.first, line.bytes.len()), (4, COLUMNS));
        assert_eq!(line.bytes[COLUMNS - 1], 400 << 20);
        // Rank 1's are the higher ones.
        assert_eq!(
            courses.quantities[0].highest_bytes.last(),
            Some(&Some(401 << 20))
        );
        assert!(told_of(LOG).courses.lines.is_empty());
    }

    #[test]
    fn of_many_failures_the_first_one_is_shown() {
        let mut text = String::new();
        for rank in 0..300 {
            text += &format!(
                "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {rank}.00 MiB. GPU 0 has a total capacity of \
                 79.10 GiB of which 1.00 MiB is free.\n"
            );
        }
        let told = told_of(text.as_bytes());
        assert_eq!((told.failures, told.cards.len()), (300, MOST_ROWS));
        assert_eq!(told.cards[told.first].from, "rank 0");
        assert!(told.who.starts_with("of 300 ranks or devices: rank 0, "));
    }
}
