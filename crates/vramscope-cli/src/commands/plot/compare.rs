//! The picture of two files, or of two moments of one file.

use std::path::PathBuf;

use vramscope_core::analysis::compare::changes::compare;
use vramscope_core::analysis::compare::side::{Profile, ProfileNames, ProfileOptions, profile};
use vramscope_core::analysis::time::curves::CurveAxis;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::units::{Bytes, Count};
use vramscope_view::change_flame::{ChangeUnit, change_colour};
use vramscope_view::display;
use vramscope_view::plot::{ComparePlot, Legend, LegendLine, Plot};
use vramscope_view::stacked_curves::{Mark, Row};
use vramscope_view::theme::Theme;

use super::arguments::Axis;
use super::flame::groups;
use super::sheet::Sheet;
use super::{Options, main_device, moment_words, title};
use crate::failure::Failure;
use crate::subject::{Device, Subject};

/// The columns of the curves: more than most pictures have pixels.
const COLUMNS: u32 = 4_000;

/// One side: its recording, and the live memory at its moment.
struct Side {
    title: String,
    moment: u32,
    profile: Profile,
}

/// Draws the comparison. Fails unless there are exactly two sides.
pub(super) fn draw(
    options: &Options,
    files: &[PathBuf],
    sheet: &Sheet<'_>,
) -> Result<Vec<u8>, Failure> {
    match (files, &options.range) {
        ([file], Some(range)) => {
            let subject = Subject::load(file, options.inputs.device)?;
            let device = main_device(&subject)?;
            let (from, to) = device.range(range)?;
            let names = names(options, &subject);
            let sides = [from, to].map(|moment| side(options, &device, &names, moment));
            picture(&sides, true, sheet)
        }
        ([before, after], None) => {
            let load = |file: &PathBuf| {
                let subject = Subject::load(file, options.inputs.device)?;
                let device = main_device(&subject)?;
                let moment = device.moment(options.at.as_deref().unwrap_or("peak"))?;
                Ok(side(options, &device, &names(options, &subject), moment))
            };
            picture(&[load(before)?, load(after)?], false, sheet)
        }
        ([_, _], Some(_)) => Err(Failure::Usage(
            "two files are compared at one moment each: give --at instead of --range".to_owned(),
        )),
        _ => Err(Failure::Usage(
            "--view compare needs two files, or one file and two moments of it: --range start..peak"
                .to_owned(),
        )),
    }
}

fn names(options: &Options, subject: &Subject) -> ProfileNames {
    ProfileNames::of(subject, &groups(options))
}

fn side(options: &Options, device: &Device<'_>, names: &ProfileNames, moment: u32) -> Side {
    let profile_options = ProfileOptions {
        selection: Selection::LiveAt(moment),
        axis: match options.axis {
            Some(Axis::Time) => CurveAxis::Time,
            _ => CurveAxis::Events,
        },
        columns: COLUMNS,
    };
    Side {
        title: title(&device.subject.name),
        moment,
        profile: profile(**device, names, &profile_options),
    }
}

fn picture(sides: &[Side; 2], is_one_file: bool, sheet: &Sheet<'_>) -> Result<Vec<u8>, Failure> {
    let [before, after] = sides;
    let comparison = compare(&before.profile, &after.profile);
    let name = |letter: &str, side: &Side| {
        format!("{letter}: {}, device {}", side.title, side.profile.device)
    };
    let marks = |side: &Side, letter: &'static str| -> Vec<Mark<'static>> {
        let marks = side.profile.marks.iter();
        marks.map(|&at| Mark { at, letter }).collect()
    };
    let (first, second) = (name("A", before), name("B", after));
    let both = format!(
        "device {}: active memory, and reserved as a line",
        before.profile.device
    );
    let rows = if is_one_file {
        vec![Row {
            title: &both,
            curves: &before.profile.curves,
            marks: [marks(before, "A"), marks(after, "B")].concat(),
        }]
    } else {
        [(before, &first, "A"), (after, &second, "B")]
            .map(|(side, title, letter)| Row {
                title,
                curves: &side.profile.curves,
                marks: marks(side, letter),
            })
            .into()
    };
    let (old, new) = (before.profile.total, after.profile.total);
    let subtitle = format!(
        "A {} {} in {} allocations · B {} {} in {} · {}",
        moment_words(before.moment),
        Bytes(old.bytes),
        Count(old.count),
        moment_words(after.moment),
        Bytes(new.bytes),
        Count(new.count),
        display::bytes_change(old.bytes, new.bytes)
    );
    let title = if is_one_file {
        before.title.clone()
    } else {
        format!("{} → {}", before.title, after.title)
    };
    sheet.file(&Plot {
        title: &title,
        subtitle: &subtitle,
        note: "",
        legend: Legend {
            title: "",
            lines: &legend(sheet.theme),
        },
        content: ComparePlot {
            tree: &comparison.tree,
            rows: &rows,
            unit: ChangeUnit::Bytes,
        },
    })
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
