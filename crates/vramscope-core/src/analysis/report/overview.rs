//! What one wants to know of a device first: its peaks and what held them, where reserved memory is, what
//! was asked of CUDA, and what is wrong.

use serde::{Deserialize, Serialize};

use super::findings::{Finding, FindingTable, Material, findings, site_table};
use crate::Snapshot;
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::gap::{Arena, Gap, gap};
use crate::analysis::memory::releases::{Releases, releases};
use crate::analysis::memory::settings::AllocatorConfig;
use crate::analysis::recording::Device;
use crate::analysis::report::summary::Peak;
use crate::analysis::time::history::History;
use crate::analysis::time::lanes::Steps;
use crate::ids::EventId;
use crate::model::DeviceIndex;

/// Steps that are listed, the newest: more are not read, and growth is told by a finding.
const MOST_STEPS: usize = 200;

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
    /// What is known of a device's segments, judged at its peaks and at its end.
    #[must_use]
    pub fn of(device: Device<'_>) -> Self {
        let history = device.history;
        let moments = [
            history.peak_moment,
            reserved_peak(history),
            history.event_count,
        ];
        Self::judged_by(
            device,
            &moments.map(|moment| gap(&device.state_at(moment), None)),
        )
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
    pub fn judged_by(device: Device<'_>, gaps: &[Gap]) -> Self {
        if Self::are_made_up(device.snapshot()) {
            Self::MadeUp
        } else if gaps.iter().all(|gap| gap.reserved_bytes == 0) && !device.knows_segments() {
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
    /// Recorded events.
    pub events: u32,
    /// Whose allocations they are.
    pub allocator: AllocatorKind,
    /// The raw handles of all streams; a stream's number is its place.
    pub streams: Vec<i64>,
    /// When the recording begins, in µs since the Unix epoch; `None` without times.
    pub start_us: Option<i64>,
    /// The highest active memory.
    pub peak: Peak,
    /// Where reserved memory is: at the peak, when most was reserved, at the last failure if there is one, at
    /// the end.
    pub gaps: Vec<GapAt>,
    /// Whose the live memory was at its peak: the largest call sites, then the rest.
    pub peak_sites: FindingTable,
    /// What is known of segments.
    pub segments: SegmentsKnown,
    /// What was asked of CUDA and given back to it.
    pub releases: Releases,
    /// Requests that failed.
    pub ooms: u64,
    /// What was found: problems first, then by bytes.
    pub findings: Vec<Finding>,
    /// The newest of the program's steps, if it names any; at most 200.
    pub steps: Option<Steps>,
    /// Older steps that are not among those.
    pub steps_left_out: u64,
}

/// Reserved memory on occasions that fall together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bar {
    /// What is special about the moment.
    pub occasions: Vec<Occasion>,
    /// Where reserved memory is then.
    pub at: GapAt,
}

impl Overview {
    /// Where reserved memory is, occasions of the same moment together; empty where segments are not known.
    #[must_use]
    pub fn bars(&self) -> Vec<Bar> {
        let mut bars: Vec<Bar> = Vec::new();
        if matches!(self.segments, SegmentsKnown::None | SegmentsKnown::MadeUp) {
            return bars;
        }
        let split = |at: &GapAt| (at.gap.moment, at.gap.parts());
        for at in &self.gaps {
            // A failure counts what its own request could have used, which can be another split.
            match bars.iter_mut().find(|bar| split(&bar.at) == split(at)) {
                Some(bar) => bar.occasions.push(at.occasion),
                None => bars.push(Bar {
                    occasions: vec![at.occasion],
                    at: *at,
                }),
            }
        }
        bars
    }
}

/// The title of the table of call sites at the peak.
const PEAK_SITES: &str = "What held the peak, by call site";

/// One device at a glance; `limit`: call sites that are listed.
#[must_use]
pub fn overview(device: Device<'_>, limit: usize) -> Overview {
    let history = device.history;
    let gap_at = |moment, own| gap(&device.state_at(moment), own);
    let reserved_peak = reserved_peak(history);
    let at_peak = gap_at(history.peak_moment, None);
    let at_reserved_peak = gap_at(reserved_peak, None);
    let at_end = gap_at(history.event_count, None);
    let (ooms, last) = failures(device);
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
    let segments = SegmentsKnown::judged_by(device, &[at_peak, at_reserved_peak, at_end]);
    let releases = releases(device.snapshot(), history);
    let config = AllocatorConfig::of(device.snapshot());
    let live = live_at(history, history.peak_moment);
    let peak_sites = top_call_sites(history, device.site_of(), live, limit);
    let (steps, steps_left_out) = newest_steps(device);
    Overview {
        device: history.device,
        events: history.event_count,
        allocator: AllocatorKind::of(device.snapshot()),
        streams: device.recording.streams().to_vec(),
        start_us: value_at(&history.moment_start_us, 0),
        peak: Peak {
            active_bytes: device.peak_bytes(),
            moment: history.peak_moment,
            time_us: value_at(&history.moment_start_us, history.peak_moment),
            allocations: peak_sites.count,
        },
        gaps,
        peak_sites: site_table(PEAK_SITES, device.call_sites(), &peak_sites),
        steps,
        steps_left_out,
        ooms,
        segments,
        findings: findings(Material {
            device,
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

/// The newest steps, at most [`MOST_STEPS`], and the number of older ones.
fn newest_steps(device: Device<'_>) -> (Option<Steps>, u64) {
    let Some(all) = device.steps() else {
        return (None, 0);
    };
    let left_out = all.steps.len().saturating_sub(MOST_STEPS);
    let newest = Steps {
        by: all.by,
        pattern: all.pattern.clone(),
        steps: all.steps[left_out..].to_vec(),
    };
    (Some(newest), left_out as u64)
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
fn failures(device: Device<'_>) -> (u64, Option<(u32, Arena)>) {
    let (snapshot, history) = (device.snapshot(), device.history);
    let moments = device.failed_requests();
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
