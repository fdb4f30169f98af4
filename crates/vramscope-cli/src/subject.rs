//! One file under its name, and the requested devices.

use std::borrow::Cow;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use vramscope_core::Snapshot;
use vramscope_core::analysis::code::call_sites::label;
use vramscope_core::analysis::code::frames::Location;
use vramscope_core::analysis::groups::grouping::GroupColumn;
use vramscope_core::analysis::recording::{self, Recording};
use vramscope_core::analysis::search::filter::Filter;
use vramscope_core::analysis::search::moment_name;
use vramscope_core::analysis::time::lanes::LaneRange;
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::ids::StackId;
use vramscope_core::model::DeviceIndex;

use crate::arguments::Grouping;
use crate::failure::Failure;
use crate::input::{display_name, read_silently, tell_damage};
use crate::report::{Damage, Lines, Part};

/// A file that a command is about.
pub(crate) struct Subject {
    /// The file as the user named it.
    pub(crate) name: String,
    pub(crate) recording: Arc<Recording>,
    device: Option<DeviceIndex>,
}

impl Deref for Subject {
    type Target = Recording;

    fn deref(&self) -> &Recording {
        &self.recording
    }
}

impl Subject {
    /// Reads a file, and prints its damage to standard error. With `device`, [`Self::devices`] has only that one.
    ///
    /// # Errors
    /// When the file cannot be read, is not a snapshot or lacks the device.
    pub(crate) fn load(path: &Path, device: Option<DeviceIndex>) -> Result<Self, Failure> {
        let name = display_name(path);
        let recording = Recording::of(read_silently(path)?);
        tell_damage(&name, &recording.snapshot.warnings);
        Self::about(name, recording, device)
    }

    /// Like [`Self::load`] without printing, for a snapshot that was read from the file `name`.
    pub(crate) fn of(
        name: String,
        snapshot: Snapshot,
        device: Option<DeviceIndex>,
    ) -> Result<Self, Failure> {
        Self::about(name, Recording::of(snapshot), device)
    }

    fn about(
        name: String,
        recording: Recording,
        device: Option<DeviceIndex>,
    ) -> Result<Self, Failure> {
        let whole = Self {
            name,
            recording: Arc::new(recording),
            device: None,
        };
        whole.narrowed(device)
    }

    /// The same snapshot; with `device`, [`Self::devices`] has only that one.
    ///
    /// # Errors
    /// When the snapshot lacks the device.
    pub(crate) fn narrowed(&self, device: Option<DeviceIndex>) -> Result<Self, Failure> {
        if let Some(wanted) = device
            && self.recording.device(wanted).is_none()
        {
            let known: Vec<_> = self
                .recording
                .devices()
                .map(|device| device.index().to_string())
                .collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return Err(Failure::Input(format!(
                "{}: there is no device {wanted} in this file; it has {known}",
                self.name
            )));
        }
        Ok(Self {
            name: self.name.clone(),
            recording: Arc::clone(&self.recording),
            device,
        })
    }

    /// The main device alone, narrowed to the memory pools that a filter names; `None` if it names none.
    pub(crate) fn within_pools(&self, filter: &Filter) -> Option<Self> {
        let pool = filter.pool()?;
        Some(Self {
            name: self.name.clone(),
            recording: Arc::new(self.recording.within_pools(|id| pool.matches(id))),
            device: self.main_device().map(|device| device.index()),
        })
    }

    /// What is damaged in the file.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        Damage::of(&self.name, self.snapshot.warnings.damage())
    }

    /// The requested device with the highest peak; the first among equals. Host memory comes last.
    pub(crate) fn main_device(&self) -> Option<Device<'_>> {
        self.devices().max_by_key(|device| weight(**device))
    }

    /// The device with the highest peak in the file, the first among equals. The page shows it first.
    pub(crate) fn first_device(&self) -> Option<DeviceIndex> {
        let devices = self.recording.devices();
        let first = devices.max_by_key(|device| weight(*device));
        first.map(recording::Device::index)
    }

    /// Collects one part per requested device. A device that lacks the data says so in a note, unless all of them lack
    /// it.
    ///
    /// # Errors
    /// The first device's failure, when no device has an answer or the failure is the same for all.
    pub(crate) fn each_device(
        &self,
        part: impl Fn(&Device<'_>) -> Result<Part, Failure>,
    ) -> Result<Vec<Part>, Failure> {
        let answers: Vec<_> = self
            .devices()
            .map(|device| (device.index(), part(&device)))
            .collect();
        if answers.is_empty() {
            let nothing = "The file holds no segment and no event, so there is nothing to report.";
            return Ok(vec![Part {
                file: self.name.clone(),
                notes: vec![nothing.to_owned()],
                ..Part::default()
            }]);
        }
        let has_any = answers.iter().any(|(_, answer)| answer.is_ok());
        let answers = answers.into_iter().map(|(device, answer)| match answer {
            Err(Failure::Input(why)) if has_any => {
                let mut part = Part::of(&self.name, device);
                let place = format!("{}, device {device}: ", self.name);
                part.notes
                    .push(why.strip_prefix(&place).unwrap_or(&why).to_owned());
                Ok(part)
            }
            answer => answer,
        });
        answers.collect()
    }

    pub(crate) fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        let devices = self.recording.devices();
        let wanted =
            devices.filter(|known| self.device.is_none_or(|device| device == known.index()));
        wanted.map(|device| Device {
            subject: self,
            device,
        })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Device<'a> {
    pub(crate) subject: &'a Subject,
    device: recording::Device<'a>,
}

/// The order of devices: any GPU before the host, then by peak, then by number.
fn weight(device: recording::Device<'_>) -> (bool, u64, std::cmp::Reverse<DeviceIndex>) {
    let index = device.index();
    let is_gpu = !device.snapshot().is_host(index);
    (is_gpu, device.peak_bytes(), std::cmp::Reverse(index))
}

impl<'a> Deref for Device<'a> {
    type Target = recording::Device<'a>;

    fn deref(&self) -> &recording::Device<'a> {
        &self.device
    }
}

impl Device<'_> {
    /// The group of each allocation.
    pub(crate) fn groups(&self, grouping: Grouping) -> GroupColumn {
        GroupColumn::of(self.device, grouping.group_by, usize::from(grouping.depth))
    }

    /// The annotated ranges with this name; see [`moment_name`]. Fails if there are none.
    pub(crate) fn ranges_called(&self, text: &str) -> Result<Vec<LaneRange>, Failure> {
        moment_name::ranges(text, self.device).map_err(|error| self.named(&error))
    }

    /// Finds the moment that the user named; see [`moment_name`].
    pub(crate) fn moment(&self, text: &str) -> Result<u32, Failure> {
        moment_name::moment(text, self.device).map_err(|error| self.named(&error))
    }

    /// Finds the range of moments that the user named; see [`moment_name`].
    pub(crate) fn range(&self, text: &str) -> Result<Moments, Failure> {
        moment_name::range(text, self.device).map_err(|error| self.named(&error))
    }

    fn named(&self, error: &moment_name::MomentError) -> Failure {
        let text = format!("{}, device {}: {error}", self.subject.name, self.index());
        if error.is_usage() {
            Failure::Usage(text)
        } else {
            Failure::Input(text)
        }
    }
}

/// A stack of a file as lines, innermost frame first.
pub(crate) struct Stack {
    pub(crate) subject: Arc<Subject>,
    pub(crate) id: StackId,
}

impl Lines for Stack {
    fn lines(&self) -> Box<dyn Iterator<Item = Cow<'_, str>> + '_> {
        let snapshot = &self.subject.snapshot;
        let frames = snapshot.stacks.frames(self.id);
        let place = |frame| label(&Location::of(snapshot, snapshot.frames.get(frame)));
        Box::new(frames.map(move |frame| place(frame).into()))
    }
}
