//! The records of a whole text together: who failed first, who is odd.

use serde::Serialize;
use vramscope_core::units::Bytes;

use crate::conclude::{Class, conclude};
use crate::record::{Failure, Reading, Record, Report};

/// What a whole text tells.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Whole {
    /// Number of different failures.
    pub failures: u64,
    /// The place of the first failure among the records; the first of the device's, if there is one.
    pub first: Option<usize>,
    /// Who failed, in the order of the text, each once.
    pub who: Vec<String>,
    /// What is odd, a sentence each.
    pub odd: Vec<String>,
}

/// A rank is odd if it held this many percent more or less than the middle one.
const ODD_PERCENT: u64 = 10;
/// From this many on there is something usual.
const LEAST_RANKS: usize = 3;

/// Puts the records of a text together.
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
    // What the computer's memory did before is why the rest failed.
    let first = match (failed.first(), of_device) {
        (Some((place, record)), Some((of_device, _))) => match &record.report {
            Report::Host(_) if !is_certain(record) => Some(*of_device),
            _ => Some(*place),
        },
        (first, _) => first.map(|(place, _)| *place),
    };
    let mut who: Vec<String> = Vec::new();
    for (_, record) in &failed {
        let name = name(record);
        if !name.is_empty() && !who.contains(&name) {
            who.push(name);
        }
    }
    Whole {
        failures: failed.len() as u64,
        first,
        who,
        odd: odd(&failed),
    }
}

fn is_certain(record: &Record) -> bool {
    conclude(record).is_some_and(|told| told.main().sure == crate::conclude::Sure::Certain)
}

/// A rank, or else a device.
fn name(record: &Record) -> String {
    match &record.report {
        _ if !record.from.is_empty() => record.from.clone(),
        Report::Failure(failure) => failure
            .device
            .map_or_else(String::new, |device| format!("GPU {device}")),
        _ => String::new(),
    }
}

/// Who held far more or less than the others, and who failed for another reason.
fn odd(failed: &[(usize, &Record)]) -> Vec<String> {
    let mut held: Vec<(String, u64)> = Vec::new();
    let mut classes: Vec<(String, Class)> = Vec::new();
    for (_, record) in failed {
        let (name, Report::Failure(failure)) = (name(record), &record.report) else {
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
