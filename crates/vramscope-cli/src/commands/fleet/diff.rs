//! How a rank differs from another.

use vramscope_core::analysis::compare::changes::{SettingChange, SiteChange, delta};
use vramscope_core::fleet::Fleet;
use vramscope_core::fleet::questions::{self, ranks};
use vramscope_core::units::Bytes;

use super::{Chosen, ranges};
use crate::failure::Failure;
use crate::report::{Cell, Column, Part, column, sum};

/// How `rank` differs from `against`: without these, how the odd one or the highest differs from the median.
pub(super) fn diff(
    chosen: &Chosen,
    rank: Option<u32>,
    against: Option<u32>,
) -> Result<Part, Failure> {
    let fleet = &chosen.fleet;
    let Some(all) = ranks(fleet) else {
        return Err(Failure::Input(
            "there is only one rank to compare".to_owned(),
        ));
    };
    let after = match rank {
        Some(number) => numbered(fleet, number)?,
        None => all.compared.unwrap_or(all.peaks.highest()),
    };
    let (before, which) = match against {
        Some(number) => (numbered(fleet, number)?, ""),
        None => (all.peaks.median, ", the median"),
    };
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

/// The row of a rank's number.
fn numbered(fleet: &Fleet, number: u32) -> Result<usize, Failure> {
    let mut numbers = fleet.ranks.iter().map(|rank| rank.place.rank);
    let mut known: Vec<u32> = numbers.clone().collect();
    numbers.position(|rank| rank == number).ok_or_else(|| {
        known.sort_unstable();
        known.dedup();
        let known = ranges(&known);
        Failure::Input(format!("there is no rank {number}; they are {known}"))
    })
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
