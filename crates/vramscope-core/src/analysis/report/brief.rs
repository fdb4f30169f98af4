//! A device in brief: what failed or peaked, the class of its cause, the code that it comes from, and what the file
//! cannot tell. It is the overview, put in order for those who read one answer.

use serde::{Deserialize, Serialize};

use super::causes::Cause;
use super::facts::{FactKind, FactLevel, facts};
use super::findings::{FailedRequest, FindingTable, free_on_device, helpful, site_table};
use super::overview::Overview;
use super::program_changes::ProgramChange;
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::recording::Device;
use crate::model::DeviceIndex;
use crate::units::Bytes;

/// Most call sites that are listed.
const SITES: usize = 10;

/// A request that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// How many requests failed; this is the last of them.
    pub failures: u64,
    /// The moment after it.
    pub moment: u32,
    /// Its size as the allocator aligns it.
    pub requested_bytes: u64,
    /// What the device reported free; `None` if unknown.
    pub device_free_bytes: Option<u64>,
    /// What the allocator held, and how much of that could have served the request; `None` if the file does not tell.
    pub reserved_bytes: Option<u64>,
    /// See `reserved_bytes`.
    pub usable_bytes: Option<u64>,
    /// Capacity of the device; `None` if unknown.
    pub device_bytes: Option<u64>,
    /// Its pool and stream.
    pub place: String,
    /// The call site of the request.
    pub call_site: String,
    /// Why it failed, in a few words.
    pub why: String,
}

/// A change of the program that would have needed less.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Bytes saved at the moment in question, about.
    pub saved_bytes: u64,
    /// What to change.
    pub title: String,
}

/// A device in brief.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Brief {
    /// The device.
    pub device: DeviceIndex,
    /// Its name: `GPU 0`, or what else it is.
    pub device_name: String,
    /// The last request that failed.
    pub failed: Option<Failed>,
    /// Whether the file has more than the final state, which else stands for the peak.
    pub has_trace: bool,
    /// Whether the file would tell of a request that failed.
    pub tells_failures: bool,
    /// Most bytes that were active at once.
    pub peak_bytes: u64,
    /// The moment of the peak.
    pub peak_moment: u32,
    /// What the peak is made of, in a sentence; `None` if roles are unknown.
    pub made_of: Option<String>,
    /// The overview's verdict.
    pub verdict: String,
    /// The causes, the one that matters first. Empty if nothing was live.
    pub causes: Vec<Cause>,
    /// The call sites with the most live memory when the request failed, or else at the peak.
    pub sites: FindingTable,
    /// Number of call sites in all.
    pub site_count: u64,
    /// Changes of the program that would have needed less, the best first.
    pub changes: Vec<Change>,
    /// What the file cannot tell, and how to record it.
    pub unknown: Vec<String>,
}

impl Brief {
    /// The brief of a device, from its overview.
    #[must_use]
    pub fn of(device: Device<'_>, overview: &Overview) -> Self {
        let history = device.history;
        let failure = FailedRequest::last(device, &overview.releases, overview.segments);
        let moment = failure.as_ref().map_or(history.peak_moment, |it| it.moment);
        let top = top_call_sites(device, live_at(history, moment), SITES);
        let site_count = top.sites.len() as u64 + top.other_sites;
        let changes = helpful(
            device,
            moment_of_interest(device, failure.as_ref()),
            failure.is_none(),
        );
        Self {
            device: device.index(),
            device_name: device.snapshot().device_name(device.index()),
            has_trace: overview.has_trace,
            tells_failures: device.tells_failures(),
            peak_bytes: overview.peak.active_bytes,
            peak_moment: overview.peak.moment,
            made_of: overview.roles.sentence(),
            verdict: overview.verdict(),
            causes: overview.causes.clone(),
            sites: site_table("", &top),
            site_count,
            changes: changes.into_iter().map(change).collect(),
            unknown: unknown(device),
            failed: failure.map(|failure| failed(device, &failure)),
        }
    }

    /// What happened and why, in two sentences.
    #[must_use]
    pub fn answer(&self) -> String {
        let happened = match &self.failed {
            Some(failed) => format!(
                "{} ran out of memory: {} requested, {}.",
                self.device_name,
                Bytes(failed.requested_bytes),
                free_on_device(failed.device_free_bytes)
            ),
            None if !self.has_trace => format!(
                "{} holds {} in the state that was dumped; the file tells of nothing before.",
                self.device_name,
                Bytes(self.peak_bytes)
            ),
            None if !self.tells_failures => format!(
                "{} peaks at {}; the file does not tell whether a request failed.",
                self.device_name,
                Bytes(self.peak_bytes)
            ),
            None => format!(
                "{} peaks at {}; no request failed.",
                self.device_name,
                Bytes(self.peak_bytes)
            ),
        };
        format!("{happened} {}", self.verdict)
    }
}

fn moment_of_interest(device: Device<'_>, failure: Option<&FailedRequest>) -> u32 {
    failure.map_or(device.history.event_count, |failure| failure.moment)
}

fn change((saved_bytes, change): (u64, ProgramChange)) -> Change {
    Change {
        saved_bytes,
        title: change.title,
    }
}

fn failed(device: Device<'_>, failure: &FailedRequest) -> Failed {
    let sites = device.call_sites();
    let known = |bytes| failure.has_state.then_some(bytes);
    Failed {
        failures: device.failed_requests().len() as u64,
        moment: failure.moment,
        requested_bytes: failure.requested_bytes,
        device_free_bytes: failure.device_free_bytes,
        reserved_bytes: known(failure.gap.reserved_bytes),
        usable_bytes: known(failure.own_free_bytes),
        device_bytes: failure.device_bytes,
        place: device.recording.place_label(failure.arena),
        call_site: sites.get(sites.of_stack(failure.stack)).label.clone(),
        why: failure.verdict().words().to_owned(),
    }
}

/// What the file lacks.
fn unknown(device: Device<'_>) -> Vec<String> {
    let facts = facts(device.recording).into_iter();
    let gaps = facts.filter(|fact| {
        let is_gap = fact.level == FactLevel::Gap || fact.kind == FactKind::DryRun;
        is_gap && fact.device.is_none_or(|of| of == device.index())
    });
    gaps.map(|fact| {
        format!("{} {} {}", fact.text, fact.meaning, fact.advice)
            .trim()
            .to_owned()
    })
    .collect()
}
