//! The picture of two files, or of two moments of one file.

use std::path::PathBuf;

use vramscope_core::analysis::code::frame_groups::GroupOptions;
use vramscope_core::analysis::compare::changes::compare;
use vramscope_core::analysis::compare::side::{Profile, ProfileNames, profile};
use vramscope_core::analysis::time::curves::{CurveAxis, Curves};
use vramscope_core::analysis::time::selection::Selection;
use vramscope_view::axes::XUnit;
use vramscope_view::change_flame::{ChangeUnit, FlameWidth};
use vramscope_view::plot::views::{CompareView, ComparedSide, Format, Sheet};
use vramscope_view::stacked_curves::COLUMNS;

use super::{Options, main_device, title, written};
use crate::failure::Failure;
use crate::subject::{Device, Subject};

/// One side: its recording, and the live memory at its moment.
struct Side {
    file: String,
    events: u32,
    selection: Selection,
    profile: Profile,
}

/// Draws the comparison. Fails unless there are exactly two sides.
pub(super) fn draw(
    options: &Options,
    files: &[PathBuf],
    sheet: &Sheet,
    format: Format,
) -> Result<Vec<u8>, Failure> {
    let (sides, is_one_recording) = sides(options, files)?;
    let [before, after] = &sides;
    let comparison = compare(&before.profile, &after.profile);
    let view = CompareView {
        sides: [before, after].map(|side| ComparedSide {
            file: &side.file,
            device_name: &side.profile.device_name,
            events: side.events,
            selection: side.selection,
            total: side.profile.total,
            curves: &side.profile.curves,
            marks: &side.profile.marks,
        }),
        is_one_recording,
        tree: &comparison.tree,
        width: FlameWidth::Either,
        unit: ChangeUnit::Bytes,
        focus: 0,
    };
    written(view.file(sheet, format))
}

/// Both sides, and whether they are of the same recording.
fn sides(options: &Options, files: &[PathBuf]) -> Result<([Side; 2], bool), Failure> {
    match (files, &options.range) {
        ([file], Some(range)) => {
            let subject = Subject::load(file, options.inputs.device)?;
            let device = main_device(&subject)?;
            let (from, to) = device.range(range)?;
            let names = names(options, &subject);
            let sides = [from, to].map(|moment| side(options, &device, &names, moment));
            Ok((sides, true))
        }
        ([before, after], None) => {
            let load = |file: &PathBuf| {
                let subject = Subject::load(file, options.inputs.device)?;
                let device = main_device(&subject)?;
                let moment = device.moment(options.at.as_deref().unwrap_or("peak"))?;
                Ok(side(options, &device, &names(options, &subject), moment))
            };
            Ok(([load(before)?, load(after)?], false))
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
    let groups = GroupOptions {
        grouping: options.group_by.unwrap_or_default().grouping(),
        fold: options.fold.unwrap_or_default().fold(),
        ..GroupOptions::default()
    };
    ProfileNames::of(subject, &groups)
}

fn side(options: &Options, device: &Device<'_>, names: &ProfileNames, moment: u32) -> Side {
    let selection = Selection::LiveAt(moment);
    let axis = match options.axis.unwrap_or_default().unit() {
        XUnit::Time => CurveAxis::Time,
        XUnit::Events => CurveAxis::Events,
    };
    let curves = Curves::of(device.history, axis, COLUMNS);
    Side {
        file: title(&device.subject.name),
        events: device.history.event_count,
        selection,
        profile: profile(**device, names, selection, curves),
    }
}
