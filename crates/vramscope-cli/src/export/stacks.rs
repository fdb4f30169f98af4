//! Call paths of a device's allocations for flame graph programs: outermost frame first, without PyTorch's
//! and Python's internals, equal neighbours merged. Names are those of the other flame graphs.

use vramscope_core::analysis::code::call_sites::short_function;
use vramscope_core::analysis::code::call_tree::{Paths, StackSums, TreeOptions};
use vramscope_core::analysis::code::frame_groups::{
    Fold, FrameGroups, GroupId, GroupOptions, GroupTable,
};
use vramscope_core::analysis::code::frames::Location;
use vramscope_core::analysis::time::selection::{Selection, Weight};

use crate::failure::Failure;
use crate::hints::of_file;
use crate::subject::{Device, Subject};

/// A file's frames; frames on the same line of code count as one.
pub(super) struct Frames<'a> {
    subject: &'a Subject,
    pub(super) table: GroupTable,
    pub(super) groups: FrameGroups,
}

/// A frame for flame graph programs.
pub(super) struct NamedFrame<'a> {
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
        let snapshot = &subject.snapshot;
        let options = GroupOptions {
            fold: Fold::Runtime,
            ..GroupOptions::default()
        };
        let groups = FrameGroups::of(snapshot, subject.classes(), &options, &mut table);
        Self {
            subject,
            table,
            groups,
        }
    }

    pub(super) fn named(&self, group: GroupId) -> NamedFrame<'_> {
        let label = self.table.get(group).label.as_str();
        let snapshot = &self.subject.snapshot;
        let frame = self.groups.frame_of(group);
        match frame.map(|frame| Location::of(snapshot, snapshot.frames.get(frame))) {
            Some(location) => NamedFrame {
                label,
                function: short_function(location.function),
                file: location.file,
                line: location.line,
            },
            None => NamedFrame {
                label,
                function: label.to_owned(),
                file: "",
                line: 0,
            },
        }
    }

    /// The call paths of the allocations in `selection`.
    pub(super) fn paths(&self, device: &Device<'_>, selection: Selection, weight: Weight) -> Paths {
        let options = TreeOptions {
            selection,
            weight,
            only: None,
            matches: None,
        };
        let snapshot = &self.subject.snapshot;
        let sites = self.subject.call_sites();
        let sums = StackSums::of(snapshot, device.history, sites, &options);
        Paths::of(snapshot, &self.groups, &sums)
    }
}

/// The moment named by `at`, else the peak, and its name for titles.
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

/// The failure for a file without allocations to write.
pub(super) fn nothing(subject: &Subject) -> Failure {
    Failure::Input(format!(
        "{}: there are no allocations to convert. It has neither a trace nor blocks in use; {}",
        subject.name,
        of_file(&subject.snapshot).allocations
    ))
}
