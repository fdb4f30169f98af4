//! Summary of a file and its devices.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::pool_lines::{PoolLines, pool_lines};
use crate::Snapshot;
use crate::analysis::groups::live_at::live_at;
use crate::analysis::memory::allocator_state::StateSums;
use crate::analysis::memory::capture::Capture;
use crate::analysis::memory::final_state::segment_sums;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::time::history::{History, NEVER};
use crate::ids::EventId;
use crate::model::{Action, DeviceIndex, Producer, SegmentTable, Source, Warning};
use crate::sorting::SortFew;

/// A snapshot in figures. Sizes are in bytes, times in microseconds since the Unix epoch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The containers around the snapshot, and their sizes.
    pub source: Source,
    /// The program that wrote the file.
    pub producer: Producer,
    /// The metadata of a captured snapshot; `None` for others.
    pub capture: Option<Capture>,
    /// The devices, highest peak first.
    pub devices: Vec<DeviceSummary>,
    /// Pinned host memory; `None` if the file has none.
    pub host: Option<HostSummary>,
    /// Sizes of the tables.
    pub tables: TableSizes,
    /// `allocator_settings` of the file, unchanged.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// Irregularities of the file.
    pub warnings: Vec<Warning>,
}

/// One device in figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeviceSummary {
    /// Device index.
    pub device: DeviceIndex,
    /// Number of events.
    pub events: u64,
    /// Number of events by action, in the order of the allocator's own actions, unknown ones last. Only actions that
    /// occur.
    pub events_by_action: Vec<ActionCount>,
    /// Number of allocations, including those from before the recording.
    pub allocations: u64,
    /// Number of allocations from before the recording.
    pub allocations_before_recording: u64,
    /// Requested bytes of allocations from before the recording.
    pub bytes_before_recording: u64,
    /// Number of allocations live at the end.
    pub allocations_still_live: u64,
    /// The first and the last time of the trace; `None` if the file has no times.
    pub time_span: Option<TimeSpan>,
    /// The peak of active bytes.
    pub peak: Peak,
    /// Active bytes at the end of the trace.
    pub active_at_end_bytes: u64,
    /// The most reserved bytes; `None` if the file does not record them.
    pub reserved_max_bytes: Option<u64>,
    /// Reserved bytes at the end of the trace; `None` if the file does not record them.
    pub reserved_at_end_bytes: Option<u64>,
    /// The final state.
    pub state: StateSummary,
    /// Its memory pools. Empty before torch 2.1.
    pub pools: PoolLines,
    /// Number of failed requests; `None` if the file would not record one.
    pub ooms: Option<u64>,
}

/// Number of events with an action.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ActionCount {
    /// The action's word in the file.
    pub action: String,
    /// Number of events.
    pub count: u64,
}

/// A range of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimeSpan {
    /// Start, in µs since the Unix epoch.
    pub start_us: i64,
    /// End, in µs since the Unix epoch.
    pub end_us: i64,
}

/// The peak of active memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Peak {
    /// Active bytes.
    pub active_bytes: u64,
    /// The moment: the number of events before it.
    pub moment: u32,
    /// Time at which the moment begins, in µs since the Unix epoch; `None` if the file has no times.
    pub time_us: Option<i64>,
    /// Number of live allocations.
    pub allocations: u64,
}

/// The segments and blocks of the final state.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StateSummary {
    /// Number of segments.
    pub segments: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of all segments.
    pub reserved_bytes: u64,
    /// Bytes of allocated blocks.
    pub allocated_bytes: u64,
    /// Bytes of active blocks.
    pub active_bytes: u64,
    /// Requested bytes of active blocks.
    pub requested_bytes: u64,
    /// Bytes of free blocks.
    pub free_bytes: u64,
    /// Size of the largest free block: a larger request needs new memory from the device.
    pub largest_free_block_bytes: u64,
    /// Handles of the streams that have segments, in order of first appearance.
    pub streams: Vec<i64>,
}

/// Pinned host memory in figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostSummary {
    /// Number of events.
    pub events: u64,
    /// The final state.
    pub state: StateSummary,
}

/// Numbers of distinct items in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableSizes {
    /// Events of all devices and the host.
    pub events: u64,
    /// Distinct texts.
    pub strings: u64,
    /// Distinct frames.
    pub frames: u64,
    /// Distinct stacks that have frames.
    pub stacks: u64,
    /// Distinct streams.
    pub streams: u64,
    /// Number of starts and ends of annotations.
    pub annotations: u64,
}

/// Summarises a recording.
#[must_use]
pub fn summary(recording: &Recording) -> Summary {
    let snapshot = &recording.snapshot;
    let mut devices: Vec<_> = recording.devices().map(device_summary).collect();
    devices.sort_few_by_key(|device| (std::cmp::Reverse(device.peak.active_bytes), device.device));
    Summary {
        source: snapshot.source.clone(),
        producer: snapshot.producer.clone(),
        capture: Capture::of(snapshot),
        devices,
        host: host_summary(snapshot),
        tables: TableSizes {
            events: snapshot.events.len() as u64,
            strings: snapshot.strings.len() as u64,
            frames: snapshot.frames.len() as u64,
            // Row 0 is the empty stack.
            stacks: snapshot.stacks.len().saturating_sub(1) as u64,
            streams: recording.streams().handles().len() as u64,
            annotations: snapshot.annotations.rows.len() as u64,
        },
        settings: snapshot.settings.clone(),
        warnings: snapshot.warnings.list().to_vec(),
    }
}

/// Summarises pinned host memory; `None` if the file has neither events nor segments of it.
#[must_use]
pub fn host_summary(snapshot: &Snapshot) -> Option<HostSummary> {
    let trace = &snapshot.host_trace;
    let events = u64::from(trace.end.saturating_sub(trace.start));
    let segments = &snapshot.host_segments;
    (events > 0 || !segments.is_empty()).then(|| HostSummary {
        events,
        state: state_summary(snapshot, segments, None),
    })
}

/// Summarises a device.
#[must_use]
pub fn device_summary(device: Device<'_>) -> DeviceSummary {
    let (snapshot, history) = (device.snapshot(), device.history);
    let table = &history.allocations;
    let (allocations_before_recording, bytes_before_recording) = table.before_recording();
    let events_by_action = events_by_action(snapshot, history);
    let peak_moment = history.peak_moment;
    let times = &history.moment_start_us;
    DeviceSummary {
        device: history.device,
        events: u64::from(history.event_count),
        ooms: device.failures(),
        events_by_action,
        allocations: table.len() as u64,
        allocations_before_recording,
        bytes_before_recording,
        allocations_still_live: table.died.iter().filter(|&&died| died == NEVER).count() as u64,
        time_span: times
            .first()
            .zip(times.last())
            .map(|(start_us, end_us)| TimeSpan { start_us, end_us }),
        peak: Peak {
            active_bytes: history.active_bytes_at(peak_moment),
            moment: peak_moment,
            time_us: times.get(peak_moment),
            allocations: live_at(history, peak_moment).count() as u64,
        },
        active_at_end_bytes: history.active_bytes.last().copied().unwrap_or(0),
        reserved_max_bytes: device.peak_reserved_bytes(),
        reserved_at_end_bytes: device
            .is_reserved_known()
            .then(|| history.reserved_bytes(history.event_count)),
        state: state_summary(
            snapshot,
            &snapshot.segments,
            i32::try_from(history.device).ok(),
        ),
        pools: pool_lines(device),
    }
}

fn events_by_action(snapshot: &Snapshot, history: &History) -> Vec<ActionCount> {
    let mut counts: Vec<(Action, ActionCount)> = Vec::new();
    let rows = history.first_event..history.first_event.saturating_add(history.event_count);
    for event in rows.map(EventId) {
        let Some(&action) = snapshot.events.action.get(event.index()) else {
            break;
        };
        match counts.iter_mut().find(|(known, _)| *known == action) {
            Some((_, entry)) => entry.count += 1,
            None => {
                let name = snapshot.action_name(event).to_owned();
                counts.push((
                    action,
                    ActionCount {
                        action: name,
                        count: 1,
                    },
                ));
            }
        }
    }
    counts.sort_few_by_key(|&(action, _)| action);
    counts.into_iter().map(|(_, entry)| entry).collect()
}

/// A sum that cannot overflow, for sizes in damaged files.
pub(crate) fn saturating_sum(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// Sums over the segments of a device, or over the whole table with `None`.
fn state_summary(
    snapshot: &Snapshot,
    segments: &SegmentTable,
    device: Option<i32>,
) -> StateSummary {
    let (mut state, mut sums) = (StateSummary::default(), StateSums::default());
    let mut seen_streams = BTreeSet::new();
    for segment in segments
        .rows
        .iter()
        .filter(|segment| device.is_none_or(|device| segment.device == device))
    {
        sums.add(&segment_sums(snapshot, segment));
        if let Some(stream) = segment.stream
            && seen_streams.insert(stream)
        {
            state.streams.push(stream);
        }
    }
    state.segments = sums.segments;
    state.blocks = sums.allocated_blocks + sums.pending_blocks + sums.free_blocks;
    state.reserved_bytes = sums.reserved_bytes;
    state.allocated_bytes = sums.allocated_bytes;
    state.active_bytes = sums.active_bytes();
    state.requested_bytes = sums.requested_bytes;
    state.free_bytes = sums.free_bytes;
    state.largest_free_block_bytes = sums.largest_free_bytes;
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StackId;
    use crate::model::{Block, BlockState, PoolId, Segment};

    fn block(address: u64, size: u64, state: BlockState) -> Block {
        Block {
            address,
            size,
            requested_size: Some(size - 1),
            state,
            stack: StackId::ABSENT,
            forward_lines: None,
            history: None,
        }
    }

    #[test]
    fn final_state_adds_up() {
        let mut snapshot = Snapshot::default();
        snapshot.blocks.rows = vec![
            block(0, 512, BlockState::ActiveAllocated),
            block(512, 1024, BlockState::ActivePendingFree),
            block(1536, 2048, BlockState::Inactive),
        ];
        snapshot.segments.rows.push(Segment {
            device: 0,
            address: 0,
            total_size: 3584,
            allocated_size: None,
            active_size: None,
            requested_size: None,
            stream: Some(0),
            kind: None,
            pool: Some(PoolId(0, 0)),
            is_expandable: None,
            stack: StackId::ABSENT,
            blocks: 0..3,
        });
        let recording = Recording::of(snapshot);
        let state = device_summary(recording.device(0).unwrap()).state;
        assert_eq!(
            (
                state.reserved_bytes,
                state.allocated_bytes,
                state.active_bytes
            ),
            (3584, 512, 1536)
        );
        assert_eq!((state.requested_bytes, state.free_bytes), (1534, 2048));
        assert_eq!(
            (state.largest_free_block_bytes, state.segments, state.blocks),
            (2048, 1, 3)
        );
    }
}
