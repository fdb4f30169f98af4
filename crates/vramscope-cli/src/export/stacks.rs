//! Call paths of a device's allocations, as flame graph programs want them: outermost frame first, without
//! PyTorch's and Python's machinery, equal neighbours once. Names are those of all flame graphs here.

use vramscope_core::analysis::call_sites::short_function;
use vramscope_core::analysis::call_tree::{Paths, StackSums, TreeOptions};
use vramscope_core::analysis::frame_groups::{FrameGroups, GroupId, GroupOptions, GroupTable};
use vramscope_core::analysis::frames::Location;
use vramscope_core::analysis::selection::{Selection, Weight};
use vramscope_core::ids::FrameId;

use crate::failure::Failure;
use crate::hints::hints;
use crate::subject::{Device, Subject};

/// The frames of a file, those that are the same line of code as one.
pub(super) struct Frames<'a> {
    subject: &'a Subject,
    pub(super) table: GroupTable,
    pub(super) groups: FrameGroups,
    /// Group → the first of its frames.
    frame_of: Vec<Option<FrameId>>,
}

/// A frame as flame graph programs show it.
pub(super) struct Shown<'a> {
    /// `models/llama.py:123 forward`.
    pub(super) label: &'a str,
    /// `forward`.
    pub(super) function: String,
    /// The whole path, empty when unknown.
    pub(super) file: &'a str,
    /// From 1; 0 = unknown.
    pub(super) line: u32,
}

impl<'a> Frames<'a> {
    pub(super) fn of(subject: &'a Subject) -> Self {
        let mut table = GroupTable::default();
        let (snapshot, options) = (&subject.snapshot, GroupOptions::default());
        let groups = FrameGroups::of(snapshot, &subject.classes, &options, &mut table);
        let mut frame_of = vec![None; table.groups().len()];
        for frame in (0..snapshot.frames.len()).map(FrameId::from_index) {
            if let Some(group) = groups.get(frame) {
                frame_of[group.index()].get_or_insert(frame);
            }
        }
        Self {
            subject,
            table,
            groups,
            frame_of,
        }
    }

    pub(super) fn shown(&self, group: GroupId) -> Shown<'_> {
        let label = self.table.get(group).label.as_str();
        let snapshot = &self.subject.snapshot;
        let frame = self.frame_of.get(group.index()).copied().flatten();
        match frame.map(|frame| Location::of(snapshot, snapshot.frames.get(frame))) {
            Some(location) => Shown {
                label,
                function: short_function(location.function),
                file: location.file,
                line: location.line,
            },
            None => Shown {
                label,
                function: label.to_owned(),
                file: "",
                line: 0,
            },
        }
    }

    /// The paths of what `selection` holds.
    pub(super) fn paths(&self, device: &Device<'_>, selection: Selection, weight: Weight) -> Paths {
        let options = TreeOptions {
            selection,
            weight,
            only: None,
            matches: None,
        };
        let snapshot = &self.subject.snapshot;
        let sums = StackSums::of(snapshot, device.history, &self.subject.sites, &options);
        Paths::of(snapshot, &self.groups, &sums)
    }
}

/// The moment that is asked about: `at`, else the peak, and what to call it.
pub(super) fn moment(device: &Device<'_>, at: Option<&str>) -> Result<(u32, String), Failure> {
    let moment = match at {
        None => device.history.peak_moment,
        Some(at) => device.moment(at)?,
    };
    let name = match at {
        None => format!("live at the peak (after event {moment})"),
        Some(at) => format!("live at {at} (after event {moment})"),
    };
    Ok((moment, name))
}

/// Where there is nothing to write, there is no file to write.
pub(super) fn nothing(subject: &Subject) -> Failure {
    Failure::Input(format!(
        "{}: there are no allocations to convert. It has neither a trace nor blocks in use; {}",
        subject.name,
        hints(&subject.snapshot).allocations
    ))
}
