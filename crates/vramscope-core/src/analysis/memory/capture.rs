//! The metadata of a captured snapshot: the program, how it ended, its devices, and device memory that was not tracked.
//!
//! `vramscope-capture` writes it as `capture` at the top level. Any part may be missing or have another type. Such
//! parts are left out without an error.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Snapshot;
use crate::analysis::code::frames::clip;
use crate::ids::FrameId;
use crate::model::{DeviceIndex, capture_of};
use crate::sorting::SortFew;
use crate::units::Count;

/// Limits for damaged or hostile files: items per list, and bytes per text.
const ITEMS_KEPT: usize = 256;
const TEXT_BYTES: usize = 4096;

/// The reasons for losses by the recorder: [`Lost::reason`] in files that it wrote.
pub const LOSSES: [&str; 18] = [
    "UnknownFunction",
    "MappingUnknown",
    "PoolUnknown",
    "ContextUnknown",
    "DeviceUnknown",
    "SizeUnknown",
    "NoAddress",
    "NoStack",
    "CaptureUnknown",
    "NotAsked",
    "PoolUsageUnknown",
    "FreeMemoryUnknown",
    "TooManyRanges",
    "TooManyDomains",
    "TooManyNames",
    "NoStreamRange",
    "WrongStack",
    "OtherLibrary",
];

/// The allocator whose allocations a snapshot shows, and whose rules apply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocatorKind {
    /// PyTorch's caching allocator.
    #[default]
    Torch,
    /// The CUDA driver, in a captured snapshot.
    Driver,
}

impl AllocatorKind {
    /// The allocator of a snapshot's allocations.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        if capture_of(&snapshot.extras).is_some() {
            Self::Driver
        } else {
            Self::Torch
        }
    }

    /// The call that releases fully free segments to the device.
    #[must_use]
    pub fn release_call(self) -> &'static str {
        match self {
            Self::Torch => "empty_cache()",
            Self::Driver => "cuMemPoolTrimTo(pool, 0)",
        }
    }

    /// The owner of cached memory, for messages: `PyTorch`, `the driver's pools`.
    #[must_use]
    pub fn keeper(self) -> &'static str {
        match self {
            Self::Torch => "PyTorch",
            Self::Driver => "the driver's pools",
        }
    }
}

/// How the captured program ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The file does not say.
    #[default]
    Unknown,
    /// The program was still running: the snapshot was taken from outside.
    Running,
    /// By returning from `main` or by `exit`, with any exit code.
    InOrder,
    /// Killed, aborted, or by `_exit`: the recorder was not notified.
    WithoutNotice,
    /// The recorder had stopped before, because of an error of its own.
    RecorderFailed,
}

impl Ended {
    fn of(word: &str) -> Self {
        match word {
            "running" => Self::Running,
            "in order" => Self::InOrder,
            "without notice" => Self::WithoutNotice,
            "recorder failed" => Self::RecorderFailed,
            _ => Self::Unknown,
        }
    }

    /// The file's word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "not known",
            Self::Running => "running",
            Self::InOrder => "in order",
            Self::WithoutNotice => "without notice",
            Self::RecorderFailed => "recorder failed",
        }
    }
}

/// The metadata of a capture.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Capture {
    /// The recorder and its version, such as `vramscope-capture 0.1.0`.
    pub tool: String,
    /// The path of the executable, followed by its arguments, the first of which is the program's name.
    pub program: Vec<String>,
    /// Process id; 0 if the file does not say.
    pub process: u64,
    /// Start of the recording, in µs since the Unix epoch.
    pub started_us: Option<i64>,
    /// How the program ended.
    pub ended: Ended,
    /// When a running program's log was read, in µs since the Unix epoch.
    pub read_us: Option<i64>,
    /// Number of records that were dropped because the log was full.
    pub dropped_records: u64,
    /// What the recorder could not record, or only in part.
    pub lost: Vec<Lost>,
    /// Number of older events that were discarded, as only the newest were to be kept.
    pub dropped_entries: u64,
    /// Remarks of the recorder, for the user.
    pub notes: Vec<String>,
    /// The devices, sorted by index.
    pub devices: Vec<CapturedDevice>,
}

/// A loss: something that the recorder could not record, or only in part.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lost {
    /// The recorder's word for it, such as `PoolUnknown`.
    pub reason: String,
    /// How often it happened, at least once.
    pub times: u64,
    /// What happened and what it means for the recording, as a clause; empty if the file does not say.
    pub text: String,
}

impl Lost {
    fn of(value: &Value) -> Option<Self> {
        let lost = value.as_object()?;
        let times = number(lost, "times").filter(|&times| times > 0)?;
        Some(Self {
            reason: text(lost, "reason"),
            times,
            text: text(lost, "text"),
        })
    }

    /// The loss as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let what = if self.text.is_empty() {
            &self.reason
        } else {
            &self.text
        };
        match self.times {
            1 => format!("Incomplete: {what} (once)."),
            times => format!("Incomplete: {what} ({} times).", Count(times)),
        }
    }
}

/// A device of a captured program.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CapturedDevice {
    /// The device's index in `device_traces`.
    pub index: DeviceIndex,
    /// The driver's name for the device, preceded by the program's name for it, if any; empty if the file has neither.
    pub name: String,
    /// `GPU-…`; empty if the file does not say.
    pub uuid: String,
    /// Capacity in bytes; `None` if the file does not say.
    pub total_bytes: Option<u64>,
    /// Memory in use that was not tracked; `None` without samples.
    pub other: Option<OtherMemory>,
    /// Memory of CUDA graphs; `None` if no graph had any.
    pub graphs: Option<GraphMemory>,
}

/// Bytes of a device held by CUDA graphs, from their first launch until they are trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GraphMemory {
    /// Bytes at the last sample.
    pub last_bytes: u64,
    /// The most bytes of any sample.
    pub highest_bytes: u64,
}

/// Bytes of a device that were neither free nor tracked: used by other processes, contexts, modules and the driver
/// itself. The recorder samples them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OtherMemory {
    /// Bytes at the last sample.
    pub last_bytes: u64,
    /// The most bytes of any sample.
    pub highest_bytes: u64,
    /// Time of the highest sample, in µs since the Unix epoch.
    pub highest_us: i64,
    /// Number of samples.
    pub samples: u64,
}

impl Capture {
    /// Reads the metadata; `None` for a snapshot that was not captured.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Option<Self> {
        let capture = capture_of(&snapshot.extras)?;
        let items = |key| list(capture, key).iter();
        let texts = |key| items(key).take(ITEMS_KEPT).filter_map(Value::as_str);
        let mut devices: Vec<CapturedDevice> = Vec::new();
        for device in items("devices").take(ITEMS_KEPT) {
            devices.extend(CapturedDevice::of(device));
        }
        devices.sort_few_by_key(|device| device.index);
        devices.dedup_by_key(|device| device.index);
        for sample in items("memory").filter_map(Sample::of) {
            let place = devices.binary_search_by_key(&sample.device, |device| device.index);
            match place {
                Ok(place) => devices[place].add(&sample),
                // The list of devices may be incomplete.
                Err(place) if devices.len() < ITEMS_KEPT => {
                    devices.insert(place, CapturedDevice::with_index(sample.device));
                    devices[place].add(&sample);
                }
                Err(_) => {}
            }
        }
        for sample in items("memory").filter_map(PoolSample::of) {
            let device = devices
                .iter_mut()
                .find(|device| device.index == sample.device);
            if let Some(device) = device {
                device.add_graphs(sample.graph_reserved_bytes);
            }
        }
        Some(Self {
            tool: text(capture, "tool"),
            program: texts("program").map(clipped).collect(),
            process: number(capture, "pid").unwrap_or(0),
            started_us: capture.get("started_us").and_then(Value::as_i64),
            ended: Ended::of(&text(capture, "ended")),
            read_us: capture.get("read_us").and_then(Value::as_i64),
            dropped_records: number(capture, "dropped_records").unwrap_or(0),
            lost: items("lost")
                .take(ITEMS_KEPT)
                .filter_map(Lost::of)
                .collect(),
            dropped_entries: number(capture, "dropped_entries").unwrap_or(0),
            notes: texts("notes").map(clipped).collect(),
            devices,
        })
    }

    /// The device with this index; `None` if the capture has no data about it.
    #[must_use]
    pub fn device(&self, index: DeviceIndex) -> Option<&CapturedDevice> {
        self.devices.iter().find(|device| device.index == index)
    }

    /// The program as it was typed, cut to 200 bytes.
    #[must_use]
    pub fn command_line(&self) -> String {
        // The first argument repeats the program's name.
        let typed = self.program.get(1..).filter(|rest| !rest.is_empty());
        clip(&typed.unwrap_or(&self.program).join(" "), 200).to_owned()
    }
}

impl CapturedDevice {
    fn with_index(index: DeviceIndex) -> Self {
        Self {
            index,
            ..Self::default()
        }
    }

    fn of(value: &Value) -> Option<Self> {
        let device = value.as_object()?;
        let total = number(device, "total_bytes");
        let name = match (text(device, "given_name"), text(device, "name")) {
            (given, name) if given.is_empty() => name,
            (given, name) => format!("{given} ({name})"),
        };
        Some(Self {
            index: DeviceIndex::try_from(number(device, "index")?).ok()?,
            name,
            uuid: text(device, "uuid"),
            total_bytes: total.filter(|&bytes| bytes > 0),
            other: None,
            graphs: None,
        })
    }

    fn add_graphs(&mut self, bytes: u64) {
        if bytes == 0 && self.graphs.is_none() {
            return;
        }
        let graphs = self.graphs.get_or_insert(GraphMemory {
            last_bytes: 0,
            highest_bytes: 0,
        });
        graphs.last_bytes = bytes;
        graphs.highest_bytes = graphs.highest_bytes.max(bytes);
    }

    fn add(&mut self, sample: &Sample) {
        let bytes = sample.other_bytes;
        let other = self.other.get_or_insert(OtherMemory {
            last_bytes: bytes,
            highest_bytes: bytes,
            highest_us: sample.time_us,
            samples: 0,
        });
        other.last_bytes = bytes;
        other.samples += 1;
        if bytes > other.highest_bytes {
            other.highest_bytes = bytes;
            other.highest_us = sample.time_us;
        }
    }
}

/// One sample of a device's memory.
struct Sample {
    device: DeviceIndex,
    time_us: i64,
    other_bytes: u64,
}

impl Sample {
    fn of(value: &Value) -> Option<Self> {
        let sample = value.as_object()?;
        let total = number(sample, "total_bytes")?;
        let known = number(sample, "free_bytes")?.saturating_add(number(sample, "tracked_bytes")?);
        Some(Self {
            device: DeviceIndex::try_from(number(sample, "device")?).ok()?,
            time_us: sample.get("time_us").and_then(Value::as_i64).unwrap_or(0),
            other_bytes: total.saturating_sub(known),
        })
    }
}

/// One sample of all memory pools of a device.
pub(super) struct PoolSample {
    device: DeviceIndex,
    pub(super) time_us: i64,
    pub(super) reserved_bytes: u64,
    pub(super) used_bytes: u64,
    /// Reserved bytes that no segment contains.
    pub(super) unplaced_bytes: u64,
    /// Reserved bytes that CUDA graphs hold.
    graph_reserved_bytes: u64,
}

impl PoolSample {
    fn of(value: &Value) -> Option<Self> {
        let sample = value.as_object()?;
        let bytes = |key| number(sample, key);
        Some(Self {
            reserved_bytes: bytes("pool_reserved_bytes")?,
            device: DeviceIndex::try_from(number(sample, "device")?).ok()?,
            time_us: sample.get("time_us").and_then(Value::as_i64)?,
            used_bytes: bytes("pool_used_bytes").unwrap_or(0),
            unplaced_bytes: bytes("pool_unplaced_bytes").unwrap_or(0),
            graph_reserved_bytes: bytes("graph_reserved_bytes").unwrap_or(0),
        })
    }
}

/// The samples of a device's memory pools, in the order of the file.
pub(super) fn pool_samples(
    snapshot: &Snapshot,
    device: DeviceIndex,
) -> impl Iterator<Item = PoolSample> {
    let samples = capture_of(&snapshot.extras).map_or(&[][..], |capture| list(capture, "memory"));
    let samples = samples.iter().filter_map(PoolSample::of);
    samples.filter(move |sample| sample.device == device)
}

/// The metadata without free text: without program, threads, names and notes.
pub(crate) fn without_words(extras: &Map<String, Value>) -> Option<Value> {
    let capture = capture_of(extras)?;
    let numbers = |value: &Value, keys: &[&str]| -> Map<String, Value> {
        let pairs = keys.iter().filter_map(|&key| {
            let number = value.get(key).filter(|value| value.is_number())?;
            Some((key.to_owned(), number.clone()))
        });
        pairs.collect()
    };
    let all = |key, keys: &[&str]| -> Vec<Value> {
        let items = list(capture, key).iter();
        items.map(|item| numbers(item, keys).into()).collect()
    };
    let tool = text(capture, "tool");
    let version = tool.strip_prefix("vramscope-capture ");
    let is_part = |part: &str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_ours = version
        .is_some_and(|version| version.split('.').count() == 3 && version.split('.').all(is_part));
    let lost = list(capture, "lost").iter().filter_map(Lost::of);
    let lost = lost.filter(|lost| LOSSES.contains(&lost.reason.as_str()));
    let lost = lost.map(|lost| json!({"reason": lost.reason, "times": lost.times}));
    Some(json!({
        "tool": if is_ours { tool.as_str() } else { "vramscope-capture" },
        "ended": Ended::of(&text(capture, "ended")).word(),
        "dropped_records": number(capture, "dropped_records").unwrap_or(0),
        "lost": lost.collect::<Vec<_>>(),
        "devices": all("devices", &["index", "total_bytes"]),
        "memory": all("memory", &[
            "device", "time_us", "free_bytes", "total_bytes", "tracked_bytes",
            "pool_reserved_bytes", "pool_used_bytes", "pool_unplaced_bytes",
            "graph_reserved_bytes", "graph_used_bytes",
        ]),
    }))
}

fn list<'a>(object: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    object
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn number(object: &Map<String, Value>, key: &str) -> Option<u64> {
    object.get(key).and_then(Value::as_u64)
}

fn text(object: &Map<String, Value>, key: &str) -> String {
    clipped(object.get(key).and_then(Value::as_str).unwrap_or_default())
}

fn clipped(text: &str) -> String {
    clip(text, TEXT_BYTES).to_owned()
}

/// Whether PyTorch's allocator made some of the captured requests. PyTorch's own recorder would then show more.
pub(crate) fn has_torch(snapshot: &Snapshot) -> bool {
    let mut frames = (0..snapshot.frames.len()).map(FrameId::from_index);
    frames.any(|id| {
        let frame = snapshot.frames.get(id);
        snapshot
            .strings
            .get(frame.name)
            .contains("CUDACachingAllocator")
            || snapshot.strings.get(frame.filename).contains("libc10_cuda")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    fn of(capture: &str) -> Option<Capture> {
        let file = format!(r#"{{"segments": [], "device_traces": [[]], "capture": {capture}}}"#);
        Capture::of(&decode(file.as_bytes()).unwrap())
    }

    #[test]
    fn everything_that_is_said() {
        let capture = of(r#"{"tool": "vramscope-capture 0.1.0", "program": ["/bin/a", "./a", "-x"], "pid": 7, "started_us": 5,
            "ended": "without notice", "dropped_records": 3, "notes": ["a", "b"],
            "lost": [{"reason": "NoStack", "times": 2, "text": "a stack is missing"}, {"reason": "Other", "times": 0}], "threads": {"7": "main"},
            "devices": [{"index": 1, "name": "H100", "uuid": "GPU-1", "total_bytes": 1000}],
            "memory": [{"device": 1, "time_us": 6, "free_bytes": 500, "total_bytes": 1000, "tracked_bytes": 100},
                       {"device": 1, "time_us": 8, "free_bytes": 600, "total_bytes": 1000, "tracked_bytes": 150},
                       {"device": 1, "time_us": 8, "pool_reserved_bytes": 9, "pool_used_bytes": 7, "graph_reserved_bytes": 4},
                       {"device": 1, "time_us": 9, "pool_reserved_bytes": 5, "pool_used_bytes": 3},
                       {"device": 0, "time_us": 9, "free_bytes": 10, "total_bytes": 30, "tracked_bytes": 40}]}"#)
        .unwrap();
        assert_eq!(capture.command_line(), "./a -x");
        assert_eq!((capture.process, capture.started_us), (7, Some(5)));
        assert_eq!(
            (capture.ended, capture.dropped_records),
            (Ended::WithoutNotice, 3)
        );
        assert_eq!(capture.notes, ["a", "b"]);
        let lost: Vec<_> = capture.lost.iter().map(Lost::sentence).collect();
        assert_eq!(lost, ["Incomplete: a stack is missing (2 times)."]);
        let device = capture.device(1).unwrap();
        assert_eq!(
            (device.name.as_str(), device.total_bytes),
            ("H100", Some(1000))
        );
        let other = OtherMemory {
            last_bytes: 250,
            highest_bytes: 400,
            highest_us: 6,
            samples: 2,
        };
        assert_eq!(device.other, Some(other));
        let graphs = GraphMemory {
            last_bytes: 0,
            highest_bytes: 4,
        };
        assert_eq!(device.graphs, Some(graphs));
        // If more is tracked than exists, the rest is 0 and nothing overflows.
        assert_eq!(capture.device(0).unwrap().other.unwrap().last_bytes, 0);
    }

    #[test]
    fn anything_may_be_missing_or_odd() {
        assert_eq!(of("7"), None);
        assert_eq!(of("{}"), None);
        assert_eq!(of(r#"{"tool": 3}"#), None);
        for odd in [
            r#""program": 3, "pid": -1, "devices": {"a": 1}, "memory": "no", "notes": [1, null, {}]"#,
            r#""devices": [[], 3, {"index": -1}, {"index": 1e300}, {"index": 4294967296}], "ended": []"#,
            r#""memory": [{"device": 0, "free_bytes": 18446744073709551615, "total_bytes": 5, "tracked_bytes": 9}]"#,
            r#""dropped_records": "many", "started_us": 1.5, "lost": [3, {}, {"times": "many"}]"#,
        ] {
            let capture = of(&format!(r#"{{"tool": "x", {odd}}}"#)).unwrap();
            assert_eq!(
                (capture.ended, capture.dropped_records),
                (Ended::Unknown, 0),
                "{odd}"
            );
            assert!(
                capture.notes.is_empty() && capture.lost.is_empty() && capture.devices.len() <= 1,
                "{odd}"
            );
        }
    }

    #[test]
    fn words_do_not_go_along() {
        let file = r#"{"segments": [], "device_traces": [[]], "capture": {"tool": "vramscope-capture 0.1.0",
            "program": ["/home/secret"], "notes": ["secret"], "threads": {"1": "secret"}, "ended": "secret",
            "lost": [{"reason": "NoStack", "times": 1, "text": "secret"}, {"reason": "secret", "times": 1}],
            "devices": [{"index": 0, "name": "secret", "uuid": "GPU-secret", "total_bytes": 8}],
            "memory": [{"device": 0, "free_bytes": 1, "total_bytes": 8, "tracked_bytes": "secret"}]}}"#;
        let snapshot = decode(file.as_bytes()).unwrap();
        let left = without_words(&snapshot.extras).unwrap();
        assert!(!left.to_string().contains("secret"), "{left}");
        assert_eq!(left["devices"][0]["total_bytes"], 8);
        assert_eq!(left["lost"], json!([{"reason": "NoStack", "times": 1}]));
        assert_eq!(left["tool"], "vramscope-capture 0.1.0");
    }
}
