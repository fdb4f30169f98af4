//! Combines the records of a whole text: who failed first, which rank is odd.

use serde::Serialize;
use vramscope_core::units::{Bytes, Count};

use crate::conclude::{Class, conclude};
use crate::record::{Failure, Reading, Record, Report};

/// The conclusions from a whole text.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Whole {
    /// Number of different failures.
    pub failures: u64,
    /// Index of the first failure among the records; of the first one of a device, if there is one.
    pub first: Option<usize>,
    /// The sources of failures, in the order of the text, without repetitions.
    pub who: Vec<String>,
    /// Odd ranks, one sentence each.
    pub odd: Vec<String>,
}

/// A rank is odd if it held this many percent more or less than the median rank.
const ODD_PERCENT: u64 = 10;
/// Fewest ranks for which there is a typical value.
const LEAST_RANKS: usize = 3;

/// Combines the records of a text.
#[must_use]
pub fn whole(reading: &Reading) -> Whole {
    let failed: Vec<(usize, &Record)> = reading
        .records
        .iter()
        .enumerate()
        .filter(|(_, record)| matches!(record.report, Report::Failure(_) | Report::Host(_)))
        .collect();
    let of_device = failed
        .iter()
        .find(|(_, record)| matches!(record.report, Report::Failure(_)));
    // A failure of the computer's memory before the device's is the reason for the rest.
    let first = match (failed.first(), of_device) {
        (Some((place, record)), Some((of_device, _))) => match &record.report {
            Report::Host(_) if !is_certain(record) => Some(*of_device),
            _ => Some(*place),
        },
        (first, _) => first.map(|(place, _)| *place),
    };
    let mut who: Vec<String> = Vec::new();
    for (_, record) in &failed {
        let name = record.teller();
        if !name.is_empty() && !who.contains(&name) {
            who.push(name);
        }
    }
    Whole {
        failures: failed.len() as u64,
        first,
        who,
        odd: shared_devices(&failed)
            .into_iter()
            .chain(odd(&failed))
            .collect(),
    }
}

/// Least bytes that another process must hold to be taken for a rank.
const LEAST_OF_RANK: u64 = 1 << 30;

/// Devices on which several ranks failed next to another process: on one computer each rank should have its own.
fn shared_devices(failed: &[(usize, &Record)]) -> Vec<String> {
    let mut devices: Vec<(u64, Vec<&str>, u64)> = Vec::new();
    for (_, record) in failed {
        let Report::Failure(failure) = &record.report else {
            continue;
        };
        let Some(device) = failure.device.filter(|_| !record.from.is_empty()) else {
            continue;
        };
        let held = failure.processes.iter().map(|process| process.held.bytes);
        let held = held.max().unwrap_or(0);
        let known = devices.iter_mut().find(|(known, ..)| *known == device);
        match known {
            Some((_, ranks, most)) => {
                if !ranks.contains(&record.from.as_str()) {
                    ranks.push(&record.from);
                }
                *most = held.max(*most);
            }
            None => devices.push((device, vec![&record.from], held)),
        }
    }
    let shared = devices.into_iter();
    let shared = shared.filter(|(_, ranks, held)| ranks.len() > 1 && *held >= LEAST_OF_RANK);
    shared
        .map(|(device, ranks, held)| {
            let first = &ranks[..ranks.len().min(4)];
            format!(
                "{} failed on device {device}, of which another process held {}. On one computer each rank needs a device of its own: \
                 torch.cuda.set_device(local_rank).",
                first.join(", "),
                Bytes(held)
            )
        })
        .collect()
}

/// The message for a text in which nothing is found.
pub const NOTHING: &str = "Nothing here is in a form that vramscope knows: no out-of-memory error of PyTorch, XLA, llama.cpp or a driver, no \
                           table of nvidia-smi.";

/// The remarks on a whole text besides its failures: its summaries, odd ranks, omissions, or that there is nothing.
#[must_use]
pub fn notes(reading: &Reading, whole: &Whole) -> Vec<String> {
    let summaries = reading.records.iter().filter_map(summary_note);
    let mut notes: Vec<String> = summaries.chain(whole.odd.iter().cloned()).collect();
    if reading.left_out > 0 {
        notes.push(format!(
            "{} later reports are left out.",
            Count(reading.left_out)
        ));
    }
    if let Some(why) = &reading.broken_off {
        notes.push(format!(
            "Only the first {} lines could be read: {why}.",
            Count(reading.lines)
        ));
    }
    if reading.is_empty() {
        notes.push(NOTHING.to_owned());
    }
    notes
}

fn summary_note(record: &Record) -> Option<String> {
    let Report::Summary(summary) = &record.report else {
        return None;
    };
    let allocated = summary.allocated.as_ref()?;
    let Some(reserved) = &summary.reserved else {
        return Some(format!(
            "memory_summary() at line {}: {} allocated; the rest is cut off.",
            Count(record.line),
            Bytes(allocated.bytes)
        ));
    };
    let pieces = summary.not_releasable.as_ref();
    let pieces = pieces.map(|pieces| {
        format!(
            ", {} of it in segments that are partly in use",
            Bytes(pieces.bytes)
        )
    });
    Some(format!(
        "memory_summary() at line {}: {} allocated of {} reserved; {} free in PyTorch{}.",
        Count(record.line),
        Bytes(allocated.bytes),
        Bytes(reserved.bytes),
        Bytes(reserved.bytes.saturating_sub(allocated.bytes)),
        pieces.unwrap_or_default()
    ))
}

/// The number and names of the ranks or devices that failed, only the first few of many; empty for a single one.
#[must_use]
pub fn who_failed(whole: &Whole) -> String {
    const MOST: usize = 8;
    let who = &whole.who;
    if who.len() < 2 {
        return String::new();
    }
    let mut shown = who[..who.len().min(MOST)].join(", ");
    if who.len() > MOST {
        shown += ", …";
    }
    format!("of {} ranks or devices: {shown}", Count(who.len() as u64))
}

fn is_certain(record: &Record) -> bool {
    conclude(record).is_some_and(|told| told.main().sure == crate::conclude::Sure::Certain)
}

/// Ranks that held far more or less than the others, and ranks that failed for another reason.
fn odd(failed: &[(usize, &Record)]) -> Vec<String> {
    let mut held: Vec<(String, u64)> = Vec::new();
    let mut classes: Vec<(String, Class)> = Vec::new();
    for (_, record) in failed {
        let (name, Report::Failure(failure)) = (record.teller(), &record.report) else {
            continue;
        };
        if name.is_empty() || classes.iter().any(|(known, _)| *known == name) {
            continue;
        }
        if let Some(bytes) = allocated(failure) {
            held.push((name.clone(), bytes));
        }
        if let Some(told) = conclude(record) {
            classes.push((name, told.main().class));
        }
    }
    let mut odd = Vec::new();
    if held.len() >= LEAST_RANKS {
        let mut sizes: Vec<u64> = held.iter().map(|(_, bytes)| *bytes).collect();
        sizes.sort_unstable();
        let middle = sizes[sizes.len() / 2];
        let is_odd = |bytes: u64| {
            u128::from(bytes.abs_diff(middle)) * 100 > u128::from(middle) * u128::from(ODD_PERCENT)
        };
        let told = held.iter().filter(|(_, bytes)| is_odd(*bytes)).take(8);
        odd.extend(told.map(|(name, bytes)| {
            format!(
                "{name} had {} allocated, where the middle one of {} had {}.",
                Bytes(*bytes),
                held.len(),
                Bytes(middle)
            )
        }));
    }
    let others = |class: Class| classes.iter().filter(|(_, other)| *other == class).count();
    if classes.len() >= LEAST_RANKS {
        let alone = classes
            .iter()
            .filter(|(_, class)| others(*class) == 1 && *class != Class::Unknown);
        odd.extend(
            alone
                .take(8)
                .map(|(name, _)| format!("{name} failed for a reason of its own.")),
        );
    }
    odd
}

fn allocated(failure: &Failure) -> Option<u64> {
    failure.allocated.as_ref().map(|figure| figure.bytes)
}
