//! Two files, or two moments of one recording.

use vramscope_core::analysis::compare::changes::ChangeTree;
use vramscope_core::analysis::compare::side::Amount;
use vramscope_core::analysis::time::curves::Curves;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::model::DeviceIndex;
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
    /// What the picture calls the file.
    pub file: &'a str,
    /// The device.
    pub device: DeviceIndex,
    /// Recorded events.
    pub events: u32,
    /// Which allocations are compared.
    pub selection: Selection,
    /// All of them.
    pub total: Amount,
    /// The recording.
    pub curves: &'a Curves,
    /// Where the selection lies on the axis of the curves.
    pub marks: &'a [u64],
}

/// A comparison.
#[derive(Clone, Copy, Debug)]
pub struct CompareView<'a> {
    /// The side before and the side after.
    pub sides: [ComparedSide<'a>; 2],
    /// Whether both are of the same recording.
    pub is_one_recording: bool,
    /// What both have by call path.
    pub tree: &'a ChangeTree,
    /// What the width of a box says.
    pub width: FlameWidth,
    /// What widths and colours count.
    pub unit: ChangeUnit,
    /// The node of the tree that fills the width.
    pub focus: u32,
}

impl CompareView<'_> {
    /// The comparison as a file.
    ///
    /// # Errors
    /// If the sheet's size is out of range, or encoding fails.
    pub fn file(&self, sheet: &Sheet, format: Format) -> Result<Vec<u8>, PlotError> {
        let [before, after] = &self.sides;
        let name = |letter: &str, side: &ComparedSide<'_>| {
            format!("{letter}: {}, device {}", side.file, side.device)
        };
        let titles = if self.is_one_recording {
            let device = before.device;
            vec![format!(
                "device {device}: active memory, and reserved as a line"
            )]
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

    /// The recordings, as many as there are titles.
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
            Selection::LiveAt(moment) => moment_words(moment),
            other => selection_words(other, side.events),
        };
        let (old, new) = (before.total, after.total);
        let mut text = format!(
            "A {} {} in {} allocations · B {} {} in {} · {}",
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

/// Explains the flame graph's colours.
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
