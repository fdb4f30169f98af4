//! Finding: one device of the file holds far more than the others.

use super::words::counted;
use super::{
    Evidence, Finding, FindingKind, FindingRow, FindingTable, Material, SMALLEST_BYTES, Severity,
};
use crate::analysis::groups::live_at::live_at;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::recording::Device;
use crate::bitset::BitSet;
use crate::ids::{FrameId, StringId};
use crate::sorting::SortFew;
use crate::units::Bytes;

/// Most devices listed in a sentence.
const LISTED: usize = 8;

fn is_host(device: Device<'_>) -> bool {
    device.snapshot().is_host(device.index())
}

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let device = material.device;
    let own = device.peak_bytes();
    let is_used = |bytes: &(u64, u32)| bytes.0 > 0;
    let others = device.recording.devices();
    let others = others.filter(|other| other.index() != device.index() && !is_host(*other));
    let peaks = others.map(|other| (other.peak_bytes(), other.index()));
    let mut others: Vec<(u64, u32)> = peaks.filter(is_used).collect();
    others.sort_few_by_key(|&(bytes, index)| (std::cmp::Reverse(bytes), index));
    let &(next, _) = others.first()?;
    // Batches and the ends of pipelines differ by less than a half.
    let is_odd = u128::from(own) * 2 >= u128::from(next) * 3;
    if is_host(device) || !is_odd || own.saturating_sub(next) < SMALLEST_BYTES {
        return None;
    }
    let against = listed(&others);
    let all = [(own, device.index())].into_iter().chain(others);
    let rows = all.map(|(bytes, index)| FindingRow {
        label: format!("device {index}"),
        site: None,
        bytes,
        count: (device.recording.device(index)).map_or(0, |it| it.history.allocations.len() as u64),
        remark: String::new(),
    });
    let is_replicated = shows_data_parallel(device);
    Some(Finding {
        kind: FindingKind::OddDevice,
        severity: Severity::Warning,
        bytes: own - next,
        title: format!(
            "{} is the odd one: {} against {against}",
            device.snapshot().device_name(device.index()),
            Bytes(own)
        ),
        seen: format!(
            "Live memory of device {} peaks at {}, that of the others at {against}.",
            device.index(),
            Bytes(own)
        ),
        figures: Vec::new(),
        may_mean: match is_replicated {
            true => "Stacks show torch.nn.DataParallel: each device runs the same layers on its part of the batch, and the first \
                     one also holds the inputs, the outputs and the parameters of all.",
            false => "The work is not evenly divided: one device has more layers, the outputs of all, or what was made before the \
                      others were used.",
        }
        .to_owned(),
        setting: None,
        to_try: vec![match material.config.allocator {
            AllocatorKind::Torch if is_replicated => "DistributedDataParallel, in which each process has its own batch; or a batch that divides evenly, and \
                 the loss computed in the module, so that only that is gathered.",
            AllocatorKind::Torch => "Move layers to the other devices (device_map, the stages of the pipeline), and make tensors on the device that uses them.",
            AllocatorKind::Driver => "Move work to the other devices, and allocate on the device that uses the memory.",
        }
        .to_owned()],
        tables: vec![FindingTable {
            title: "Peak of live memory by device".to_owned(),
            counted: "allocations".to_owned(),
            rows: rows.collect(),
        }],
        evidence: vec![Evidence::live_at(device.history.peak_moment)],
    })
}

/// The peaks of devices, in words.
fn listed(devices: &[(u64, u32)]) -> String {
    let listed = devices.iter().take(LISTED);
    let mut list: Vec<String> = listed.map(|&(bytes, _)| Bytes(bytes).to_string()).collect();
    if devices.len() > LISTED {
        list.push(counted((devices.len() - LISTED) as u64, "other"));
    }
    match list.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => list.concat(),
    }
}

/// Whether memory live at the peak was made by torch.nn.DataParallel, or below it.
fn shows_data_parallel(device: Device<'_>) -> bool {
    let snapshot = device.snapshot();
    let is_file = |id: StringId| {
        let path = snapshot.strings.get(id).replace('\\', "/");
        [
            "torch/nn/parallel/data_parallel.py",
            "torch/nn/parallel/parallel_apply.py",
        ]
        .iter()
        .any(|file| path.ends_with(file))
    };
    let of_frames = BitSet::from_fn(snapshot.frames.len(), |row| {
        is_file(snapshot.frames.get(FrameId::from_index(row)).filename)
    });
    let stacks = device.stack_of();
    live_at(device.history, device.history.peak_moment).any(|id| {
        let mut frames = snapshot.stacks.frames(stacks[id.index()]);
        frames.any(|frame| of_frames.contains(frame.index()))
    })
}
