//! Folded stacks: a line `outermost;...;innermost 4096` per call path, as flamegraph.pl, inferno, speedscope and
//! others read them. With several devices, the outermost frame is the device.

use std::io::Write;

use vramscope_core::analysis::code::call_tree::{CallTree, folded};
use vramscope_core::analysis::time::selection::Selection;

use super::stacks::{Frames, moment, nothing};
use super::{Asked, failed};
use crate::failure::Failure;
use crate::subject::Subject;

/// Writes one line per call path live at the moment.
///
/// # Errors
/// When there is no such moment, or nothing is live.
pub(super) fn write(subject: &Subject, asked: &Asked, out: &mut dyn Write) -> Result<(), Failure> {
    let frames = Frames::of(subject);
    let names_devices = subject.devices().count() > 1;
    let mut is_empty = true;
    for device in subject.devices() {
        let (moment, _) = moment(&device, asked.at.as_deref())?;
        let paths = frames.paths(&device, Selection::LiveAt(moment), asked.weight());
        let text = folded(&CallTree::top_down(&paths), &frames.table);
        let text = text.ok_or_else(|| {
            Failure::Input(format!(
                "{}: its stacks make more than 64 MiB of text; convert with --to speedscope or pprof",
                subject.name
            ))
        })?;
        for line in text.split_inclusive('\n') {
            is_empty = false;
            if names_devices {
                write!(out, "device {};", device.index()).map_err(failed)?;
            }
            out.write_all(line.as_bytes()).map_err(failed)?;
        }
    }
    if is_empty {
        Err(nothing(subject))
    } else {
        Ok(())
    }
}
