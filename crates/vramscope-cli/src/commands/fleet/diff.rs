//! How a rank differs from another.

use std::collections::BTreeSet;

use vramscope_core::analysis::compare::changes::{SettingChange, SiteChange, delta};
use vramscope_core::fleet::questions::{self, ranks};
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::Bytes;

use super::{Chosen, DiffOptions, ranges};
use crate::failure::Failure;
use crate::report::{Cell, Column, Part, column, sum};

/// How a rank differs from another; if none is named, how the odd one or the highest differs from the median.
pub(super) fn diff(chosen: &Chosen, options: &DiffOptions) -> Result<Part, Failure> {
    let fleet = &chosen.fleet;
    let Some(all) = ranks(fleet) else {
        return Err(Failure::Input(
            "there is only one rank to compare".to_owned(),
        ));
    };
    let after = match options.rank {
        Some(number) => numbered(chosen, number, ("--device", options.device))?,
        None => all.compared.unwrap_or(all.peaks.highest()),
    };
    let (before, which) = match options.against {
        Some(number) => {
            let device = ("--against-device", options.against_device);
            (numbered(chosen, number, device)?, "")
        }
        None => (all.peaks.median, ", the median"),
    };
    if before == after {
        return Err(Failure::Usage(format!(
            "{} would be compared with itself{which}: name another by --rank or --against",
            chosen.name(after)
        )));
    }
    let found = questions::diff(fleet, before, after);
    let mut part = chosen.part();
    let [one, other] = [before, after].map(|row| &fleet.ranks[row]);
    let remark = format!("{}, {}", Bytes(other.peak_bytes), other.source.path);
    part.fact_with("rank", "this one", Cell::Text(chosen.name(after)), remark);
    let remark = format!("{}, {}{which}", Bytes(one.peak_bytes), one.source.path);
    part.fact_with(
        "against",
        "compared with",
        Cell::Text(chosen.name(before)),
        remark,
    );
    let change = Cell::BytesChange(delta(one.peak_bytes, other.peak_bytes));
    part.fact("peak_change_bytes", "peak", change);
    part.notes.extend(chosen.other_sites());
    let rows = found.sites.iter().map(change_row).collect();
    part.table(
        "differences",
        "at their peaks, by call site",
        &CHANGES,
        rows,
    );
    let settings: Vec<Vec<Cell>> = found.settings.iter().map(setting_row).collect();
    if !settings.is_empty() {
        part.table("settings", "settings that differ", &SETTINGS, settings);
    }
    Ok(part)
}

/// The row of the rank, and of its device, that an option names.
fn numbered(
    chosen: &Chosen,
    number: u32,
    (option, device): (&str, Option<DeviceIndex>),
) -> Result<usize, Failure> {
    let ranks = &chosen.fleet.ranks;
    let of_number: Vec<usize> = (0..ranks.len())
        .filter(|&row| ranks[row].place.rank == number)
        .collect();
    if of_number.is_empty() {
        let known = distinct(ranks.iter().map(|rank| rank.place.rank));
        let text = format!("there is no rank {number}; they are {known}");
        return Err(Failure::Input(text));
    }
    let devices = || distinct(of_number.iter().map(|&row| ranks[row].device));
    let is_it = |&&row: &&usize| device.is_none_or(|device| ranks[row].device == device);
    let rows: Vec<usize> = of_number.iter().filter(is_it).copied().collect();
    match rows[..] {
        [row] => Ok(row),
        [] => Err(Failure::Usage(format!(
            "rank {number} has no such device; they are {}: see {option}",
            devices()
        ))),
        [first, ..]
            if rows
                .iter()
                .any(|&row| ranks[row].device != ranks[first].device) =>
        {
            Err(Failure::Usage(format!(
                "rank {number} has several devices: {option} says which of {}",
                devices()
            )))
        }
        [first, second, ..] => {
            let [first, second] = [first, second].map(|row| &ranks[row].source.path);
            let failure = format!("rank {number} has several snapshots, as {first} and {second}");
            Err(Failure::Usage(failure).followed_by([
                "Name one snapshot of each rank; or compare two by `vramscope diff`.",
            ]))
        }
    }
}

/// Distinct numbers in order.
fn distinct(numbers: impl Iterator<Item = u32>) -> String {
    let numbers: BTreeSet<u32> = numbers.collect();
    ranges(&Vec::from_iter(numbers))
}

const CHANGES: [Column; 4] = [
    sum("change_bytes", "change"),
    sum("other_bytes", "the other"),
    sum("bytes", "this one"),
    column("call_site", ""),
];

const SETTINGS: [Column; 3] = [
    column("setting", "setting"),
    column("other", "the other"),
    column("value", "this one"),
];

/// The change, both sides and the call site.
pub(super) fn change_row(site: &SiteChange) -> Vec<Cell> {
    vec![
        Cell::BytesChange(site.change.bytes_delta()),
        Cell::Bytes(site.change.before.bytes),
        Cell::Bytes(site.change.after.bytes),
        Cell::Text(site.label.clone()),
    ]
}

/// The setting and its values on both sides.
pub(super) fn setting_row(setting: &SettingChange) -> Vec<Cell> {
    vec![
        Cell::Text(setting.name.clone()),
        Cell::or_none(setting.before.clone(), Cell::Text),
        Cell::or_none(setting.after.clone(), Cell::Text),
    ]
}
