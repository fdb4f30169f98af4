//! One file and what is worked out about it once, however many questions are asked.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;

use vramscope_core::Snapshot;
use vramscope_core::analysis::allocator_state::{AllocatorIndex, Recording};
use vramscope_core::analysis::annotations::{NamedRange, named_ranges};
use vramscope_core::analysis::call_sites::{CallSiteId, CallSites};
use vramscope_core::analysis::details::stream_numbers;
use vramscope_core::analysis::frames::FrameClasses;
use vramscope_core::analysis::grouping::{GroupColumn, Source, stream_labels};
use vramscope_core::analysis::history::History;
use vramscope_core::analysis::lanes::{LaneRange, Lanes, Steps, steps};
use vramscope_core::analysis::moment_name::{self, Clock};
use vramscope_core::analysis::range_totals::RangeSums;
use vramscope_core::analysis::replay::Replay;
use vramscope_core::analysis::selection::Moments;
use vramscope_core::model::DeviceIndex;

use crate::arguments::Grouping;
use crate::failure::Failure;
use crate::input::{Loaded, load};
use crate::report::Part;

/// A decoded file with the histories of its devices.
pub(crate) struct Subject {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) snapshot: Snapshot,
    pub(crate) classes: FrameClasses,
    pub(crate) sites: CallSites,
    /// All raw stream handles; a stream's number is its place.
    pub(crate) streams: Vec<i64>,
    pub(crate) ranges: Vec<NamedRange>,
    stream_numbers: HashMap<i64, usize>,
    stream_labels: Vec<String>,
    histories: Vec<History>,
    device: Option<DeviceIndex>,
}

impl Subject {
    /// Reads a file. With `device`, [`Self::devices`] has only that one.
    ///
    /// # Errors
    /// When the file cannot be read, is no snapshot or lacks the device.
    pub(crate) fn load(path: &Path, device: Option<DeviceIndex>) -> Result<Self, Failure> {
        Self::of(load(path)?, device)
    }

    /// The same of what has been read.
    ///
    /// # Errors
    /// When it lacks the device.
    pub(crate) fn of(loaded: Loaded, device: Option<DeviceIndex>) -> Result<Self, Failure> {
        let Loaded {
            name,
            snapshot,
            histories,
        } = loaded;
        if let Some(wanted) = device
            && !histories.iter().any(|history| history.device == wanted)
        {
            let known: Vec<_> = histories
                .iter()
                .map(|history| history.device.to_string())
                .collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return Err(Failure::Input(format!(
                "{name}: there is no device {wanted} in this file; it has {known}"
            )));
        }
        let classes = FrameClasses::of(&snapshot);
        let sites = CallSites::of(&snapshot, &classes, &histories);
        let streams = stream_numbers(&snapshot);
        Ok(Self {
            stream_numbers: streams.iter().copied().zip(0..).collect(),
            stream_labels: stream_labels(&streams),
            streams,
            ranges: named_ranges(&snapshot),
            classes,
            sites,
            name,
            snapshot,
            histories,
            device,
        })
    }

    /// The histories of all devices, also of those that were not asked for.
    pub(crate) fn histories(&self) -> &[History] {
        &self.histories
    }

    /// The number of a stream of the file.
    pub(crate) fn stream_number(&self, stream: i64) -> Option<usize> {
        self.stream_numbers.get(&stream).copied()
    }

    /// What a stream of the file is called: `default stream`, `stream 1 (0x7f…)`.
    pub(crate) fn stream_label(&self, stream: i64) -> Option<&str> {
        let number = self.stream_number(stream)?;
        self.stream_labels.get(number).map(String::as_str)
    }

    /// The same; one that the file does not list counts as the default stream.
    pub(crate) fn stream_label_or_default(&self, stream: i64) -> String {
        let label = self.stream_label(stream).or_else(|| self.stream_label(0));
        label.unwrap_or_default().to_owned()
    }

    /// Of the devices that were asked for the one with the highest peak, the first of equals.
    pub(crate) fn main_device(&self) -> Option<Device<'_>> {
        self.devices()
            .max_by_key(|device| (device.peak_bytes(), std::cmp::Reverse(device.index())))
    }

    /// One part per device that was asked for. A device that lacks what is asked for says so in a note, unless
    /// all of them do.
    ///
    /// # Errors
    /// The first device's, when there is an answer for none, or it is of no use to ask the others.
    pub(crate) fn each_device(
        &self,
        part: impl Fn(&Device<'_>) -> Result<Part, Failure>,
    ) -> Result<Vec<Part>, Failure> {
        let answers: Vec<_> = self
            .devices()
            .map(|device| (device.index(), part(&device)))
            .collect();
        if answers.is_empty() {
            let nothing =
                "The file holds no segment and no event: there is nothing to say of any device.";
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

    /// The devices that were asked for.
    pub(crate) fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        let wanted = self.histories.iter();
        wanted
            .filter(|history| self.device.is_none_or(|device| device == history.device))
            .map(|history| Device::new(self, history))
    }
}

/// One device of a file. What is costly is made when first asked for.
pub(crate) struct Device<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) history: &'a History,
    site_of: OnceCell<Vec<CallSiteId>>,
    lanes: OnceCell<Lanes>,
    sums: OnceCell<RangeSums>,
    steps: OnceCell<Option<Steps>>,
    replay: OnceCell<Replay>,
    allocator: OnceCell<AllocatorIndex>,
}

impl<'a> Device<'a> {
    fn new(subject: &'a Subject, history: &'a History) -> Self {
        Self {
            subject,
            history,
            site_of: OnceCell::new(),
            lanes: OnceCell::new(),
            sums: OnceCell::new(),
            steps: OnceCell::new(),
            replay: OnceCell::new(),
            allocator: OnceCell::new(),
        }
    }

    /// The most bytes that were ever live.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.history.active_bytes_at(self.history.peak_moment)
    }

    pub(crate) fn index(&self) -> DeviceIndex {
        self.history.device
    }

    /// The states of segments and allocations.
    pub(crate) fn replay(&self) -> &Replay {
        self.replay
            .get_or_init(|| Replay::of(&self.subject.snapshot, self.history))
    }

    pub(crate) fn recording(&self) -> Recording<'_> {
        Recording {
            snapshot: &self.subject.snapshot,
            history: self.history,
            replay: self.replay(),
        }
    }

    /// The call site of each allocation.
    pub(crate) fn site_of(&self) -> &[CallSiteId] {
        self.site_of.get_or_init(|| {
            self.subject
                .sites
                .of_allocations(&self.subject.snapshot, self.history)
        })
    }

    pub(crate) fn lanes(&self) -> &Lanes {
        self.lanes
            .get_or_init(|| Lanes::of(&self.subject.snapshot, self.history))
    }

    pub(crate) fn sums(&self) -> &RangeSums {
        self.sums.get_or_init(|| RangeSums::of(self.history))
    }

    /// The program's steps, if it names any.
    pub(crate) fn steps(&self) -> Option<&Steps> {
        let made = || {
            steps(
                &self.subject.snapshot,
                self.history,
                self.lanes(),
                self.sums(),
            )
        };
        self.steps.get_or_init(made).as_ref()
    }

    /// The allocator at any moment.
    pub(crate) fn allocator(&self) -> &AllocatorIndex {
        self.allocator
            .get_or_init(|| AllocatorIndex::of(self.recording()))
    }

    /// Each allocation's group.
    pub(crate) fn groups(&self, grouping: Grouping) -> GroupColumn {
        let source = Source {
            snapshot: &self.subject.snapshot,
            history: self.history,
            classes: &self.subject.classes,
            sites: &self.subject.sites,
            site_of: self.site_of(),
            lanes: self.lanes(),
        };
        GroupColumn::of(
            source,
            grouping.group_by.group_by(),
            usize::from(grouping.depth),
        )
    }

    /// The annotated ranges of a name; see [`moment_name`].
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn ranges_called(&self, text: &str) -> Result<Vec<LaneRange>, Failure> {
        moment_name::ranges(text, self.clock()).map_err(|error| self.named(&error))
    }

    /// When a moment begins, in µs since the Unix epoch, and since the first event.
    pub(crate) fn time(&self, moment: u32) -> Option<(i64, i64)> {
        let times = &self.history.moment_start_us;
        let (&first, &at) = (times.first()?, times.get(moment as usize)?);
        Some((at, at.saturating_sub(first)))
    }

    fn clock(&self) -> Clock<'_> {
        Clock {
            snapshot: &self.subject.snapshot,
            history: self.history,
            lanes: self.lanes(),
            sums: self.sums(),
        }
    }

    /// A moment as the user named it; see [`moment_name`].
    ///
    /// # Errors
    /// When there is no such moment.
    pub(crate) fn moment(&self, text: &str) -> Result<u32, Failure> {
        moment_name::moment(text, self.clock()).map_err(|error| self.named(&error))
    }

    /// A range of moments as the user named it; see [`moment_name`].
    ///
    /// # Errors
    /// When there is no such range.
    pub(crate) fn range(&self, text: &str) -> Result<Moments, Failure> {
        moment_name::range(text, self.clock()).map_err(|error| self.named(&error))
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
