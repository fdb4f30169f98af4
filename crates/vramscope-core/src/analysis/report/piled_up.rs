//! Memory that code outside of passes makes again and again and that is never freed: models, optimizer state, masks,
//! buffers. In a recording that begins late most of it is older, and only its stacks connect it to the code.

use std::collections::HashMap;

use super::causes::{Cause, CauseClass};
use super::names::named;
use super::summary::saturating_sum;
use crate::analysis::groups::live_at::top_call_sites;
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, Role};
use crate::analysis::time::history::NEVER;
use crate::ids::{AllocationId, StackId};
use crate::units::{Bytes, Count};

/// Minimum share of live memory.
const SHARE_PERCENT: u128 = 25;
/// Live memory must be at least this many times as large as what is made at once.
const FEWEST_TIMES: u64 = 3;

const ADVICE: &str = "Look for what still refers to what was made before: lists, callbacks, caches, parameter groups.";

/// What has piled up.
pub(super) struct PiledUp {
    /// Requested bytes.
    pub(super) bytes: u64,
    /// The most bytes of it made at once.
    made_bytes: u64,
    /// Number of times that the recording shows it being made.
    times: usize,
    /// The call site with most of the bytes.
    pub(super) place: String,
}

/// Memory made by one stack.
#[derive(Default)]
struct Made {
    rows: Vec<usize>,
    bytes: u64,
    /// Bytes by the number of passes before; memory older than the recording is not included.
    at_once: Vec<(usize, u64)>,
    is_left_out: bool,
}

impl PiledUp {
    /// The memory piled up when a request failed at `moment`; `None` if it was little.
    pub(super) fn of(device: Device<'_>, moment: u32) -> Option<Self> {
        let table = &device.history.allocations;
        let (stacks, rules, ranges) =
            (device.stack_of(), device.rule_of(), &device.phases().ranges);
        let passes_before = |moment: u32| ranges.partition_point(|range| range.from < moment);
        let mut all: HashMap<StackId, Made> = HashMap::new();
        for row in (0..table.len()).filter(|&row| stacks[row].has_frames()) {
            let made = all.entry(stacks[row]).or_default();
            let born = table.born[row];
            let freed = table.died[row].min(table.free_requested[row]);
            // Memory freed before the next pass is temporary.
            if born > 0 && freed != NEVER && passes_before(born) == passes_before(freed) {
                continue;
            }
            let is_of_pass = born > 0
                && matches!(
                    device.phases().at(born),
                    Some(Phase::Forward | Phase::Backward)
                );
            made.is_left_out |= freed != NEVER || is_of_pass || rules[row].role() == Role::KvCache;
            if made.is_left_out || born > moment {
                continue;
            }
            made.rows.push(row);
            made.bytes = made.bytes.saturating_add(table.bytes[row]);
            let passes = passes_before(born);
            if born > 0 {
                match made.at_once.last_mut() {
                    Some((after, bytes)) if *after == passes => {
                        *bytes = bytes.saturating_add(table.bytes[row]);
                    }
                    _ => made.at_once.push((passes, table.bytes[row])),
                }
            }
        }
        let has_piled_up = |made: &Made| {
            let at_once = made.at_once.iter().map(|&(_, bytes)| bytes).max();
            !made.is_left_out
                // Memory made before the first pass belongs to the start of the program or of the recording.
                && made.at_once.last().is_some_and(|&(passes, _)| passes > 0)
                && at_once.is_some_and(|most| made.bytes / FEWEST_TIMES >= most)
        };
        let piled: Vec<Made> = all.into_values().filter(has_piled_up).collect();
        let bytes = saturating_sum(piled.iter().map(|made| made.bytes));
        let live = u128::from(device.history.active_bytes_at(moment));
        if u128::from(bytes) * 100 < live * SHARE_PERCENT {
            return None;
        }
        let largest = piled.iter().max_by_key(|made| (made.bytes, made.rows[0]))?;
        let rows = piled.iter().flat_map(|made| &made.rows);
        let top = top_call_sites(device, rows.map(|&row| AllocationId::from_index(row)), 1);
        Some(Self {
            bytes,
            made_bytes: largest.at_once.iter().map(|&(_, bytes)| bytes).max()?,
            times: largest.at_once.len(),
            place: top.sites.into_iter().next()?.label,
        })
    }

    /// One line.
    fn title(&self) -> String {
        format!(
            "{} made again and again, most of it at {}, are all still live",
            Bytes(self.bytes),
            named(&self.place)
        )
    }

    /// What it may mean.
    fn explanation(&self) -> String {
        format!(
            "The recording shows the code with most of it making up to {} {}, between passes, and none of it being freed. A \
             list, a callback, an optimizer's parameter groups or a cache still refers to what was made before.",
            Bytes(self.made_bytes),
            match self.times {
                1 => "once more".to_owned(),
                times => format!("{} times", Count(times as u64)),
            }
        )
    }
}

impl From<PiledUp> for Cause {
    fn from(piled: PiledUp) -> Self {
        Self {
            seen: piled.explanation(),
            advice: ADVICE.to_owned(),
            place: piled.place.clone(),
            ..Self::new(CauseClass::NeverFreed, piled.bytes, piled.title())
        }
    }
}
