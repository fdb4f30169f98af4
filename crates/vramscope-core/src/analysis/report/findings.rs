//! What is wrong, or worth knowing, in words: each finding says what was seen, then what it may mean, then
//! what to try, and where the evidence is.
//!
//! A finding is only made of what the recording shows. What cannot be told from it (why the program holds
//! memory, what else is on the device) is offered as a possibility or left out; gaps of the recording itself
//! are [`facts`](super::facts), not findings.

mod cached;
mod captured;
mod failed_request;
mod fragmentation;
mod growth;
mod never_freed;
mod out_of_memory;
mod pending;
mod pools;
mod retries;
mod rounding;
mod setting;
mod streams;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

use crate::analysis::code::call_sites::{CallSiteId, CallSites};
use crate::analysis::groups::live_at::TopSites;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::gap::Gap;
use crate::analysis::memory::releases::Releases;
use crate::analysis::memory::settings::AllocatorConfig;
use crate::analysis::recording::Device;
use crate::analysis::search::filter::{Filter, rows};
use crate::analysis::time::selection::{Moments, Selection};

pub use failed_request::{FailedRequest, FreePlace, Verdict};
pub use words::{counted, numbered_stream};
pub use words::{place_label, sized_place_label};

/// Less is never worth a finding that could as well be chance.
const SMALLEST_BYTES: u64 = 16 << 20;
/// Call sites and places that a finding lists.
const ROWS: usize = 10;

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something failed, or will.
    Problem,
    /// Memory is lost that need not be.
    Warning,
    /// Good to know.
    Note,
}

/// What kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A request failed.
    OutOfMemory,
    /// Live memory grows from step to step.
    Growth,
    /// Free memory lies in pieces between memory in use.
    Fragmentation,
    /// Memory allocated during the steps was not freed.
    NeverFreed,
    /// Frees wait for other streams.
    PendingFree,
    /// Pools of graphs or of the user hold memory.
    PrivatePools,
    /// Free memory lies on streams other than the busiest.
    OtherStreams,
    /// Blocks are larger than what was requested.
    Rounding,
    /// Segments are wholly free.
    Cached,
    /// Cached segments had to be given back to serve a request.
    Retries,
    /// A setting does not do what it seems to.
    Setting,
    /// Records of a capture were lost.
    RecordsLost,
    /// Others hold much of the device.
    OtherMemory,
}

/// What a piece of evidence is of: whoever shows it knows where.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceOf {
    /// Live memory over time.
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
}

/// Where to look: a moment, a range or a set of allocations, and what to see there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// What is to be seen there, in a few words.
    pub label: String,
    /// What is to be seen.
    pub of: EvidenceOf,
    /// The moment to put the cursor at.
    pub moment: Option<u32>,
    /// The moments to go to.
    pub range: Option<Moments>,
    /// Which allocations to count.
    pub selection: Option<Selection>,
    /// The text of a filter.
    pub filter: Option<String>,
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
        }
    }

    /// The allocator's state at a moment.
    fn state(moment: u32) -> Self {
        Self {
            moment: Some(moment),
            ..Self::new("segments and blocks then", EvidenceOf::AllocatorState)
        }
    }

    /// Whose memory was live at a moment.
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
    /// What it is about: a call site, a pool and stream, the rest.
    pub label: String,
    /// The call site, if it is one.
    pub site: Option<CallSiteId>,
    /// Bytes.
    pub bytes: u64,
    /// Allocations or blocks.
    pub count: u64,
    /// What else there is to say; often empty.
    pub remark: String,
}

impl FindingRow {
    /// The filter that finds the allocations of the row's call site, if it is one.
    #[must_use]
    pub fn filter(&self) -> Option<Filter> {
        let site = self.site.filter(|&site| site != CallSiteId::NONE);
        site.map(|_| rows::of_call_site(&self.label))
    }
}

/// Who or what the bytes of a finding belong to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FindingTable {
    /// What it lists.
    pub title: String,
    /// What its rows count, e.g. `allocations`.
    pub counted: String,
    /// The largest first; the last one may be the rest.
    pub rows: Vec<FindingRow>,
}

/// One number of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// Bytes.
    pub bytes: u64,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What kind.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The bytes in question.
    pub bytes: u64,
    /// One line.
    pub title: String,
    /// What was seen: figures, no guesses.
    pub seen: String,
    /// The same in numbers, where there are many.
    pub figures: Vec<Figure>,
    /// What that may mean.
    pub may_mean: String,
    /// What to try.
    #[serde(rename = "try")]
    pub to_try: Vec<String>,
    /// Whose the bytes are.
    pub tables: Vec<FindingTable>,
    /// Where to look.
    pub evidence: Vec<Evidence>,
}

/// A device, and what its overview has already found out about it.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The device.
    pub device: Device<'a>,
    /// What was given back to CUDA.
    pub releases: &'a Releases,
    /// The settings.
    pub config: &'a AllocatorConfig,
    /// Whether the file's segments are the allocator's.
    pub has_segments: bool,
    /// Reserved memory at the peak of what is live.
    pub at_peak: &'a Gap,
    /// At the peak of what is reserved.
    pub at_reserved_peak: &'a Gap,
    /// At the end.
    pub at_end: &'a Gap,
}

/// Everything found about one device: problems first, then by bytes.
#[must_use]
pub fn findings(material: Material<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let is_torch = material.config.allocator == AllocatorKind::Torch;
    found.extend(out_of_memory::find(material));
    found.extend(growth::find(material));
    found.extend(never_freed::find(material));
    found.extend(captured::find(material));
    if material.has_segments {
        found.extend(fragmentation::find(material));
        found.extend(pools::find(material));
        found.extend(rounding::find(material));
        found.extend(cached::find(material));
    }
    // The driver gives memory back at once, lets all streams use it, and has none of these settings.
    if is_torch {
        found.extend(pending::find(material));
        found.extend(retries::find(material));
        found.extend(setting::find(material));
        if material.has_segments {
            found.extend(streams::find(material));
        }
    }
    found.sort_by_key(|finding| {
        (
            finding.severity,
            std::cmp::Reverse(finding.bytes),
            finding.kind,
        )
    });
    found
}

/// Whether `bytes` are enough to speak of, and at least `percent` of `whole`.
fn is_notable(bytes: u64, percent: u64, whole: u64) -> bool {
    bytes >= SMALLEST_BYTES && is_share(bytes, percent, whole)
}

/// Whether `bytes` are at least `percent` of `whole`.
fn is_share(bytes: u64, percent: u64, whole: u64) -> bool {
    u128::from(bytes) * 100 >= u128::from(whole) * u128::from(percent)
}

/// A table of the call sites with the most bytes, and the rest.
#[must_use]
pub fn site_table(title: impl Into<String>, sites: &CallSites, top: &TopSites) -> FindingTable {
    let mut rows: Vec<_> = top
        .sites
        .iter()
        .map(|total| FindingRow {
            label: sites.get(total.site).label.clone(),
            site: Some(total.site),
            bytes: total.bytes,
            count: total.count,
            remark: String::new(),
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
