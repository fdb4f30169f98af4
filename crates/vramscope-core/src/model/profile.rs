//! Additional content of a snapshot made from a profiler's file: the value of its key `profile`.
//!
//! torch.profiler records no segments, but it records each allocation's device, and how much was in use before the first
//! event. Both are stored here, so that they survive writing and reading.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{DeviceIndex, Snapshot};

/// The top-level key of snapshots made from a profiler's file.
pub(crate) const PROFILE_KEY: &str = "profile";

/// The kind of profiler file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// A trace of torch.profiler (Kineto).
    Trace,
    /// The raw memory timeline of torch.profiler: events with categories, without addresses.
    RawTimeline,
    /// The memory timeline of torch.profiler: sums of categories over time.
    Timeline,
}

/// The kind of a device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A GPU of NVIDIA, or of AMD, which torch calls by the same name.
    Cuda,
    /// Intel's.
    Xpu,
    /// Ascend's.
    Npu,
    /// Apple's.
    Mps,
    /// Habana's.
    Hpu,
    /// Meta's.
    Mtia,
    /// XLA's.
    Xla,
    /// A device that the file does not name.
    Unknown,
    /// The host's memory.
    Cpu,
}

impl DeviceKind {
    /// The kind with this number in torch (`c10::DeviceType`).
    pub(crate) fn of_number(number: i64) -> Self {
        match number {
            0 => Self::Cpu,
            1 | 6 => Self::Cuda,
            9 => Self::Xla,
            12 => Self::Xpu,
            13 => Self::Mps,
            15 => Self::Hpu,
            19 => Self::Mtia,
            _ => Self::Unknown,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Cuda => "GPU",
            Self::Xpu => "XPU",
            Self::Npu => "NPU",
            Self::Mps => "MPS",
            Self::Hpu => "HPU",
            Self::Mtia => "MTIA",
            Self::Xla => "XLA",
            Self::Unknown => "device",
        }
    }
}

/// A device of the profile, at its index in the snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProfiledDevice {
    /// Its index in the snapshot.
    pub device: DeviceIndex,
    /// The kind of device.
    pub kind: DeviceKind,
    /// The number among devices of this kind.
    pub number: u32,
    /// Bytes in use before the first event that are not recorded otherwise.
    #[serde(default)]
    pub before_bytes: u64,
    /// The highest total of reserved memory that the events state; `None` if they state none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_reserved_bytes: Option<u64>,
    /// The device's memory in bytes; `None` if the file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_memory: Option<u64>,
}

/// The value of the key `profile`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Profile {
    /// The kind of profiler file.
    pub kind: ProfileKind,
    /// The devices with events.
    pub devices: Vec<ProfiledDevice>,
}

impl Profile {
    /// The profile that a snapshot was made from; `None` for other snapshots.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Option<Self> {
        Self::in_extras(&snapshot.extras)
    }

    pub(crate) fn in_extras(extras: &Map<String, Value>) -> Option<Self> {
        Self::deserialize(extras.get(PROFILE_KEY)?).ok()
    }

    /// The entry of a device; `None` for one without events.
    #[must_use]
    pub fn device(&self, device: DeviceIndex) -> Option<&ProfiledDevice> {
        self.devices.iter().find(|known| known.device == device)
    }

    /// Stores the profile in a snapshot.
    pub(crate) fn put(&self, extras: &mut Map<String, Value>) {
        if let Ok(value) = serde_json::to_value(self) {
            extras.insert(PROFILE_KEY.to_owned(), value);
        }
    }
}

impl Snapshot {
    /// A device in titles, with its number, and with its name unless it is a GPU: `device 0`, `device 1 (CPU)`.
    #[must_use]
    pub fn device_title(&self, device: DeviceIndex) -> String {
        match self.device_kind(device) {
            DeviceKind::Cuda | DeviceKind::Unknown => format!("device {device}"),
            kind => format!("device {device} ({})", kind.word()),
        }
    }

    /// Whether a device is the host's memory and not an accelerator.
    #[must_use]
    pub fn is_host(&self, device: DeviceIndex) -> bool {
        self.device_kind(device) == DeviceKind::Cpu
    }

    /// The name of a device: `GPU 0`, `NPU 0`, `CPU`.
    #[must_use]
    pub fn device_name(&self, device: DeviceIndex) -> String {
        let profile = Profile::of(self);
        let known = profile.as_ref().and_then(|profile| profile.device(device));
        let number = known.map_or(device, |known| known.number);
        match self.device_kind(device) {
            DeviceKind::Cpu => "CPU".to_owned(),
            kind => format!("{} {number}", kind.word()),
        }
    }

    /// The kind of a device. Snapshots of torch's allocators are from CUDA unless the file says otherwise.
    #[must_use]
    pub fn device_kind(&self, device: DeviceIndex) -> DeviceKind {
        let profile = Profile::of(self);
        if let Some(known) = profile.as_ref().and_then(|profile| profile.device(device)) {
            return known.kind;
        }
        match self.producer.name.as_str() {
            name if name.starts_with("torch_npu") => DeviceKind::Npu,
            name if name.starts_with("torch.xpu") => DeviceKind::Xpu,
            _ => DeviceKind::Cuda,
        }
    }
}
