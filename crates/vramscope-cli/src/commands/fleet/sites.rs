//! Call sites over all ranks, and what they leave behind.

use vramscope_core::analysis::report::findings::counted;
use vramscope_core::fleet::questions::{
    LeakedSite, SiteFigure, SiteSpread, leaks as leaks_of, sites,
};
use vramscope_core::units::Bytes;

use super::Chosen;
use crate::report::{Cell, Column, Part, column, detail};

/// Number of odd ranks named in a row.
const NAMED: usize = 4;

/// What each call site holds.
pub(super) fn part(chosen: &Chosen, figure: SiteFigure) -> Part {
    const COLUMNS: [Column; 11] = [
        column("median_bytes", "median"),
        column("spread_bytes", "spread"),
        column("lowest_bytes", "least"),
        column("highest_bytes", "most"),
        column("highest_rank", "on rank"),
        column("highest_device", "device"),
        column("ranks", "ranks"),
        column("odd_ranks", "odd"),
        column("odd", "odd ranks"),
        detail("lowest_rank"),
        column("call_site", ""),
    ];
    let mut part = chosen.part();
    let found = sites(&chosen.fleet, figure);
    let (key, what) = match figure {
        SiteFigure::Peak => ("peak", "live at the peak of each rank"),
        SiteFigure::End => ("end", "live at the end"),
        SiteFigure::LeftPerStep => ("left_per_step", "left behind by each step"),
    };
    part.fact_with("of", "bytes", Cell::Text(key.to_owned()), what);
    part.fact("call_sites", "call sites", Cell::Number(found.len() as u64));
    part.notes.extend(chosen.other_sites());
    let rows = found.iter().map(|spread| {
        let mut row = spread_cells(chosen, spread);
        row.push(Cell::Text(chosen.fleet.label(spread.site).to_owned()));
        row
    });
    part.table("sites", "", &COLUMNS, rows.collect());
    part
}

/// The cells of a spread, without the call site.
fn spread_cells(chosen: &Chosen, spread: &SiteSpread) -> Vec<Cell> {
    let number = |row: usize| u64::from(chosen.fleet.ranks[row].place.rank);
    let usual = &spread.usual;
    let short = |&row: &usize| match chosen.apart(row).0 {
        Some(device) => format!("{}:{device}", number(row)),
        None => number(row).to_string(),
    };
    let mut named: Vec<String> = spread.odd.iter().take(NAMED).map(short).collect();
    if spread.odd.len() > NAMED {
        named.push("…".to_owned());
    }
    vec![
        Cell::Bytes(usual.median),
        Cell::Bytes(usual.spread),
        Cell::Bytes(usual.lowest),
        Cell::Bytes(usual.highest),
        Cell::Number(number(spread.highest)),
        device(chosen, spread.highest),
        Cell::Number(spread.ranks),
        Cell::Number(spread.odd.len() as u64),
        Cell::Text(named.join(" ")),
        Cell::Number(number(spread.lowest)),
    ]
}

/// The device of a rank, if its snapshot has several.
fn device(chosen: &Chosen, row: usize) -> Cell {
    let (device, _) = chosen.apart(row);
    Cell::or_none(device, |device| Cell::Number(device.into()))
}

/// The columns of [`leak_row`].
const LEAKS: [Column; 9] = [
    column("median_left_bytes_per_step", "left per step"),
    column("spread_bytes", "spread"),
    column("highest_left_bytes_per_step", "most"),
    column("highest_rank", "on rank"),
    column("highest_device", "device"),
    column("ranks", "ranks"),
    column("odd_ranks", "odd"),
    column("median_end_bytes", "at end"),
    column("call_site", ""),
];

fn leak_row(chosen: &Chosen, site: &LeakedSite) -> Option<Vec<Cell>> {
    let fleet = &chosen.fleet;
    let main = site.main()?;
    let per_step = site.per_step.as_ref().map(|spread| spread.usual);
    Some(vec![
        Cell::or_none(per_step, |usual| Cell::Bytes(usual.median)),
        Cell::Bytes(main.usual.spread),
        Cell::or_none(per_step, |usual| Cell::Bytes(usual.highest)),
        Cell::Number(fleet.ranks[main.highest].place.rank.into()),
        device(chosen, main.highest),
        Cell::Number(main.ranks),
        Cell::Number(main.odd.len() as u64),
        Cell::or_none(site.end.as_ref(), |end| Cell::Bytes(end.usual.median)),
        Cell::Text(fleet.label(main.site).to_owned()),
    ])
}

/// What steps leave behind.
pub(super) fn leaks(chosen: &Chosen) -> Part {
    let found = leaks_of(&chosen.fleet);
    let mut part = chosen.part();
    part.fact(
        "ranks_with_steps",
        "steps known on",
        Cell::Number(found.ranks_with_steps),
    );
    part.fact("growing_ranks", "growing", Cell::Number(found.growing));
    if let Some(growth) = found.growth {
        let about = format!(
            "the median per step; from {} to {}",
            Bytes(growth.lowest),
            Bytes(growth.highest)
        );
        let cell = Cell::Bytes(growth.median);
        part.fact_with("median_growth_bytes_per_step", "growth", cell, about);
    }
    if let Some(row) = found.fastest {
        part.fact("fastest", "fastest", Cell::Text(chosen.name(row)));
    }
    let rows = found.sites.iter();
    let rows: Vec<Vec<Cell>> = rows.filter_map(|site| leak_row(chosen, site)).collect();
    match (found.ranks_with_steps, rows.is_empty()) {
        (0, _) => part.notes.push(
            "No rank's steps are known, so these are the call sites with most bytes live at the end, which need not be \
             leaks: name steps with record_function or torch.profiler.record_function."
                .to_owned(),
        ),
        (_, true) => part.notes.push(format!(
            "No call site leaves anything behind in most steps, on {}.",
            counted(found.ranks_with_steps, "rank")
        )),
        (known, false) if known < chosen.cohort.ranks => part.notes.push(format!(
            "Memory left by a step covers the {} with steps; memory at the end covers all.",
            counted(known, "rank")
        )),
        _ => {}
    }
    if !rows.is_empty() {
        part.table("sites", "", &LEAKS, rows);
    }
    part.notes.extend(chosen.other_sites());
    part
}
