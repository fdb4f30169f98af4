//! Marks on the axis: failures, snapshots, annotated tensors, and memory obtained from the device or given back.
//!
//! A viewport can contain a million of them. So each kind is a column of moments with running sums, and two bisections
//! give the number and bytes of the marks between two moments. No mark is left out; marks at the same place are counted
//! together.

use super::history::History;
use crate::Snapshot;
use crate::ids::EventId;
use crate::model::{Action, PoolId};
use serde::{Deserialize, Serialize};

/// The kind of a mark.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    /// An allocation failed for good. Bytes: the rounded request.
    Oom,
    /// A snapshot was taken. Bytes: active on the device.
    Snapshot,
    /// A text was attached to an allocation. Bytes: the event's size.
    Annotate,
    /// `cudaMalloc` returned a segment. Bytes: its size.
    SegmentAlloc,
    /// Memory was mapped into an expandable segment. Bytes: its size.
    SegmentMap,
    /// `cudaFree` gave a segment back. Bytes: its size.
    SegmentFree,
    /// Memory was unmapped from an expandable segment. Bytes: its size.
    SegmentUnmap,
}

impl MarkerKind {
    /// All kinds, the most important first.
    pub const ALL: [Self; 7] = [
        Self::Oom,
        Self::Snapshot,
        Self::Annotate,
        Self::SegmentAlloc,
        Self::SegmentMap,
        Self::SegmentFree,
        Self::SegmentUnmap,
    ];

    /// The kind of an action; `None` for allocs, frees and unknown actions.
    #[must_use]
    pub fn of(action: Action) -> Option<Self> {
        match action {
            Action::Oom => Some(Self::Oom),
            Action::Snapshot => Some(Self::Snapshot),
            Action::Annotate => Some(Self::Annotate),
            Action::SegmentAlloc => Some(Self::SegmentAlloc),
            Action::SegmentMap => Some(Self::SegmentMap),
            Action::SegmentFree => Some(Self::SegmentFree),
            Action::SegmentUnmap => Some(Self::SegmentUnmap),
            Action::Alloc | Action::FreeRequested | Action::FreeCompleted | Action::Other(_) => {
                None
            }
        }
    }
}

/// All marks of one kind, in order of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkerColumn {
    /// The moment that begins with each mark, ascending.
    pub moments: Vec<u32>,
    /// By mark: bytes of all earlier marks, saturating. Has one entry more than `moments`.
    bytes_before: Vec<u64>,
}

impl MarkerColumn {
    /// Number of marks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.moments.len()
    }

    /// Whether there are no marks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moments.is_empty()
    }

    /// Bytes of the marks `from..to`, counted from the first mark of the column.
    #[must_use]
    pub fn bytes(&self, from: usize, to: usize) -> u64 {
        let before = |place: usize| self.bytes_before.get(place).copied().unwrap_or(0);
        before(to).saturating_sub(before(from))
    }

    fn push(&mut self, moment: u32, bytes: u64) {
        let sum = match self.bytes_before.last() {
            Some(sum) => *sum,
            None => {
                self.bytes_before.push(0);
                0
            }
        };
        self.moments.push(moment);
        self.bytes_before.push(sum.saturating_add(bytes));
    }
}

/// All marks of one device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Markers {
    columns: [MarkerColumn; MarkerKind::ALL.len()],
}

impl Markers {
    /// The marks of `history`'s device; one pass over its events.
    #[must_use]
    pub fn of(snapshot: &Snapshot, history: &History) -> Self {
        let mut markers = Self::default();
        let first = history.first_event as usize;
        let rows = first..first.saturating_add(history.event_count as usize);
        let actions = snapshot.events.action.get(rows.clone()).unwrap_or(&[]);
        let sizes = snapshot.events.size.get(rows).unwrap_or(&[]);
        for ((moment, &action), &bytes) in (1..).zip(actions).zip(sizes) {
            if let Some(kind) = MarkerKind::of(action) {
                markers.columns[kind as usize].push(moment, bytes);
            }
        }
        markers
    }

    /// These marks, with those of failures and snapshots, which concern the device itself, from `whole`.
    #[must_use]
    pub(crate) fn on_device(mut self, whole: &Self) -> Self {
        for kind in [MarkerKind::Oom, MarkerKind::Snapshot] {
            self.columns[kind as usize].clone_from(whole.column(kind));
        }
        self
    }

    /// The marks of one kind.
    #[must_use]
    pub fn column(&self, kind: MarkerKind) -> &MarkerColumn {
        &self.columns[kind as usize]
    }
}

/// One mark with all its properties.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Marker {
    /// The kind of a mark.
    pub kind: MarkerKind,
    /// The moment that begins with it.
    pub moment: u32,
    /// See [`MarkerKind`].
    pub bytes: u64,
    /// Start address; meaningless for an OOM.
    pub address: u64,
    /// For an OOM, the bytes that the device reported free, if known.
    pub device_free_bytes: Option<u64>,
    /// µs since the Unix epoch; `None` without times.
    pub time_us: Option<i64>,
    /// The stream's handle.
    pub stream: i64,
    /// The stream's name; see [`Streams`](crate::model::Streams).
    pub stream_name: String,
    /// The pool, if the event names one.
    pub pool: Option<PoolId>,
    /// The attached text; empty for all kinds but [`MarkerKind::Annotate`].
    pub text: String,
}

/// The mark that begins a moment, if any.
#[must_use]
pub fn marker(snapshot: &Snapshot, history: &History, moment: u32) -> Option<Marker> {
    if !(1..=history.event_count).contains(&moment) {
        return None;
    }
    let id = EventId(history.first_event.checked_add(moment - 1)?);
    let kind = MarkerKind::of(*snapshot.events.action.get(id.index())?)?;
    let event = snapshot.events.get(id);
    let context = snapshot.contexts.get(event.context);
    let text = context
        .user_metadata
        .filter(|_| kind == MarkerKind::Annotate);
    Some(Marker {
        kind,
        moment,
        bytes: event.size,
        address: event.addr,
        device_free_bytes: event.device_free_bytes(),
        time_us: history.moment_start_us.get(moment),
        stream: context.stream,
        stream_name: snapshot.streams().name(context.stream),
        pool: context.pool,
        text: text.map_or_else(String::new, |text| snapshot.strings.get(text).to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    const FILE: &str = r#"{"segments": [], "device_traces": [[
        {"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 0, "time_us": 5},
        {"action": "alloc", "addr": 4096, "size": 500, "stream": 0, "time_us": 6},
        {"action": "annotate", "addr": 4096, "size": 512, "stream": 0, "time_us": 7, "user_metadata": "weight"},
        {"action": "segment_alloc", "addr": 8192, "size": 1024, "stream": 9, "time_us": 8, "pool_id": [0, 3]},
        {"action": "oom", "device_free": 77, "size": 4000, "stream": 0, "time_us": 9}]]}"#;

    #[test]
    fn each_kind_has_its_moments_and_sums() {
        let snapshot = decode(FILE.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        let markers = Markers::of(&snapshot, &history);
        let taken = markers.column(MarkerKind::SegmentAlloc);
        assert_eq!(taken.moments, [1, 4]);
        assert_eq!(
            (taken.bytes(0, 2), taken.bytes(1, 2), taken.bytes(1, 1)),
            (3072, 1024, 0)
        );
        assert!(markers.column(MarkerKind::SegmentFree).is_empty());
        assert_eq!(markers.column(MarkerKind::SegmentFree).bytes(0, 0), 0);
        let counted: usize = MarkerKind::ALL
            .map(|kind| markers.column(kind).len())
            .iter()
            .sum();
        assert_eq!(counted, 4, "all but the alloc");
    }

    #[test]
    fn one_mark_in_full() {
        let snapshot = decode(FILE.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        let marker = |moment| marker(&snapshot, &history, moment);
        let text = marker(3).unwrap();
        assert_eq!(
            (text.kind, text.text.as_str()),
            (MarkerKind::Annotate, "weight")
        );
        let segment = marker(4).unwrap();
        assert_eq!(
            (segment.pool, segment.stream_name.as_str()),
            (Some(PoolId(0, 3)), "stream 1")
        );
        assert_eq!(marker(5).unwrap().device_free_bytes, Some(77));
        assert_eq!((marker(0), marker(2), marker(6)), (None, None, None));
    }
}
