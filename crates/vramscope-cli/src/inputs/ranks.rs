//! The comparison across ranks that every command adds when it reads more than one file.

use vramscope_core::analysis::compare::changes::relative_change;
use vramscope_core::analysis::compare::ranks::{Measure, Outlier, RankSummary, Ranks, ranks};
use vramscope_core::units::{Bytes, Count};

use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::Subject;

/// Summarises each device of a file on which something happened.
pub(crate) fn summaries(subject: &Subject) -> Vec<RankSummary> {
    let devices = subject.devices();
    let summaries = devices.filter_map(|device| RankSummary::of(&subject.name, *device));
    summaries.collect()
}

/// The table of ranks; `None` for fewer than two.
pub(crate) fn part(summaries: &[RankSummary]) -> Option<Part> {
    let ranks = ranks(summaries)?;
    let mut part = Part {
        file: format!("all {} ranks", Count(summaries.len() as u64)),
        ..Part::default()
    };
    let names = Names::of(summaries);
    facts(&mut part, summaries, &ranks, &names);
    rank_table(&mut part, summaries, &ranks);
    match ranks.compared {
        Some(compared) => change_table(&mut part, &ranks, &names, compared),
        None => part.notes.push(format!(
            "The peaks are alike: {} is highest, and no rank is far from the median. `vramscope diff A B` compares \
             any two by call site.",
            names.of_rank(ranks.highest())
        )),
    }
    Some(part)
}

/// The names of ranks: their file, with the device where a file has several.
struct Names<'a> {
    summaries: &'a [RankSummary],
    has_several_devices: bool,
}

impl<'a> Names<'a> {
    fn of(summaries: &'a [RankSummary]) -> Self {
        Self {
            summaries,
            has_several_devices: summaries
                .windows(2)
                .any(|pair| pair[0].file == pair[1].file),
        }
    }

    fn of_rank(&self, rank: usize) -> String {
        let RankSummary { file, device, .. } = &self.summaries[rank];
        if self.has_several_devices {
            format!("{file}, device {device}")
        } else {
            file.clone()
        }
    }
}

fn facts(part: &mut Part, summaries: &[RankSummary], ranks: &Ranks, names: &Names<'_>) {
    let peak = |rank: usize| summaries[rank].figures.peak_active_bytes;
    let (highest, median) = (ranks.highest(), ranks.median);
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
            Measure::AtEnd => ("outlier_at_end", "outlier at the end"),
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

fn rank_table(part: &mut Part, summaries: &[RankSummary], ranks: &Ranks) {
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
    let median = summaries[ranks.median].figures.peak_active_bytes;
    let rows = ranks.by_peak.iter().map(|&rank| {
        let summary = &summaries[rank];
        let figures = &summary.figures;
        let to_median = relative_change(median, figures.peak_active_bytes);
        vec![
            Cell::Bytes(figures.peak_active_bytes),
            Cell::or_none(to_median, Cell::ShareChange),
            Cell::Bytes(figures.peak_reserved_bytes),
            Cell::Bytes(summary.gap_bytes()),
            Cell::Bytes(summary.end_bytes),
            Cell::Number(figures.ooms),
            Cell::or_none(summary.peak_time_us, Cell::TimeUs),
            Cell::Text(role(ranks, rank)),
            Cell::Number(summary.device.into()),
            Cell::Text(summary.file.clone()),
        ]
    });
    part.table("ranks", "", &COLUMNS, rows.collect());
}

fn role(ranks: &Ranks, rank: usize) -> String {
    let is_outlier = ranks.outliers.iter().any(|outlier| outlier.rank == rank);
    let roles = [
        (rank == ranks.highest(), "highest"),
        (rank == ranks.median, "median"),
        (is_outlier, "outlier"),
    ];
    let roles = roles
        .into_iter()
        .filter_map(|(is_it, word)| is_it.then_some(word));
    roles.collect::<Vec<_>>().join(", ")
}

fn change_table(part: &mut Part, ranks: &Ranks, names: &Names<'_>, compared: usize) {
    const COLUMNS: [Column; 4] = [
        sum("change_bytes", "change"),
        sum("median_bytes", "median"),
        sum("bytes", "this one"),
        column("call_site", ""),
    ];
    let rows = ranks.changes.iter().map(|site| {
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
        names.of_rank(ranks.median)
    );
    part.table("differences", title, &COLUMNS, rows.collect());
}
