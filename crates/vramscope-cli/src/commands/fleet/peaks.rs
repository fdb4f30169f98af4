//! How high ranks peak.

use vramscope_core::analysis::compare::changes::relative_change;
use vramscope_core::fleet::Rank;
use vramscope_core::fleet::questions::{self, Peaks};
use vramscope_core::fleet::statistic::{Measure, Usual};
use vramscope_core::units::Bytes;

use super::{Chosen, text_or_none};
use crate::report::{Cell, Column, Part, column, detail, sum};

const COLUMNS: [Column; 14] = [
    column("rank", "rank"),
    column("peak_bytes", "peak"),
    column("peak_change_share", "to median"),
    column("peak_at_share", "when in the run"),
    column("reserved_max_bytes", "reserved"),
    column("gap_bytes", "gap at peak"),
    column("end_bytes", "at end"),
    sum("ooms", "OOMs"),
    detail("peak_time_us"),
    detail("local_rank"),
    detail("host"),
    detail("rank_from"),
    column("device", "device"),
    column("file", ""),
];

/// The peak of each rank.
pub(super) fn peaks(chosen: &Chosen) -> Part {
    let mut part = chosen.part();
    let Some(found) = questions::peaks(&chosen.fleet) else {
        return part;
    };
    let ranks = &chosen.fleet.ranks;
    facts(&mut part, &found);
    let ends = [Some(&found.highest()), found.by_peak.last()];
    for (key, row) in ["highest", "lowest"].into_iter().zip(ends) {
        if let Some(&row) = row {
            let peak = Bytes(ranks[row].peak_bytes).to_string();
            part.fact_with(key, key, Cell::Text(chosen.name(row)), peak);
        }
    }
    let median = ranks[found.median].peak_bytes;
    let rows = found.by_peak.iter().map(|&row| row_of(&ranks[row], median));
    part.table("ranks", "", &COLUMNS, rows.collect());
    part
}

fn facts(part: &mut Part, found: &Peaks) {
    for (key, spread_key, label, measure) in [
        (
            "median_peak_bytes",
            "peak_spread_bytes",
            "median peak",
            Measure::Peak,
        ),
        (
            "median_reserved_bytes",
            "reserved_spread_bytes",
            "median reserved",
            Measure::Reserved,
        ),
        (
            "median_end_bytes",
            "end_spread_bytes",
            "median at end",
            Measure::AtEnd,
        ),
    ] {
        let Some(usual) = found.usual(measure) else {
            continue;
        };
        part.fact_with(key, label, Cell::Bytes(usual.median), about(usual));
        part.fact(spread_key, "", Cell::Bytes(usual.spread));
    }
}

/// Where the values lie, besides the median.
fn about(usual: &Usual) -> String {
    let (lowest, highest) = (Bytes(usual.lowest), Bytes(usual.highest));
    match usual.spread {
        _ if usual.lowest == usual.highest => "on every rank".to_owned(),
        0 => format!("from {lowest} to {highest}; equal on at least half of the ranks"),
        spread => format!(
            "from {lowest} to {highest}; at least half of the ranks are within {} of it",
            Bytes(spread)
        ),
    }
}

fn row_of(rank: &Rank, median: u64) -> Vec<Cell> {
    vec![
        Cell::Number(rank.place.rank.into()),
        Cell::Bytes(rank.peak_bytes),
        Cell::or_none(relative_change(median, rank.peak_bytes), Cell::ShareChange),
        Cell::or_none(rank.peak_share(), Cell::Share),
        Cell::or_none(rank.peak_reserved(), Cell::Bytes),
        Cell::or_none(rank.gap_bytes(), Cell::Bytes),
        Cell::Bytes(rank.end_bytes),
        Cell::Number(rank.ooms),
        Cell::or_none(rank.peak_time_us, Cell::TimeUs),
        Cell::or_none(rank.place.local_rank, |rank| Cell::Number(rank.into())),
        text_or_none(&rank.place.host),
        Cell::Text(rank.place.rank_from.word().to_owned()),
        Cell::Number(rank.device.into()),
        Cell::Text(rank.source.path.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spread_is_no_distance() {
        let told = |values: &[u64]| about(&Usual::of(values).unwrap_or_default());
        assert_eq!(told(&[8, 8, 8]), "on every rank");
        assert_eq!(
            told(&[8, 8, 8, 16]),
            "from 8 B to 16 B; equal on at least half of the ranks"
        );
        assert_eq!(
            told(&[8, 9, 11, 16]),
            "from 8 B to 16 B; at least half of the ranks are within 2 B of it"
        );
    }
}
