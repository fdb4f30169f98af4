//! Two files, or two moments of one recording.

use vramscope_core::analysis::compare::changes::ChangeTree;
use vramscope_core::analysis::compare::side::Amount;
use vramscope_core::analysis::time::curves::Curves;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::units::{Bytes, Count};

use super::{Format, Sheet, moment_words, selection_words};
use crate::change_flame::{ChangeUnit, FlameWidth, change_colour};
use crate::display;
use crate::plot::{ComparePlot, Legend, LegendLine, Plot, PlotError};
use crate::stacked_curves::{Mark, Row};
use crate::theme::Theme;

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedSide<'a> {
    /// Name of the file in the titles.
    pub file: &'a str,
    /// The device's name.
    pub device_name: &'a str,
    /// Number of recorded events.
    pub events: u32,
    /// Compared allocations.
    pub selection: Selection,
    /// Total of the compared allocations.
    pub total: Amount,
    /// Curves of the recording.
    pub curves: &'a Curves,
    /// Places of the selection on the curves' axis: its moment, or its first and last moment.
    pub marks: &'a [u64],
}

/// A comparison of two sides.
#[derive(Clone, Copy, Debug)]
pub struct CompareView<'a> {
    /// Side A and side B.
    pub sides: [ComparedSide<'a>; 2],
    /// Whether both sides are of the same recording.
    pub is_one_recording: bool,
    /// Call tree with both sides' amounts.
    pub tree: &'a ChangeTree,
    /// Side or difference that widths show.
    pub width: FlameWidth,
    /// Unit of widths and colours.
    pub unit: ChangeUnit,
    /// Node of the tree that fills the width.
    pub focus: u32,
}

impl CompareView<'_> {
    /// Draws the comparison, as the bytes of a file.
    ///
    /// # Errors
    /// If the sheet's size is out of range, or encoding fails.
    pub fn file(&self, sheet: &Sheet, format: Format) -> Result<Vec<u8>, PlotError> {
        let [before, after] = &self.sides;
        let name = |letter: &str, side: &ComparedSide<'_>| {
            format!("{letter}: {}, {}", side.file, side.device_name)
        };
        let titles = if self.is_one_recording {
            let device = before.device_name;
            vec![format!("{device}: live memory, and reserved as a line")]
        } else {
            vec![name("A", before), name("B", after)]
        };
        let title = if self.is_one_recording {
            before.file.to_owned()
        } else {
            format!("{} → {}", before.file, after.file)
        };
        let plot = Plot {
            title: &title,
            subtitle: &self.subtitle(),
            note: "",
            legend: Legend {
                title: "",
                lines: &legend(&Theme::of(sheet.theme)),
            },
            content: ComparePlot {
                tree: self.tree,
                rows: &self.rows(&titles),
                width: self.width,
                unit: self.unit,
                focus: self.focus,
            },
        };
        sheet.file(&plot, format)
    }

    /// The rows of curves, one per title.
    fn rows<'a>(&'a self, titles: &'a [String]) -> Vec<Row<'a>> {
        let marks = |side: &ComparedSide<'_>, letter: &'static str| -> Vec<Mark<'static>> {
            let marks = side.marks.iter();
            marks.map(|&at| Mark { at, letter }).collect()
        };
        let [before, after] = &self.sides;
        let (a, b) = (marks(before, "A"), marks(after, "B"));
        let of = match titles {
            [_] => vec![(before, [a, b].concat())],
            _ => vec![(before, a), (after, b)],
        };
        let rows = titles.iter().zip(of);
        rows.map(|(title, (side, marks))| Row {
            title,
            curves: side.curves,
            marks,
        })
        .collect()
    }

    fn subtitle(&self) -> String {
        let [before, after] = self.sides;
        let words = |side: ComparedSide<'_>| match side.selection {
            Selection::LiveAt(moment) => moment_words(moment, side.events),
            other => selection_words(other, side.events),
        };
        let (old, new) = (before.total, after.total);
        let mut text = format!(
            "A {}: {} in {} allocations · B {}: {} in {} · {}",
            words(before),
            Bytes(old.bytes),
            Count(old.count),
            words(after),
            Bytes(new.bytes),
            Count(new.count),
            display::bytes_change(old.bytes, new.bytes)
        );
        if self.focus > 0 {
            text = format!("{text} · below {}", self.tree.text(self.focus));
        }
        text
    }
}

fn legend(theme: &Theme) -> [LegendLine; 3] {
    let line = |(before, after), label: &str| LegendLine {
        rgb: change_colour(theme, before, after),
        label: label.to_owned(),
        bytes: None,
    };
    [
        line((0, 1), "more in B"),
        line((1, 0), "less in B"),
        line((1, 1), "the same in both; as wide as the larger side"),
    ]
}
