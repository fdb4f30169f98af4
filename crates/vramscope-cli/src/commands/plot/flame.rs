//! The flame graph of a device.

use std::collections::HashSet;

use vramscope_core::analysis::code::call_tree::{CallTree, Paths, StackSums, TreeOptions};
use vramscope_core::analysis::code::frame_groups::{FrameGroups, GroupOptions, GroupTable};
use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::units::{Bytes, Count};
use vramscope_view::flame::{GroupColours, weight_text};
use vramscope_view::plot::{FlamePlot, Legend, Plot};

use super::arguments::What;
use super::sheet::Sheet;
use super::{Options, moment_words, title};
use crate::failure::Failure;
use crate::subject::Device;

pub(super) fn draw(
    options: &Options,
    device: &Device<'_>,
    sheet: &Sheet<'_>,
) -> Result<Vec<u8>, Failure> {
    let (subject, snapshot) = (device.subject, &device.subject.snapshot);
    let (selection, what) = selection(options, device)?;
    let weight = options.weight.unwrap_or_default().weight();
    let tree_options = TreeOptions {
        selection,
        weight,
        only: None,
        matches: None,
    };
    let mut table = GroupTable::default();
    let of_frame = FrameGroups::of(snapshot, subject.classes(), &groups(options), &mut table);
    let sums = StackSums::of(
        snapshot,
        device.history,
        subject.call_sites(),
        &tree_options,
    );
    let paths = Paths::of(snapshot, &of_frame, &sums);
    let tree = if options.inverted {
        CallTree::bottom_up(&paths)
    } else {
        CallTree::top_down(&paths)
    };
    let sites = subject.call_sites().sites().iter();
    let sites: HashSet<&str> = sites.map(|site| site.label.as_str()).collect();
    let colours = GroupColours::of(&table, sheet.theme, |label| sites.contains(label));
    let total = paths.total();
    let mut subtitle = format!(
        "device {} · {what} · {} in {} allocations",
        device.index(),
        Bytes(total.bytes),
        Count(total.count)
    );
    if weight == Weight::ByteEvents {
        subtitle = format!("{subtitle} · {}", weight_text(weight, total.weight));
    }
    sheet.file(&Plot {
        title: &title(&subject.name),
        subtitle: &subtitle,
        note: if total.count == 0 {
            "there is no such allocation"
        } else {
            ""
        },
        legend: Legend::default(),
        content: FlamePlot {
            tree: &tree,
            table: &table,
            colours: &colours,
            shape: options.shape.unwrap_or_default().shape(),
        },
    })
}

/// The grouping and folding of frames.
pub(super) fn groups(options: &Options) -> GroupOptions {
    GroupOptions {
        grouping: options.group_by.unwrap_or_default().grouping(),
        fold: options.fold.unwrap_or_default().fold(),
        ..GroupOptions::default()
    }
}

/// The allocations that are drawn, and a title for them.
fn selection(options: &Options, device: &Device<'_>) -> Result<(Selection, String), Failure> {
    let what = match (options.what, &options.range) {
        (Some(what), _) => what,
        (None, Some(_)) => What::Allocated,
        (None, None) => What::Live,
    };
    let misplaced = |option: &str, instead: &str| {
        let text = format!("--{option} means nothing with this --what; it is for {instead}");
        Err(Failure::Usage(text))
    };
    if what == What::Live {
        if options.range.is_some() {
            return misplaced("range", "--what allocated and retained");
        }
        let name = options.at.as_deref().unwrap_or("peak");
        let moment = device.moment(name)?;
        let mut words = format!("live {}", moment_words(moment));
        if moment == device.history.peak_moment {
            words.push_str(", the peak");
        }
        return Ok((Selection::LiveAt(moment), words));
    }
    if options.at.is_some() {
        return misplaced("at", "--what live");
    }
    let range = device.range(options.range.as_deref().unwrap_or("all"))?;
    let (from, to) = (Count(range.0.into()), Count(range.1.into()));
    let is_all = range == (0, device.history.event_count);
    let (word, where_) = match (what, is_all) {
        (What::Retained, true) => ("allocated and never freed", String::new()),
        (What::Retained, false) => ("retained", format!(" from events {from} to {to}")),
        (_, true) => ("allocated in the whole recording", String::new()),
        (_, false) => ("allocated", format!(" in events {from} to {to}")),
    };
    let selection = if what == What::Retained {
        Selection::RetainedFrom(range)
    } else {
        Selection::AllocatedIn(range)
    };
    Ok((selection, format!("{word}{where_}")))
}
