//! What the program's starter sets about the devices and the libraries.

use std::env;
use std::sync::LazyLock;

use crate::memory::DEVICES_MAX;

/// The settings of this process.
pub(crate) static SETTINGS: LazyLock<Settings> = LazyLock::new(|| Settings {
    total_bytes: number("TOTAL_BYTES", 1 << 30),
    context_bytes: number("CONTEXT_BYTES", 0),
    devices: (number("DEVICES", 2) as usize).clamp(1, DEVICES_MAX),
    capability: number("CAPABILITY", 90) as i32,
    processors: number("PROCESSORS", 1) as i32,
    name: text("NAME").unwrap_or_else(|| "Stand-in GPU".to_owned()),
    cuda: number("CUDA", 13_000) as i32,
    cudnn: number("CUDNN", 91_000),
    nccl: number("NCCL", 22_800) as i32,
    cudnn_workspace_bytes: number("CUDNN_WORKSPACE_BYTES", 24 << 20),
    values: match text("VALUES").as_deref() {
        Some("ones") => Values::Ones,
        Some("uniform") => Values::Uniform,
        _ => Values::Zeros,
    },
    addresses: match text("ADDRESSES").as_deref() {
        Some("up") => Addresses::Up,
        Some("down") => Addresses::Down,
        _ => Addresses::Driver,
    },
});

/// See the crate's table.
pub(crate) struct Settings {
    pub(crate) total_bytes: u64,
    pub(crate) context_bytes: u64,
    pub(crate) devices: usize,
    pub(crate) capability: i32,
    pub(crate) processors: i32,
    pub(crate) name: String,
    pub(crate) cuda: i32,
    pub(crate) cudnn: u64,
    pub(crate) nccl: i32,
    pub(crate) cudnn_workspace_bytes: u64,
    pub(crate) values: Values,
    pub(crate) addresses: Addresses,
}

/// How addresses follow each other.
pub(crate) enum Addresses {
    Up,
    Down,
    Driver,
}

/// What the host reads where a kernel would have written.
pub(crate) enum Values {
    Zeros,
    Ones,
    Uniform,
}

impl Settings {
    /// Number of devices that the program sees: launchers give each of their processes some.
    pub(crate) fn visible_devices(&self) -> usize {
        match env::var("CUDA_VISIBLE_DEVICES") {
            Ok(list) if list.trim().is_empty() => 0,
            Ok(list) => list.split(',').count().min(self.devices),
            Err(_) => self.devices,
        }
    }

    /// Maximum shared memory of one block, and threads of a multiprocessor: CUDA's programming guide, "Technical
    /// Specifications per Compute Capability".
    pub(crate) fn block_limits(&self) -> (u64, i32) {
        match self.capability {
            ..=72 => (96 << 10, 2048),
            75 => (64 << 10, 1024),
            80 | 87 => (163 << 10, 2048),
            86 | 89 | 120.. => (99 << 10, 1536),
            _ => (227 << 10, 2048),
        }
    }
}

fn text(name: &str) -> Option<String> {
    env::var(format!("STANDIN_{name}")).ok()
}

fn number(name: &str, default: u64) -> u64 {
    let given = text(name).and_then(|text| text.parse().ok());
    given.unwrap_or(default)
}
