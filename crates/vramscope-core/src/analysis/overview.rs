//! What one wants to know of a device first: its peaks and what held them, where reserved memory is, what
//! was asked of CUDA, and what is wrong.

use serde::{Deserialize, Serialize};

use super::allocator_state::{AllocatorIndex, Recording};
use super::call_sites::{CallSiteId, CallSites};
use super::findings::{Finding, Material, failed_requests, findings};
use super::gap::{Arena, Gap, gap};
use super::history::History;
use super::lanes::Steps;
use super::live_at::{TopSites, live_at, top_call_sites};
use super::releases::{Releases, releases};
use super::settings::AllocatorConfig;
use crate::Snapshot;
use crate::ids::EventId;
use crate::model::DeviceIndex;

/// Which moment of a recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// The first moment with the most live bytes.
    Peak,
    /// Of the moments with the most reserved bytes the first with the most live bytes.
    ReservedPeak,
    /// The last request that failed.
    OutOfMemory,
    /// After the last event.
    End,
}

/// What a file knows of a device's segments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentsKnown {
    /// They are those of the allocator.
    Real,
    /// They account for too little of what is live: of a damaged or altered file.
    Doubtful,
    /// `_profile_to_snapshot` made one up that spans all addresses.
    MadeUp,
    /// There are none.
    None,
}

impl SegmentsKnown {
    /// What is known of them in a recording, judged at its peaks and at its end.
    #[must_use]
    pub fn in_recording(recording: Recording<'_>, index: &AllocatorIndex) -> Self {
        let moments = [
            recording.history.peak_moment,
            reserved_peak(recording.history),
            recording.history.event_count,
        ];
        let gaps = moments.map(|moment| gap(&index.state_at(recording, moment), None));
        Self::of(recording, &gaps)
    }

    /// Why what is told of segments is doubtful or missing, as a sentence.
    #[must_use]
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Self::Real => None,
            Self::Doubtful => Some(
                "The segments of this file account for too little of what is live: read this with care.",
            ),
            Self::MadeUp => Some(
                "_profile_to_snapshot makes up one segment that spans all addresses: what was really reserved is not known.",
            ),
            Self::None => {
                Some("The file lists no segments: what was reserved from CUDA is not known.")
            }
        }
    }

    /// Whether the producer made them up.
    #[must_use]
    pub fn are_made_up(snapshot: &Snapshot) -> bool {
        snapshot.producer.name.starts_with("_profile_to_snapshot")
    }

    /// As the producer says, and as the segments at some moments suggest.
    #[must_use]
    pub fn of(recording: Recording<'_>, gaps: &[Gap]) -> Self {
        if Self::are_made_up(recording.snapshot) {
            Self::MadeUp
        } else if gaps.iter().all(|gap| gap.reserved_bytes == 0)
            && recording.history.most_reserved_bytes() == 0
        {
            Self::None
        } else if gaps.iter().all(Gap::is_trusted) {
            Self::Real
        } else {
            Self::Doubtful
        }
    }
}

/// Reserved memory on an occasion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GapAt {
    /// Which.
    pub occasion: Occasion,
    /// Where its reserved memory is.
    pub gap: Gap,
    /// Requested bytes of all live allocations then, pending frees included.
    pub active_bytes: u64,
    /// µs since the Unix epoch; `None` without times.
    pub time_us: Option<i64>,
}

/// One device at a glance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Overview {
    /// Which device.
    pub device: DeviceIndex,
    /// Where reserved memory is: at the peak, when most was reserved, at the last failure if there is one, at
    /// the end.
    pub gaps: Vec<GapAt>,
    /// Whose the live memory was at its peak.
    pub peak_sites: TopSites,
    /// What is known of segments.
    pub segments: SegmentsKnown,
    /// What was asked of CUDA and given back to it.
    pub releases: Releases,
    /// Requests that failed.
    pub ooms: u64,
    /// What was found: problems first, then by bytes.
    pub findings: Vec<Finding>,
}

/// What an overview is made of. All of the same device.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The recording.
    pub recording: Recording<'a>,
    /// The allocator at any moment.
    pub index: &'a AllocatorIndex,
    /// All call sites.
    pub sites: &'a CallSites,
    /// The site of each allocation.
    pub site_of: &'a [CallSiteId],
    /// The program's steps, if it names any.
    pub steps: Option<&'a Steps>,
}

/// One device at a glance; `limit`: call sites that are listed.
#[must_use]
pub fn overview(sources: Sources<'_>, limit: usize) -> Overview {
    let Sources {
        recording,
        index,
        sites,
        site_of,
        steps,
    } = sources;
    let history = recording.history;
    let gap_at = |moment, own| gap(&index.state_at(recording, moment), own);
    let reserved_peak = reserved_peak(history);
    let at_peak = gap_at(history.peak_moment, None);
    let at_reserved_peak = gap_at(reserved_peak, None);
    let at_end = gap_at(history.event_count, None);
    let (ooms, last) = failures(recording);
    let on = |occasion, gap: Gap| GapAt {
        occasion,
        gap,
        active_bytes: value_at(&history.active_bytes, gap.moment).unwrap_or(0),
        time_us: value_at(&history.moment_start_us, gap.moment),
    };
    let mut gaps = vec![
        on(Occasion::Peak, at_peak),
        on(Occasion::ReservedPeak, at_reserved_peak),
    ];
    gaps.extend(last.map(|(moment, arena)| on(Occasion::OutOfMemory, gap_at(moment, Some(arena)))));
    gaps.push(on(Occasion::End, at_end));
    let segments = SegmentsKnown::of(recording, &[at_peak, at_reserved_peak, at_end]);
    let releases = releases(recording.snapshot, history);
    let config = AllocatorConfig::of(recording.snapshot);
    let live = live_at(history, history.peak_moment);
    Overview {
        device: history.device,
        gaps,
        peak_sites: top_call_sites(history, site_of, live, limit),
        ooms,
        segments,
        findings: findings(Material {
            recording,
            index,
            sites,
            site_of,
            steps,
            releases: &releases,
            config: &config,
            has_segments: segments == SegmentsKnown::Real,
            at_peak: &at_peak,
            at_reserved_peak: &at_reserved_peak,
            at_end: &at_end,
        }),
        releases,
    }
}

fn value_at<T: Copy>(values: &[T], moment: u32) -> Option<T> {
    values.get(moment as usize).copied()
}

/// Of the moments at which the most is reserved the first with the most live bytes: what is idle even then was
/// not reserved for what was needed.
#[must_use]
pub fn reserved_peak(history: &History) -> u32 {
    let steps = &history.reserved_steps;
    let most = history.most_reserved_bytes();
    let mut best = (0, 0);
    for (place, &(from, bytes)) in steps.iter().enumerate() {
        if bytes != most {
            continue;
        }
        let next = steps.get(place + 1).map(|&(next, _)| next as usize);
        let end = next.unwrap_or(history.active_bytes.len());
        let during = history.active_bytes.get(from as usize..end).unwrap_or(&[]);
        for (moment, &active) in (from..).zip(during) {
            if active > best.1 || best == (0, 0) {
                best = (moment, active);
            }
        }
    }
    best.0
}

/// How many requests failed; the moment that begins with the last, and its arena.
fn failures(recording: Recording<'_>) -> (u64, Option<(u32, Arena)>) {
    let (snapshot, history) = (recording.snapshot, recording.history);
    let moments = failed_requests(snapshot, history);
    let last = moments.last().map(|&moment| {
        let event = snapshot
            .events
            .get(EventId(history.first_event + moment - 1));
        let context = snapshot.contexts.get(event.context);
        let pool = context.pool.unwrap_or_default();
        (
            moment,
            Arena {
                pool,
                stream: context.stream,
            },
        )
    });
    (moments.len() as u64, last)
}
