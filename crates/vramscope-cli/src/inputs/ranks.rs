//! The comparison across ranks that every command adds when it reads more than one file.

use vramscope_core::analysis::compare::changes::relative_change;
use vramscope_core::fleet::questions::{Ranks, diff, ranks};
use vramscope_core::fleet::statistic::{Measure, Outlier};
use vramscope_core::fleet::{Detail, Fleet, Place, Rank, Source};
use vramscope_core::units::{Bytes, Count};

use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::Subject;

/// Summarises each device of a file on which something happened. `place`: the file's index among all that are read,
/// which keeps ranks in the order in which the user named them.
pub(crate) fn summary(subject: &Subject, place: usize) -> Fleet {
    let place = Place {
        rank: place as u32,
        ..Place::default()
    };
    let source = Source {
        path: subject.name.clone(),
        ..Source::default()
    };
    let devices = subject.devices().map(|device| *device);
    Fleet::of(&place, &source, devices, Detail::Peak)
}

/// The table of ranks; `None` for fewer than two.
pub(crate) fn part(fleet: &Fleet) -> Option<Part> {
    let ranks = ranks(fleet)?;
    let mut part = Part {
        file: format!("all {} ranks", Count(fleet.ranks.len() as u64)),
        ..Part::default()
    };
    let names = Names::of(fleet);
    facts(&mut part, fleet, &ranks, &names);
    rank_table(&mut part, fleet, &ranks);
    match ranks.compared {
        Some(compared) => change_table(&mut part, fleet, (compared, ranks.peaks.median), &names),
        None => part.notes.push(format!(
            "The peaks are alike: {} is highest, and no rank is far from the median. `vramscope diff A B` compares \
             any two by call site.",
            names.of_rank(ranks.peaks.highest())
        )),
    }
    Some(part)
}

/// The names of ranks: their file, with the device if a file has several.
struct Names<'a> {
    ranks: &'a [Rank],
    has_devices: bool,
}

impl<'a> Names<'a> {
    fn of(fleet: &'a Fleet) -> Self {
        Self {
            ranks: &fleet.ranks,
            has_devices: fleet.has_devices(),
        }
    }

    fn of_rank(&self, rank: usize) -> String {
        let Rank { source, device, .. } = &self.ranks[rank];
        if self.has_devices {
            format!("{}, device {device}", source.path)
        } else {
            source.path.clone()
        }
    }
}

fn facts(part: &mut Part, fleet: &Fleet, ranks: &Ranks, names: &Names<'_>) {
    let peak = |rank: usize| fleet.ranks[rank].peak_bytes;
    let (highest, median) = (ranks.peaks.highest(), ranks.peaks.median);
    let remark = format!(
        "{}{}",
        Bytes(peak(highest)),
        against(peak(highest), peak(median), "the median")
    );
    part.fact(
        "median_peak_bytes",
        "median peak",
        Cell::Bytes(peak(median)),
    );
    let name = Cell::Text(names.of_rank(highest));
    part.fact_with("highest", "highest peak", name, remark);
    for outlier in &ranks.outliers {
        let (key, label) = match outlier.measure {
            Measure::Peak => ("outlier", "outlier by peak"),
            Measure::Reserved => ("outlier_by_reserved", "outlier by reserved"),
            _ => ("outlier_at_end", "outlier at the end"),
        };
        let name = Cell::Text(names.of_rank(outlier.rank));
        part.fact_with(key, label, name, outlier_remark(outlier));
    }
}

fn outlier_remark(outlier: &Outlier) -> String {
    let (value, median) = (outlier.bytes, outlier.median_bytes);
    let further = match outlier.further {
        0 => String::new(),
        1 => "; another stands out, too".to_owned(),
        more => format!("; {} others stand out, too", Count(more as u64)),
    };
    let median_name = format!("the median of {}", Bytes(median));
    format!(
        "{}{}{further}",
        Bytes(value),
        against(value, median, &median_name)
    )
}

/// `, 12.5 % above the median`, `, 3.0 times the median`; empty if they are equal.
fn against(bytes: u64, median: u64, median_name: &str) -> String {
    let (value, part) = (bytes as f64, relative_change(median, bytes));
    match part {
        _ if bytes == median => String::new(),
        None => format!(", above {median_name}"),
        Some(1.0..) => format!(", {:.1} times {median_name}", value / median as f64),
        Some(part @ 0.0..) => format!(", {:.1} % above {median_name}", part * 100.0),
        Some(part) => format!(", {:.1} % below {median_name}", -part * 100.0),
    }
}

fn rank_table(part: &mut Part, fleet: &Fleet, ranks: &Ranks) {
    const COLUMNS: [Column; 10] = [
        column("peak_bytes", "peak"),
        column("peak_change_share", "to median"),
        column("reserved_max_bytes", "reserved"),
        column("gap_bytes", "gap at peak"),
        column("end_bytes", "at end"),
        sum("ooms", "OOMs"),
        column("peak_time_us", "peak at"),
        column("role", ""),
        column("device", "device"),
        column("file", ""),
    ];
    let median = fleet.ranks[ranks.peaks.median].peak_bytes;
    let rows = ranks.peaks.by_peak.iter().map(|&row| {
        let rank = &fleet.ranks[row];
        let to_median = relative_change(median, rank.peak_bytes);
        vec![
            Cell::Bytes(rank.peak_bytes),
            Cell::or_none(to_median, Cell::ShareChange),
            Cell::or_none(rank.peak_reserved(), Cell::Bytes),
            Cell::or_none(rank.gap_bytes(), Cell::Bytes),
            Cell::Bytes(rank.end_bytes),
            Cell::Number(rank.ooms),
            Cell::or_none(rank.peak_time_us, Cell::TimeUs),
            Cell::Text(role(ranks, row)),
            Cell::Number(rank.device.into()),
            Cell::Text(rank.source.path.clone()),
        ]
    });
    part.table("ranks", "", &COLUMNS, rows.collect());
}

fn role(ranks: &Ranks, rank: usize) -> String {
    let is_outlier = ranks.outliers.iter().any(|outlier| outlier.rank == rank);
    let roles = [
        (rank == ranks.peaks.highest(), "highest"),
        (rank == ranks.peaks.median, "median"),
        (is_outlier, "outlier"),
    ];
    let roles = roles
        .into_iter()
        .filter_map(|(is_it, word)| is_it.then_some(word));
    roles.collect::<Vec<_>>().join(", ")
}

fn change_table(
    part: &mut Part,
    fleet: &Fleet,
    (compared, median): (usize, usize),
    names: &Names<'_>,
) {
    const COLUMNS: [Column; 4] = [
        sum("change_bytes", "change"),
        sum("median_bytes", "median"),
        sum("bytes", "this one"),
        column("call_site", ""),
    ];
    let found = diff(fleet, median, compared);
    let rows = found.sites.iter().map(|site| {
        vec![
            Cell::BytesChange(site.change.bytes_delta()),
            Cell::Bytes(site.change.before.bytes),
            Cell::Bytes(site.change.after.bytes),
            Cell::Text(site.label.clone()),
        ]
    });
    let title = format!(
        "how {} differs from {}, the median, at their peaks",
        names.of_rank(compared),
        names.of_rank(median)
    );
    part.table("differences", title, &COLUMNS, rows.collect());
}
