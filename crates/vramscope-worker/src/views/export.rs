//! Answers to [`protocol::views::export`](vramscope_protocol::views::export).

use std::fmt::Write as _;
use std::io;

use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::anonymise::{Anonymiser, anonymise};
use vramscope_core::cut::{Piece, cut};
use vramscope_core::encode::encode;
use vramscope_core::model::DeviceIndex;
use vramscope_core::vram_format;
use vramscope_protocol::Extra;
use vramscope_protocol::views::export::{Answer, Question};
use vramscope_view::plot::views::{Format, Search, Subject};

use super::super::document::{Device, Document};
use super::what_if;

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    replays: &what_if::Cache,
) -> Option<(Answer, Extra)> {
    match question {
        &Question::Snapshot {
            device,
            moments,
            only_size,
        } => snapshot(document, device, moments, only_size),
        Question::Packed { key } => {
            let anonymous = key.map(|key| anonymise(&document.snapshot, &Anonymiser::new(key)));
            let snapshot = anonymous.as_ref().unwrap_or(&document.snapshot);
            let mut bytes = Vec::new();
            vram_format::write(snapshot, &mut bytes).ok()?;
            Some((Answer::Packed, Extra::Bytes(bytes)))
        }
        &Question::Curves { device, moments } => {
            let (csv, rows) = curves(document.device(device)?, moments);
            Some((Answer::Csv { rows }, Extra::Bytes(csv.into_bytes())))
        }
        Question::Picture {
            device,
            view,
            sheet,
            file,
            filter,
            replay,
        } => {
            let replay = replay.as_deref();
            let replayed = replay.map(|changes| replays.reserved_steps(*device, changes));
            let device = document.device(*device)?;
            let found = document.matches(device, filter.as_ref());
            let search = filter.as_ref().zip(found.as_deref());
            let subject = Subject {
                file,
                device: *device,
                leaders: document.leaders(),
                search: search.map(|(filter, found)| Search {
                    text: &filter.text,
                    found,
                }),
                replayed_steps: replayed.unwrap_or_default(),
            };
            let svg = view.file(&subject, sheet, Format::Svg).ok()?;
            Some((Answer::Picture, Extra::Bytes(svg)))
        }
    }
}

fn snapshot(
    document: &Document,
    device: DeviceIndex,
    moments: Moments,
    only_size: bool,
) -> Option<(Answer, Extra)> {
    let device = document.device(device)?;
    let history = device.history;
    let piece = Piece {
        device: *device,
        moments,
    };
    let small = cut(document, &[piece]);
    let to = moments.1.min(history.event_count);
    let moments = (moments.0.min(to), to);
    if only_size {
        let mut counter = Counter(0);
        encode(&small, &mut counter).ok()?;
        let bytes = counter.0;
        return Some((Answer::Snapshot { moments, bytes }, Extra::Nothing));
    }
    let mut pickle = Vec::new();
    encode(&small, &mut pickle).ok()?;
    let bytes = pickle.len() as u64;
    Some((Answer::Snapshot { moments, bytes }, Extra::Bytes(pickle)))
}

/// Counts what is written.
struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Active and reserved bytes at each moment, and how many lines that is. Events count from 1, as on the
/// page; moment 0 is before the first.
fn curves(device: Device<'_>, (from, to): Moments) -> (String, u64) {
    let history = device.history;
    let to = to.min(history.event_count);
    let from = from.min(to);
    let mut csv = "after_event,time_us,active_bytes,reserved_bytes\n".to_owned();
    let mut steps = history.reserved_steps.iter().peekable();
    let mut reserved_bytes = 0;
    for moment in from..=to {
        while let Some(&(_, bytes)) = steps.next_if(|&&(at, _)| at <= moment) {
            reserved_bytes = bytes;
        }
        let active_bytes = history.active_bytes.get(moment as usize).copied();
        let time_us = history.moment_start_us.get(moment);
        let time_us = time_us.map_or(String::new(), |time| time.to_string());
        let reserved = if device.knows_segments() {
            reserved_bytes.to_string()
        } else {
            String::new()
        };
        let active_bytes = active_bytes.unwrap_or(0);
        let _ = writeln!(csv, "{moment},{time_us},{active_bytes},{reserved}");
    }
    (csv, u64::from(to - from) + 1)
}

#[cfg(test)]
mod tests {
    use vramscope_core::analysis::time::history::History;
    use vramscope_core::decode;

    use super::*;

    const FILE: &str = r#"{"segments": [{"device": 0, "address": 4096, "total_size": 2097152, "blocks": [
        {"address": 4096, "size": 2097152, "state": "active_allocated", "requested_size": 500}]}],
        "device_traces": [[
        {"action": "segment_alloc", "addr": 4096, "size": 2097152, "time_us": 5},
        {"action": "alloc", "addr": 4096, "size": 500, "time_us": 6},
        {"action": "snapshot", "addr": 0, "size": 500, "time_us": 7}]]}"#;

    fn document() -> Document {
        Document::new(decode(FILE.as_bytes()).unwrap())
    }

    #[test]
    fn a_size_is_told_before_the_snapshot_is_made() {
        let document = document();
        let ask = |only_size| {
            let question = Question::Snapshot {
                device: 0,
                moments: (1, 9),
                only_size,
            };
            answer(&question, &document, &what_if::Cache::default()).unwrap()
        };
        let (size, nothing) = ask(true);
        assert_eq!(nothing, Extra::Nothing);
        let (same, Extra::Bytes(pickle)) = ask(false) else {
            panic!("no snapshot");
        };
        let bytes = pickle.len() as u64;
        assert_eq!(
            (&size, &same),
            (
                &same,
                &Answer::Snapshot {
                    moments: (1, 3),
                    bytes
                }
            )
        );
        let read = decode(&pickle[..]).unwrap();
        assert_eq!(History::of(&read, 0).active_bytes, [0, 500, 500]);
    }

    #[test]
    fn curves_are_lines_of_numbers() {
        let document = document();
        let csv = |moments| {
            let question = Question::Curves { device: 0, moments };
            match answer(&question, &document, &what_if::Cache::default()) {
                Some((Answer::Csv { rows }, Extra::Bytes(csv))) => {
                    assert_eq!(
                        csv.iter().filter(|&&byte| byte == b'\n').count() as u64,
                        rows + 1
                    );
                    String::from_utf8(csv).unwrap()
                }
                other => panic!("{other:?}"),
            }
        };
        let head = "after_event,time_us,active_bytes,reserved_bytes\n";
        assert_eq!(csv((2, 2)), format!("{head}2,6,500,2097152\n"));
        assert_eq!(csv((0, 1)), format!("{head}0,5,0,0\n1,5,0,2097152\n"));
        assert_eq!(csv((7, 9)), format!("{head}3,7,500,2097152\n"));
    }
}
