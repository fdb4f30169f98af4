//! Which ranks differ from the rest.

use vramscope_core::fleet::questions::{Odd, OddRank, OddValue, diff, odd};
use vramscope_core::fleet::statistic::{Measure, NOTABLE_BYTES, NOTABLE_SHARE, ODD_SCORE};
use vramscope_core::units::Bytes;

use super::diff::{change_row, setting_row};
use super::{Chosen, text_or_none};
use crate::report::{Cell, Column, Part, column, detail, sum};

/// Number of call sites listed for each odd rank.
const SITES: usize = 10;
/// Number of odd ranks whose call sites are listed, among those that are odd in bytes.
const WITH_SITES: usize = 10;

pub(super) fn part(chosen: &Chosen) -> Part {
    let mut part = chosen.part();
    let Some(found) = odd(&chosen.fleet) else {
        return part;
    };
    part.fact(
        "odd_ranks",
        "odd ranks",
        Cell::Number(found.ranks.len() as u64),
    );
    if let Some(usual) = found.peaks.usual(Measure::Peak) {
        part.fact(
            "median_peak_bytes",
            "median peak",
            Cell::Bytes(usual.median),
        );
    }
    part.fact_with(
        "statistic",
        "odd is",
        Cell::Text("modified z-score (Iglewicz and Hoaglin)".to_owned()),
        format!(
            "above {ODD_SCORE}, and a distance from the median above {:.0} % of it",
            NOTABLE_SHARE * 100.0
        ),
    );
    part.fact("score_threshold", "", Cell::Json(ODD_SCORE.into()));
    part.fact("notable_share", "", Cell::Share(NOTABLE_SHARE));
    odd_table(&mut part, chosen, &found);
    site_table(&mut part, chosen, &found);
    setting_table(&mut part, chosen, &found);
    if chosen.fleet.ranks.len() < 3 {
        part.notes
            .push("With fewer than three ranks, none can be called odd.".to_owned());
    } else if found.ranks.is_empty() {
        part.notes.push("No rank is odd.".to_owned());
    }
    part.notes.extend(highest(chosen, &found));
    part.notes.push(format!(
        "Gaps and what is scattered are measured by the median peak, growth by {} at least, and when a rank peaks by the \
         length of its recording.",
        Bytes(NOTABLE_BYTES)
    ));
    part
}

/// If the highest rank is far above the median but not odd by its peak: how far it is, and how near to the threshold.
fn highest(chosen: &Chosen, found: &Odd) -> Option<String> {
    let highest = found.peaks.highest();
    let is_odd = |odd: &OddRank| {
        let mut values = odd.values.iter();
        odd.rank == highest && values.any(|value| value.measure == Measure::Peak)
    };
    let usual = found
        .peaks
        .usual(Measure::Peak)
        .filter(|usual| usual.median > 0 && usual.values > 2)?;
    let peak = chosen.fleet.ranks[highest].peak_bytes;
    let score = usual.score(peak)?;
    let above = (peak - usual.median) as f64 / usual.median as f64;
    let is_told = above > NOTABLE_SHARE && !found.ranks.iter().any(is_odd);
    is_told.then(|| {
        format!(
            "The highest peak, of {}, is {:.1} % above the median and not odd by it: ranks differ so much that its score \
             is {score:.2}.",
            chosen.name(highest),
            above * 100.0
        )
    })
}

fn odd_table(part: &mut Part, chosen: &Chosen, found: &Odd) {
    const COLUMNS: [Column; 11] = [
        column("rank", "rank"),
        column("measure", "in"),
        column("value", "value"),
        column("median", "median"),
        column("spread", "spread"),
        column("score", "score"),
        column("others_alike", "others alike"),
        detail("unit"),
        detail("host"),
        column("device", "device"),
        column("file", ""),
    ];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for odd in &found.ranks {
        rows.extend(odd.values.iter().map(|value| odd_row(chosen, odd, value)));
    }
    if !rows.is_empty() {
        part.table("odd", "", &COLUMNS, rows);
    }
}

fn odd_row(chosen: &Chosen, odd: &OddRank, value: &OddValue) -> Vec<Cell> {
    let rank = &chosen.fleet.ranks[odd.rank];
    let cell = |of: u64| match value.measure {
        Measure::PeakTime => Cell::Share(of as f64 / 1000.0),
        measure if measure.is_bytes() => Cell::Bytes(of),
        _ => Cell::Number(of),
    };
    let unit = match value.measure {
        Measure::PeakTime => "share",
        measure if measure.is_bytes() => "bytes",
        _ => "number",
    };
    let score = value.score.map(|score| (score * 100.0).round() / 100.0);
    vec![
        Cell::Number(rank.place.rank.into()),
        Cell::Text(value.measure.name().to_owned()),
        cell(value.value),
        cell(value.usual.median),
        cell(value.usual.spread),
        Cell::or_none(score, |score| Cell::Json(score.into())),
        Cell::Flag(value.score.is_none()),
        Cell::Text(unit.to_owned()),
        text_or_none(&rank.place.host),
        Cell::Number(rank.device.into()),
        Cell::Text(rank.source.path.clone()),
    ]
}

fn site_table(part: &mut Part, chosen: &Chosen, found: &Odd) {
    const COLUMNS: [Column; 7] = [
        column("rank", "rank"),
        column("device", "device"),
        column("file", "file"),
        sum("change_bytes", "change"),
        sum("median_bytes", "median"),
        sum("bytes", "this one"),
        column("call_site", ""),
    ];
    let is_of_bytes = |odd: &&OddRank| odd.values.iter().any(|value| value.measure.is_bytes());
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for odd in found.ranks.iter().filter(is_of_bytes).take(WITH_SITES) {
        let differing = diff(&chosen.fleet, found.peaks.median, odd.rank).sites;
        let cells = differing.iter().take(SITES).map(change_row);
        let head = head(chosen, odd);
        rows.extend(cells.map(|cells| [head.clone(), cells].concat()));
    }
    if !rows.is_empty() {
        let title = format!(
            "how they differ from {}, the median, at their peaks",
            chosen.name(found.peaks.median)
        );
        part.table("differences", title, &COLUMNS, rows);
        part.notes.extend(chosen.other_sites());
    }
}

/// The rank's number, and what else distinguishes it.
fn head(chosen: &Chosen, odd: &OddRank) -> Vec<Cell> {
    let number = chosen.fleet.ranks[odd.rank].place.rank;
    let mut head = vec![Cell::Number(number.into())];
    head.extend(chosen.apart_cells(odd.rank));
    head
}

fn setting_table(part: &mut Part, chosen: &Chosen, found: &Odd) {
    const COLUMNS: [Column; 6] = [
        column("rank", "rank"),
        column("device", "device"),
        column("file", "file"),
        column("setting", "setting"),
        column("most", "most ranks"),
        column("value", "this one"),
    ];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for odd in &found.ranks {
        let cells = odd.settings.iter().map(setting_row);
        let head = head(chosen, odd);
        rows.extend(cells.map(|cells| [head.clone(), cells].concat()));
    }
    if rows.is_empty() {
        return;
    }
    part.table("settings", "settings that differ", &COLUMNS, rows);
    let left_out = found
        .ranks
        .iter()
        .map(|odd| odd.setting_count - odd.settings.len() as u64);
    let left_out: u64 = left_out.sum();
    if left_out > 0 {
        part.notes.push(format!(
            "{left_out} more settings differ: {} of a rank are listed.",
            OddRank::MOST_SETTINGS
        ));
    }
}

#[cfg(test)]
mod tests {
    use vramscope_core::fleet::{Fleet, Place, Rank};

    use super::super::Narrowed;
    use super::*;

    fn of_peaks(peaks: &[u64]) -> Chosen {
        let ranks = (0..).zip(peaks).map(|(rank, &peak_bytes)| Rank {
            place: Place {
                rank,
                ..Place::default()
            },
            peak_bytes,
            ..Rank::default()
        });
        let fleet = Fleet {
            settings: vec![Default::default()],
            ranks: ranks.collect(),
            ..Fleet::default()
        };
        let all = Narrowed {
            step: None,
            job: None,
        };
        Chosen::of(fleet, &all).unwrap()
    }

    #[test]
    fn the_highest_is_told_where_it_is_far_up_but_not_odd() {
        let told = |peaks: &[u64]| {
            let chosen = of_peaks(peaks);
            highest(&chosen, &odd(&chosen.fleet).unwrap())
        };
        // The stages of a pipeline: the median is 120, the median distance from it 20.
        assert_eq!(
            told(&[100, 120, 140, 160]).unwrap(),
            "The highest peak, of rank 3, is 33.3 % above the median and not odd by it: ranks differ so much that its \
             score is 1.35."
        );
        // It is near the median.
        assert_eq!(told(&[100, 101, 102, 103]), None);
        // It is in the table of odd ranks.
        assert_eq!(told(&[100, 101, 102, 103, 900]), None);
        // Of two ranks neither is odd, nor are ranks that hold nothing.
        assert_eq!(told(&[100, 900]), None);
        assert_eq!(told(&[0, 0, 0]), None);
    }

    /// Even if ranks that are odd in other ways come before.
    #[test]
    fn call_sites_are_of_ranks_that_are_odd_in_bytes() {
        let mut chosen = of_peaks(&[100; 60]);
        for rank in &mut chosen.fleet.ranks[..WITH_SITES] {
            rank.ooms = 1;
        }
        chosen.fleet.ranks[30].peak_bytes = 900;
        chosen.fleet.ranks[30].other_sites.bytes = 800;
        let tables = part(&chosen).tables;
        let titles: Vec<&str> = tables.iter().map(|table| table.key).collect();
        assert_eq!(titles, ["odd", "differences"]);
    }
}
