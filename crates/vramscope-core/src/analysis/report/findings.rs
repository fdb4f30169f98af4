//! Findings about a device: problems, and what is worth knowing. Each says what was found, what it may mean, what to
//! try, and where the evidence is.
//!
//! A finding relies only on recorded data. Anything that a recording cannot show (why the program keeps memory, what
//! else is on the device) is offered as a possibility or left out. Gaps of the recording itself are
//! [`facts`](super::facts).

mod cached;
mod captured;
mod failed_request;
mod fragmentation;
mod growth;
mod held_output;
mod never_freed;
mod odd_device;
mod origin;
mod out_of_memory;
mod pending;
pub(super) mod pools;
mod program_changes;
mod retries;
mod rounding;
mod setting;
mod steady;
mod streams;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::groups::live_at::TopSites;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::gap::Gap;
use crate::analysis::memory::releases::Releases;
use crate::analysis::memory::settings::AllocatorConfig;
use crate::analysis::properties::Property;
use crate::analysis::recording::Device;
use crate::analysis::report::device_words;
use crate::analysis::search::filter::{Filter, rows};
use crate::analysis::time::selection::{Moments, Selection};
use crate::listed::listed;
use crate::sorting::SortFew;
use crate::units::Bytes;

pub use super::verdicts::Verdict;
pub use failed_request::{
    Explained, FailedRequest, FreePlace, RequestFigure, WaitedBlock, addresses, sentences,
};
pub use origin::origin;
pub use program_changes::helpful;
pub use words::{counted, free_on_device};

/// The setting that lets segments grow.
const EXPANDABLE: &str = "expandable_segments:True";
/// Findings about fewer bytes are left out.
pub const SMALLEST_BYTES: u64 = 16 << 20;
/// Maximum number of call sites or pools in a table.
const ROWS: usize = 10;

listed! {
    /// How important a finding is. Overviews of ranks store its index.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        /// Something failed, or is going to fail.
        Problem,
        /// Memory is wasted.
        Warning,
        /// Good to know.
        Note,
    }
}

listed! {
    /// The kind of a finding. Overviews of ranks store its index, so new kinds come last.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FindingKind {
        /// A request failed.
        OutOfMemory,
        /// Active memory grows from step to step.
        Growth,
        /// Active memory does not grow from step to step, or not steadily.
        NoGrowth,
        /// Free memory is scattered between active blocks.
        Fragmentation,
        /// Memory allocated during the steps was not freed.
        NeverFreed,
        /// Frees are pending: other streams may still use the memory.
        PendingFree,
        /// Private pools, of CUDA graphs or of the user, hold memory.
        PrivatePools,
        /// Free memory is on streams other than the one with the most memory.
        OtherStreams,
        /// Blocks are larger than their requests.
        Rounding,
        /// Segments are completely free.
        Cached,
        /// Cached segments had to be released to serve a request.
        Retries,
        /// A setting seems to have no effect.
        Setting,
        /// The conclusion from replays with other allocator settings.
        Replay,
        /// Records of a capture were dropped.
        RecordsLost,
        /// Others use much of the device.
        OtherMemory,
        /// Changes of the program that would lower the peak.
        ProgramChanges,
        /// Segments are given back to the device and requested again, many times.
        Churn,
        /// One device holds far more than the others.
        OddDevice,
        /// The output of the previous iteration is still held while the next one is made.
        HeldOutput,
    }
}

/// The kind of evidence. A front end chooses the view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceOf {
    /// Active memory over time.
    LiveMemory,
    /// Segments over time.
    Segments,
    /// Addresses over time.
    Addresses,
    /// The allocator's segments and blocks at a moment.
    AllocatorState,
    /// Call stacks of allocations.
    CallStacks,
    /// Allocations, one by one.
    Allocations,
    /// The file's settings and facts.
    FileFacts,
    /// Replays with other settings of the allocator.
    Replays,
}

/// A link to evidence: a view with a moment, a range, or a set of allocations.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// What it shows, in a few words.
    pub label: String,
    /// The kind of evidence.
    pub of: EvidenceOf,
    /// The moment for the cursor; `None` to leave the cursor.
    pub moment: Option<u32>,
    /// The range to select; `None` to keep the selection.
    pub range: Option<Moments>,
    /// The allocations to sum; `None` to keep the choice.
    pub selection: Option<Selection>,
    /// The text of a filter; `None` to keep the filter.
    pub filter: Option<String>,
    /// The allocator's settings to replay with, in the syntax of `PYTORCH_CUDA_ALLOC_CONF`; `None` to keep them.
    pub settings: Option<String>,
    /// The environment variable that sets them, for copying.
    pub variable: Option<String>,
}

impl Evidence {
    fn new(label: impl Into<String>, of: EvidenceOf) -> Self {
        Self {
            label: label.into(),
            of,
            moment: None,
            range: None,
            selection: None,
            filter: None,
            settings: None,
            variable: None,
        }
    }

    /// The replay with changed allocator settings; empty for the recorded ones.
    #[must_use]
    pub fn replay(changes: impl Into<String>, variable: Option<String>) -> Self {
        Self {
            settings: Some(changes.into()),
            variable,
            ..Self::new("the replay", EvidenceOf::Replays)
        }
    }

    /// Reserved memory in the replay with changed settings, drawn over the recorded one.
    #[must_use]
    pub fn replay_over_time(changes: impl Into<String>) -> Self {
        Self {
            settings: Some(changes.into()),
            ..Self::new("reserved memory in the replay", EvidenceOf::LiveMemory)
        }
    }

    /// The allocator's state at a moment.
    fn state(moment: u32) -> Self {
        Self {
            moment: Some(moment),
            ..Self::new("segments and blocks then", EvidenceOf::AllocatorState)
        }
    }

    /// The call stacks of the memory live at a moment.
    fn live_at(moment: u32) -> Self {
        Self {
            moment: Some(moment),
            selection: Some(Selection::LiveAt(moment)),
            ..Self::new("stacks of what was live", EvidenceOf::CallStacks)
        }
    }

    fn moment(label: impl Into<String>, of: EvidenceOf, moment: u32) -> Self {
        Self {
            moment: Some(moment),
            ..Self::new(label, of)
        }
    }

    fn range(label: impl Into<String>, of: EvidenceOf, range: Moments) -> Self {
        Self {
            range: Some(range),
            ..Self::new(label, of)
        }
    }

    fn with_selection(self, selection: Selection) -> Self {
        Self {
            selection: Some(selection),
            ..self
        }
    }

    fn with_filter(self, filter: impl Into<String>) -> Self {
        Self {
            filter: Some(filter.into()),
            ..self
        }
    }
}

/// A row of a finding's table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FindingRow {
    /// Its label: a call site, a pool and stream, or the rest.
    pub label: String,
    /// The call site; `None` if the row is something else.
    pub site: Option<CallSiteId>,
    /// Its bytes.
    pub bytes: u64,
    /// The number of [`FindingTable::counted`].
    pub count: u64,
    /// A remark; may be empty.
    pub remark: String,
}

impl FindingRow {
    /// The filter that matches the allocations of the row's call site; `None` for other rows.
    #[must_use]
    pub fn filter(&self) -> Option<Filter> {
        let site = self.site.filter(|&site| site != CallSiteId::NONE);
        site.map(|_| rows::of_name(Property::CallSite, &self.label))
    }
}

/// A finding's bytes, split by call site or pool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FindingTable {
    /// Its title.
    pub title: String,
    /// The noun for what rows count, such as `allocations`.
    pub counted: String,
    /// The rows, largest first. The last one may be the rest.
    pub rows: Vec<FindingRow>,
}

/// One number of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// Its label.
    pub label: String,
    /// Its value in bytes.
    pub bytes: u64,
}

/// An allocator setting that a finding advises.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SettingAdvice {
    /// The advice, in sentences.
    pub advice: String,
    /// The result of a replay with it; `None` without a replay.
    pub replayed: Option<Replayed>,
}

impl SettingAdvice {
    /// The advice to let segments grow, unless the program does so already; `why` ends the sentence.
    fn expandable(config: &AllocatorConfig, why: &str) -> Option<Self> {
        let is_off = config.expandable_segments != Some(true);
        is_off.then(|| Self {
            advice: format!("PYTORCH_CUDA_ALLOC_CONF={EXPANDABLE}{why}"),
            replayed: None,
        })
    }
}

/// The result of a replay with another setting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Replayed {
    /// The setting, in the syntax of `PYTORCH_CUDA_ALLOC_CONF`.
    pub changes: String,
    /// Whether the failed request is served.
    pub serves: bool,
    /// Most reserved bytes, according to the model.
    pub reserved_bytes: u64,
    /// Most reserved bytes in reality.
    pub measured_bytes: u64,
    /// The possible error of the model in bytes.
    pub error_bytes: u64,
}

impl Replayed {
    /// Whether it lets segments grow, with or without other settings.
    pub(super) fn is_expandable(&self) -> bool {
        self.changes.split(',').any(|setting| setting == EXPANDABLE)
    }

    /// The result, as an addition to a verdict.
    #[must_use]
    pub fn words(&self) -> String {
        self.told("about")
    }

    /// The result, as a title.
    #[must_use]
    pub fn title(&self) -> String {
        self.told("About")
    }

    fn told(&self, about: &str) -> String {
        let (changes, would) = (&self.changes, Bytes(self.reserved_bytes));
        let measured = Bytes(self.measured_bytes);
        match (self.serves, self.error_bytes) {
            (true, _) => format!("{changes} serves it"),
            (_, 0) => format!("{would} would be reserved with {changes}, not {measured}"),
            (_, error) => format!(
                "{about} {would} (± {}) would be reserved with {changes}, not {measured}",
                Bytes(error)
            ),
        }
    }
}

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// How important it is.
    pub severity: Severity,
    /// The bytes in question.
    pub bytes: u64,
    /// One line.
    pub title: String,
    /// What was found, in figures only.
    pub seen: String,
    /// The figures in `seen` as a list, if there are many; may be empty.
    pub figures: Vec<Figure>,
    /// What it may mean.
    pub may_mean: String,
    /// An allocator setting to try first.
    pub setting: Option<SettingAdvice>,
    /// Further advice, a sentence each.
    #[serde(rename = "try")]
    pub to_try: Vec<String>,
    /// Tables that split its bytes.
    pub tables: Vec<FindingTable>,
    /// Links to the evidence.
    pub evidence: Vec<Evidence>,
}

impl Finding {
    /// A finding with only a title.
    #[must_use]
    pub fn new(kind: FindingKind, severity: Severity, bytes: u64, title: String) -> Self {
        Self {
            kind,
            severity,
            bytes,
            title,
            seen: String::new(),
            figures: Vec::new(),
            may_mean: String::new(),
            setting: None,
            to_try: Vec::new(),
            tables: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// Whether it is that a replay with other settings serves a request that failed.
    #[must_use]
    pub fn serves(&self) -> bool {
        let replayed = self.setting.as_ref().and_then(|it| it.replayed.as_ref());
        replayed.is_some_and(|replayed| replayed.serves)
    }

    /// All advice, the setting first.
    pub fn advice(&self) -> impl Iterator<Item = &str> {
        let setting = self.setting.iter().map(|setting| &setting.advice);
        setting.chain(&self.to_try).map(String::as_str)
    }
}

/// A device, with results that several findings need.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The device.
    pub device: Device<'a>,
    /// Segments that were released to CUDA.
    pub releases: &'a Releases,
    /// The allocator's settings.
    pub config: &'a AllocatorConfig,
    /// Whether the file's segments are real; see [`SegmentsKnown`](super::overview::SegmentsKnown).
    pub has_segments: bool,
    /// Reserved memory at the peak of active memory.
    pub at_peak: &'a Gap,
    /// Reserved memory at the peak of reserved memory.
    pub at_reserved_peak: &'a Gap,
    /// Reserved memory at the end.
    pub at_end: &'a Gap,
}

/// All findings about a device, sorted by severity, then by bytes.
#[must_use]
pub fn findings(material: Material<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let is_torch = material.config.allocator == AllocatorKind::Torch;
    found.extend(out_of_memory::find(material));
    // If frees may be missing, everything seems to stay.
    let knows_frees = !material.device.snapshot().warnings.hide_frees();
    let pending = is_torch.then(|| pending::find(material)).flatten();
    // The program does not hold memory that waits to be freed.
    let waits = |growth: &Finding| {
        let waiting = pending.as_ref().map_or(0, |pending| pending.bytes);
        waiting > growth.bytes / 2
    };
    let growth = knows_frees.then(|| growth::find(material)).flatten();
    let growth = growth.filter(|growth| !waits(growth));
    // Growth is reported only once.
    let grown = growth.iter().flat_map(|growth| &growth.tables);
    let grown = grown.flat_map(|table| table.rows.iter().filter_map(|row| row.site));
    let grown: Vec<_> = grown.collect();
    let unfreed = knows_frees
        .then(|| never_freed::find(material, &grown))
        .flatten();
    let is_kept = growth.is_some() || unfreed.iter().any(|found| found.severity != Severity::Note);
    if !is_kept && knows_frees {
        found.extend(steady::find(material));
    }
    found.extend(growth.into_iter().chain(unfreed));
    found.extend(captured::find(material));
    found.extend(program_changes::find(material));
    found.extend(odd_device::find(material));
    found.extend(held_output::find(material));
    if material.has_segments {
        found.extend(fragmentation::find(material));
        found.extend(pools::find(material));
        found.extend(rounding::find(material));
        found.extend(cached::find(material));
    }
    // The driver releases memory by itself, shares it between streams, and has none of these settings.
    if is_torch {
        found.extend(pending);
        found.extend(retries::find(material));
        found.extend(retries::find_churn(material));
        found.extend(setting::find(material));
        if material.has_segments {
            found.extend(streams::find(material));
        }
    }
    found.sort_few_by_key(|finding| {
        (
            finding.severity,
            std::cmp::Reverse(finding.bytes),
            finding.kind,
        )
    });
    let device = material.device;
    device_words::of_findings(device.snapshot(), device.index(), &mut found);
    found
}

/// Replaces "nothing found" for a damaged file.
pub const NOT_TOLD: &str =
    "The file is damaged or contradicts itself: it cannot show what is wrong.";

/// Whether there is no finding about a problem or an improvement. For a damaged file this means nothing: [`NOT_TOLD`].
#[must_use]
pub fn is_calm(findings: &[Finding]) -> bool {
    findings
        .iter()
        .all(|finding| finding.kind == FindingKind::NoGrowth)
}

/// Whether `bytes` are enough for a finding, and at least `percent` of `whole`.
fn is_notable(bytes: u64, percent: u64, whole: u64) -> bool {
    bytes >= SMALLEST_BYTES && is_share(bytes, percent, whole)
}

/// Whether `bytes` are at least `percent` of `whole`.
fn is_share(bytes: u64, percent: u64, whole: u64) -> bool {
    u128::from(bytes) * 100 >= u128::from(whole) * u128::from(percent)
}

/// A table of the call sites with the most bytes, with the rest as the last row.
#[must_use]
pub fn site_table(title: impl Into<String>, top: &TopSites) -> FindingTable {
    let mut rows: Vec<_> = top
        .sites
        .iter()
        .map(|total| FindingRow {
            label: total.label.clone(),
            site: Some(total.site),
            bytes: total.bytes,
            count: total.count,
            remark: total.operators.clone(),
        })
        .collect();
    if top.other_sites > 0 {
        rows.push(FindingRow {
            label: words::counted(top.other_sites, "further call site"),
            site: None,
            bytes: top.other_bytes,
            count: top.other_count,
            remark: String::new(),
        });
    }
    FindingTable {
        title: title.into(),
        counted: "allocations".to_owned(),
        rows,
    }
}
