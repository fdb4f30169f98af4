//! What the overview and the facts ask: a device at a glance, and what the file is.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::capture::{AllocatorKind, Capture};
use vramscope_core::analysis::findings::{Evidence, Figure, FindingKind, Severity};
use vramscope_core::analysis::host::HostMemory;
use vramscope_core::analysis::lanes::StepsBy;
use vramscope_core::analysis::overview::{Occasion, SegmentsKnown};
use vramscope_core::analysis::releases::Releases;
use vramscope_core::analysis::selection::Moments;
use vramscope_core::analysis::settings::Setting;
use vramscope_core::analysis::summary::{ActionCount, StateSummary, TableSizes};
use vramscope_core::model::{DeviceIndex, Producer};

use crate::protocol::ThemeName;

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// A device at a glance.
    Device {
        /// Which.
        device: DeviceIndex,
        /// What call sites are coloured for.
        theme: ThemeName,
    },
    /// What the file is: settings, counts, pinned memory.
    File {
        /// What call sites are coloured for.
        theme: ThemeName,
    },
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A device at a glance.
    Device(Box<DeviceOverview>),
    /// What the file is.
    File(Box<FileDetails>),
}

/// A device at a glance.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceOverview {
    /// Which.
    pub device: DeviceIndex,
    /// Recorded events.
    pub events: u32,
    /// Whose allocations they are.
    pub allocator: AllocatorKind,
    /// What is known of its segments.
    pub segments: SegmentsKnown,
    /// Where reserved memory is: at the peak first, then when most was reserved, at the last failure, at the
    /// end; occasions of the same moment are one. Empty where there are no segments.
    pub bars: Vec<Bar>,
    /// The peak of active memory.
    pub peak: Peak,
    /// Whose that was: the largest, then the rest.
    pub peak_sites: Vec<Row>,
    /// What was asked of CUDA.
    pub releases: Releases,
    /// Requests that failed.
    pub ooms: u64,
    /// What was found.
    pub cards: Vec<Card>,
    /// The program's steps, if it names any.
    pub steps: Option<StepTable>,
}

/// The peak of active memory.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Peak {
    /// Requested bytes.
    pub bytes: u64,
    /// The moment.
    pub moment: u32,
    /// Since the first event.
    pub since_start_us: Option<i64>,
    /// Live allocations.
    pub allocations: u64,
}

/// A kind of reserved memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Requested and in use.
    InUse,
    /// Freed, but waiting for other streams.
    Pending,
    /// What blocks are larger than their requests.
    Rounding,
    /// Free in segments partly in use.
    Partly,
    /// Segments that are wholly free.
    Empty,
    /// Free in other pools.
    OtherPools,
    /// Free on other streams.
    OtherStreams,
}

/// A part of the reserved memory.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its bytes.
    pub bytes: u64,
    /// As a share of the longest bar, 0 to 1.
    pub share: f64,
}

/// Reserved memory at a moment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bar {
    /// What is special about the moment.
    pub occasions: Vec<Occasion>,
    /// The moment.
    pub moment: u32,
    /// Since the first event.
    pub since_start_us: Option<i64>,
    /// All that is reserved: the sum of the parts.
    pub reserved_bytes: u64,
    /// All that is requested and live.
    pub active_bytes: u64,
    /// Reserved, but not requested and live in it.
    pub gap_bytes: u64,
    /// That as a percentage of reserved.
    pub gap_percent: f64,
    /// All parts, also those of 0 bytes.
    pub parts: Vec<Part>,
    /// The largest free block that the busiest pool and stream (at a failure: the request's) can use.
    pub largest_free_bytes: u64,
    /// What is live outside of every segment.
    pub outside_bytes: u64,
    /// Whose free memory counts as usable, in words.
    pub own: String,
}

/// Bytes of a call site, or of something else.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What it is.
    pub label: String,
    /// Its colour, if it is a call site.
    pub rgb: Option<[u8; 3]>,
    /// Whether it is a call site that can be searched for.
    pub is_site: bool,
    /// Bytes.
    pub bytes: u64,
    /// How many.
    pub count: u64,
    /// As a share of the largest row, 0 to 1.
    pub share: f64,
    /// As a percentage of the whole; `None` where that means nothing.
    pub percent: Option<f64>,
    /// What else there is to say.
    pub remark: String,
}

/// Rows of a finding.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CardTable {
    /// What it lists.
    pub title: String,
    /// What its rows count.
    pub counted: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A finding as it is shown.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Card {
    /// What kind.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The bytes in question.
    pub bytes: u64,
    /// One line.
    pub title: String,
    /// What was seen.
    pub seen: String,
    /// The same in numbers.
    pub figures: Vec<Figure>,
    /// What that may mean.
    pub may_mean: String,
    /// What to try.
    pub to_try: Vec<String>,
    /// Whose the bytes are.
    pub tables: Vec<CardTable>,
    /// Where to look.
    pub evidence: Vec<Evidence>,
}

/// Steps as rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepTable {
    /// What told them.
    pub by: StepsBy,
    /// Their common name.
    pub pattern: String,
    /// The newest of them, oldest first.
    pub rows: Vec<StepRow>,
    /// Older ones that are not listed.
    pub left_out: u64,
}

/// One step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepRow {
    /// Its number.
    pub number: u64,
    /// Its moments.
    pub moments: Moments,
    /// How long it took; `None` without times.
    pub us: Option<i64>,
    /// Whether its beginning and end were recorded.
    pub is_whole: bool,
    /// Live when it began.
    pub before_bytes: u64,
    /// Live when it ended.
    pub after_bytes: u64,
    /// The most there were.
    pub peak_bytes: u64,
    /// When that was.
    pub peak_moment: u32,
    /// What it allocated.
    pub allocated_bytes: u64,
    /// In so many allocations.
    pub allocations: u32,
    /// Live when it ended, as a share of the highest peak of all rows, 0 to 1.
    pub after_share: f64,
    /// Its peak, likewise.
    pub peak_share: f64,
}

/// What a file is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FileDetails {
    /// What wrote it, and how that is known.
    pub producer: Producer,
    /// What a captured snapshot says of its capture.
    pub capture: Option<Capture>,
    /// How many distinct things it holds.
    pub tables: TableSizes,
    /// The allocator's settings.
    pub settings: Vec<Setting>,
    /// Per device what its trace and its final state count.
    pub devices: Vec<DeviceCounts>,
    /// Pinned host memory, if any was recorded.
    pub host: Option<HostDetails>,
}

/// What a device's trace and final state count.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Which.
    pub device: DeviceIndex,
    /// Events by action.
    pub actions: Vec<ActionCount>,
    /// The final state.
    pub state: StateSummary,
    /// Its pools in words.
    pub pools: Vec<String>,
}

/// Pinned host memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostDetails {
    /// In figures.
    pub memory: HostMemory,
    /// Who holds what at the end.
    pub sites: Vec<Row>,
}
