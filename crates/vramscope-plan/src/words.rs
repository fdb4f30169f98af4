//! Sentences about each step of a plan: its parts in this file, and what can be done about it.

use std::collections::BTreeSet;

use super::plan::{ArenaPlan, DevicePlan, StepKind};
use super::problems::Needs;
use crate::allocator_model::ModelSettings;
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::memory::settings::AllocatorConfig;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_core::units::{Bytes, Count};

/// A recording with fewer events only shows a state: `enabled="state"` writes one event.
const FEWEST_EVENTS: u32 = 2;

/// Why the allocator model cannot run on a device, as a sentence; `None` if it can.
pub(super) fn no_model(device: Device<'_>, segments: SegmentsKnown) -> Option<String> {
    let why = if let Some(refusal) = ModelSettings::refusal(device.snapshot()) {
        refusal
    } else if segments != SegmentsKnown::Real {
        "Without the allocator's segments a model of it cannot be checked, so none is run."
    } else if device.history.event_count < FEWEST_EVENTS {
        "The file holds one state and no trace, so the order of requests, and with it the allocator's decisions, is \
         unknown. Record with torch.cuda.memory._record_memory_history() before the program allocates."
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// The data that the sentences are made from.
pub(super) struct Words<'a> {
    pub(super) device: Device<'a>,
    pub(super) plan: &'a DevicePlan,
    pub(super) needs: &'a Needs,
    /// Requests that were served but that the model refuses when it starts empty with the file's own settings.
    pub(super) refused: u64,
}

impl Words<'_> {
    /// The explanation of a step, and the advice about it.
    pub(super) fn of(&self, kind: StepKind, change_bytes: i64) -> (String, String) {
        let change = Bytes(change_bytes.unsigned_abs());
        match kind {
            StepKind::Requested => (self.requested(), self.on_requested()),
            StepKind::Alignment => (self.alignment(), self.on_alignment(change_bytes)),
            StepKind::Separation => (self.separation(), self.on_separation(change_bytes)),
            StepKind::Placement => self.placement(change_bytes),
            StepKind::Caching => self.caching(change_bytes),
            StepKind::Before => self.before(change_bytes),
            StepKind::Model => (
                match change_bytes {
                    0 => "The model of the allocator reserves exactly what the file says was reserved.".to_owned(),
                    more => format!(
                        "The model of the allocator reserves {change} {} than the file says was reserved: take what it says about caching, \
                         and about other settings, for no more exact than that.",
                        if more > 0 { "less" } else { "more" }
                    ),
                },
                String::new(),
            ),
            StepKind::Kept => self.kept(change_bytes),
        }
    }

    fn is_driver(&self) -> bool {
        self.plan.kind == AllocatorKind::Driver
    }

    fn requested(&self) -> String {
        let history = self.device.history;
        let live = counted(self.needs.live_at_peak, "allocation");
        let when = if history.event_count < FEWEST_EVENTS {
            "in the recorded state".to_owned()
        } else if self.needs.requested_moment == 0 {
            "before the first event".to_owned()
        } else {
            format!("after event {}", Count(self.needs.requested_moment.into()))
        };
        let waiting = match self.plan.waiting.at_peak_bytes {
            0 => "",
            _ => ", including freed ones that waited for other streams",
        };
        format!(
            "Requested bytes that were not free again {when}: {live}{waiting}. No allocator can do with less."
        )
    }

    fn on_requested(&self) -> String {
        let waiting = &self.plan.waiting;
        let saved = self
            .needs
            .requested_bytes
            .saturating_sub(waiting.peak_without_bytes);
        let less = "Only the program can lower this: hold less at its peak, smaller, or not at the same time.";
        if saved == 0 {
            return less.to_owned();
        }
        format!(
            "{less} Of it {} were freed already but waited for other streams; if nothing had to wait, the most would be {}.{}",
            Bytes(waiting.at_peak_bytes),
            Bytes(waiting.peak_without_bytes),
            if self.is_driver() {
                ""
            } else {
                " record_stream() makes frees wait."
            }
        )
    }

    fn alignment(&self) -> String {
        let who = if self.is_driver() {
            "The driver"
        } else {
            "PyTorch"
        };
        let config = AllocatorConfig::of(self.device.snapshot());
        if config.rounds_to_power2 == Some(true) && !self.is_driver() {
            return "PyTorch aligns requests to fractions of powers of two, as roundup_power2_divisions says, and at least to 512 B."
                .to_owned();
        }
        format!("{who} aligns every request to a multiple of 512 B.")
    }

    fn on_alignment(&self, change_bytes: i64) -> String {
        let is_much = change_bytes.unsigned_abs() > self.needs.requested_bytes / 50;
        let config = AllocatorConfig::of(self.device.snapshot());
        match (is_much, config.rounds_to_power2) {
            (false, _) => "",
            (true, Some(true)) if !self.is_driver() => {
                "More divisions in roundup_power2_divisions, or none, add less; but then freed blocks are used again less often."
            }
            (true, _) => {
                let live = self.needs.live_at_peak;
                return format!(
                    "{} live then lose about {} each to it: fewer and larger ones, which hold several, lose less.",
                    counted(live, "allocation"),
                    Bytes(change_bytes.unsigned_abs() / live.max(1))
                );
            }
        }
        .to_owned()
    }

    fn separation(&self) -> String {
        let used: Vec<&ArenaPlan> = self
            .plan
            .arenas
            .iter()
            .filter(|arena| arena.aligned_bytes > 0)
            .collect();
        if used.len() < 2 {
            return "All is in one pool on one stream: no pool or stream stands in the way of using freed memory again.".to_owned();
        }
        let (places, who) = if self.is_driver() {
            ("pools", "A pool's")
        } else {
            ("places (a pool on a stream)", "A place's")
        };
        format!(
            "{who} memory serves no other, and the {} {places} need most at different moments. The largest: {} for {}, {} for {}.",
            Count(used.len() as u64),
            Bytes(used[0].aligned_bytes),
            used[0].label,
            Bytes(used[1].aligned_bytes),
            used[1].label,
        )
    }

    fn on_separation(&self, change_bytes: i64) -> String {
        if change_bytes == 0 {
            return String::new();
        }
        if self.is_driver() {
            return "One pool for all that is not needed at the same time would save it."
                .to_owned();
        }
        let used = self.plan.arenas.iter();
        let used = used.filter(|arena| arena.aligned_bytes > 0);
        let streams: BTreeSet<_> = used.clone().map(|arena| arena.key.stream).collect();
        let pools: BTreeSet<_> = used.map(|arena| arena.key.pool).collect();
        let graphs = pools.iter().filter(|pool| pool.is_private()).count();
        let mut advice = Vec::new();
        if streams.len() > 1 {
            advice.push(
                "Allocating on one stream and using the memory on others would save what streams cost. Order them with \
                 wait_stream() and keep a reference until the other stream is done: record_stream() would make frees wait.",
            );
        }
        if graphs > 1 {
            advice.push(
                "CUDA graphs that never run at the same time can share a pool (torch.cuda.graph(…, pool=…)).",
            );
        }
        advice.join(" ")
    }

    fn placement(&self, change_bytes: i64) -> (String, String) {
        let packed: Vec<_> = self
            .plan
            .arenas
            .iter()
            .filter_map(|arena| arena.packed)
            .collect();
        let is_proven = packed.iter().all(|packed| packed.is_optimal());
        let bound = packed
            .iter()
            .fold(0_u64, |sum, packed| sum.saturating_add(packed.bound_bytes));
        let bytes = packed
            .iter()
            .fold(0_u64, |sum, packed| sum.saturating_add(packed.bytes));
        let searched = if packed.iter().all(|packed| packed.is_final) {
            "all that was tried"
        } else {
            "the time given"
        };
        let why = match (change_bytes, is_proven) {
            (0, _) => "With all lives known beforehand, the buffers can be placed without a hole at the peak.".to_owned(),
            (_, true) => "Even with all lives known beforehand, there is no better way to place the buffers: each keeps its place, and \
                          what is free between them does not fit what comes. That is proven."
                .to_owned(),
            (_, false) => format!(
                "The best way to place the buffers that was found in {searched}, with all lives known beforehand. At most {} of it could be \
                 saved by a better one.",
                Bytes(bytes.saturating_sub(bound))
            ),
        };
        let advice = match (change_bytes, is_proven) {
            (0, _) => String::new(),
            (_, true) => "Only another order of operations could change this. A snapshot does not say which orders are allowed; for what \
                          torch.compile compiled, the graph that inductor exports does."
                .to_owned(),
            (_, false) => "A longer search may find a better one, and so may another order of operations.".to_owned(),
        };
        let advice = if self.is_driver() {
            String::new()
        } else {
            advice
        };
        (why, advice)
    }

    fn caching(&self, change_bytes: i64) -> (String, String) {
        let how = "The allocator has to place each buffer when it is asked for, without knowing what comes; requests up to 1 MiB have segments of \
                   their own, and freed memory stays in segments of 2 MiB and more.";
        let measured = match change_bytes {
            _ if self.refused > 0 => {
                " A model of it, beginning empty, refuses requests that were served, so that what it needs is not known."
            }
            ..0 => {
                " Here it even needs less: memory that went back to the device in between served another pool or stream."
            }
            _ => " This is what a model of it needs, beginning empty, with this file's settings.",
        };
        let advice = if change_bytes > 0 {
            "Replaying under other settings of the allocator shows what they would do."
        } else {
            ""
        };
        (format!("{how}{measured}"), advice.to_owned())
    }

    fn kept(&self, change_bytes: i64) -> (String, String) {
        if change_bytes < 0 {
            let why = "Less was reserved than the pools and streams need one beside the other: memory that was given back in between served another.";
            return (why.to_owned(), String::new());
        }
        if self.is_driver() {
            let why = "Memory that the driver's pools held beyond that: freed memory that they keep for later requests, and mappings in whole pages of \
                       2 MiB.";
            let advice = "cudaMemPoolTrimTo(pool, 0), or a lower cudaMemPoolAttrReleaseThreshold, gives kept memory back.";
            return (why.to_owned(), advice.to_owned());
        }
        let why = "Memory that the allocator held beyond that: freed memory that it keeps, in pieces or unused. Only a model of it can tell these parts apart.";
        let advice = "Where free memory lies, and what keeps it from going back to the device: see Allocator on the page, or the command vramscope fragmentation.";
        (why.to_owned(), advice.to_owned())
    }

    fn before(&self, change_bytes: i64) -> (String, String) {
        let (why, advice) = match change_bytes {
            0 => (
                "Nothing: the allocator began with no more than the recorded buffers need.",
                String::new(),
            ),
            _ => (
                "When the recording began, the allocator held more than the buffers that were live then need: freed memory from before, which \
                 later requests fit only in part, and live buffers scattered among it.",
                format!(
                    "Recording from the start of the program would show where it comes from{}.",
                    self.on_empty_segments()
                ),
            ),
        };
        (why.to_owned(), advice)
    }

    /// The end of a sentence about segments that were empty when the recording began; empty if there were none.
    fn on_empty_segments(&self) -> String {
        match self.needs.empty_at_start_bytes {
            0 => String::new(),
            bytes => format!(
                "; torch.cuda.empty_cache() after setting up gives the {} back that are wholly free then",
                Bytes(bytes)
            ),
        }
    }
}
