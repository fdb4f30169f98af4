//! The text of a failed request, for PyTorch's allocator and for the driver.
//! [`verdicts`](crate::analysis::report::verdicts) has the texts about the reason of the failure.

use super::super::SettingAdvice;
use super::super::words::{counted, free_on_device};
use super::FailedRequest;
use super::sentences::JOINS;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::settings::AllocatorConfig;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::report::first_pass::FirstPass;
use crate::analysis::report::verdicts::{ASK_SIZE, Verdict, WHO};
use crate::units::{Bytes, Count};

/// A figure of a failed request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestFigure {
    /// Its key in JSON, with the unit.
    pub key: &'static str,
    /// Its label.
    pub label: &'static str,
    /// Its value; `None` if it is unknown or irrelevant.
    pub bytes: Option<u64>,
    /// A remark; may be empty.
    pub remark: String,
}

impl RequestFigure {
    fn with(self, remark: impl Into<String>) -> Self {
        Self {
            remark: remark.into(),
            ..self
        }
    }
}

fn figure(key: &'static str, label: &'static str, bytes: Option<u64>) -> RequestFigure {
    RequestFigure {
        key,
        label,
        bytes,
        remark: String::new(),
    }
}

/// The explanation of a failed request.
pub struct Explained {
    /// Why it may have failed, in sentences.
    pub may_mean: String,
    /// An allocator setting that may serve it, unless a replay shows otherwise.
    pub setting: Option<SettingAdvice>,
    /// Further advice, a sentence each.
    pub to_try: Vec<String>,
}

impl FailedRequest {
    /// The request and the free memory: `80.0 MiB requested, 36.0 MiB free on the device`.
    #[must_use]
    pub fn asked(&self) -> String {
        let free = free_on_device(self.device_free_bytes);
        format!("{} requested, {free}", Bytes(self.requested_bytes))
    }

    /// What happened. `failures`: number of failed requests including this one; `at`: where, as `at_site` words it.
    pub(in super::super) fn seen(&self, recording: &Recording, failures: u64, at: &str) -> String {
        let pool = if self.arena.pool.is_private() {
            format!(" in the {}", recording.pools().label(self.arena.pool))
        } else {
            String::new()
        };
        let on = match recording.knows_places() {
            true => format!(" on the {}", recording.streams().name(self.arena.stream)),
            false => String::new(),
        };
        let mut text = format!(
            "Event {}: a request for {}{on}{pool}{at} failed",
            Count(u64::from(self.moment)),
            Bytes(self.requested_bytes),
        );
        if failures > 1 {
            text += &format!(", the last of {}", counted(failures, "failure"));
        }
        text += &match self.device_free_bytes {
            Some(bytes) => format!(". The device had {} left.", Bytes(bytes)),
            None => ". What the device had left is not known.".to_owned(),
        };
        if self.has_state {
            text += &format!(" {}", self.seen_pieces());
        }
        if let (Some(device), Some(others)) = (self.device_bytes, self.others_bytes()) {
            text += &format!(
                " Of the device's {}, {} were held by others: other processes, the driver, its contexts and modules.",
                Bytes(device),
                Bytes(others)
            );
        }
        if self.released_bytes > 0 {
            text += &format!(
                " Right before, {} of cached segments had been given back.",
                Bytes(self.released_bytes)
            );
        }
        match self.allocations_after {
            0 if self.is_followed => text += " Nothing was allocated afterwards.",
            0 => {}
            more => {
                text += &format!(" The program went on with {}.", counted(more, "allocation"));
            }
        }
        text
    }

    /// The free blocks of the request's own arena, and of others.
    fn seen_pieces(&self) -> String {
        let keeper = match self.kind {
            AllocatorKind::Torch => "PyTorch",
            AllocatorKind::Driver => "What the driver had mapped",
        };
        let mut text = match self.own_free_blocks {
            0 => format!("{keeper} had no free block that could serve it."),
            1 => format!(
                "{keeper} had one free block for such a request, of {}.",
                Bytes(self.own_largest_bytes)
            ),
            blocks => format!(
                "{keeper} had {} free for such a request, in {}, the largest of {}.",
                Bytes(self.own_free_bytes),
                counted(blocks, "piece"),
                Bytes(self.own_largest_bytes)
            ),
        };
        if self.other_fitting > 0 {
            text += &format!(
                " For requests of other pools, streams or sizes {} {} large enough, the largest of {}.",
                counted(self.other_fitting, "free block"),
                if self.other_fitting == 1 {
                    "was"
                } else {
                    "were"
                },
                Bytes(self.other_largest_bytes)
            );
        }
        let is_too_little = matches!(self.verdict(), Verdict::Short | Verdict::RequestTooLarge);
        if is_too_little && self.device_free_bytes.is_some() {
            let all = self.all_free_bytes();
            text += &format!(
                " Everything free together, on the device and in {}, was {}: {} too little.",
                self.kind.keeper(),
                Bytes(all),
                Bytes(self.requested_bytes - all)
            );
        }
        text
    }

    /// The request and the memory around it, in figures, on `device`.
    #[must_use]
    pub fn figures(&self, device: Device<'_>) -> Vec<RequestFigure> {
        let is_host = device.snapshot().is_host(device.index());
        let is_torch = self.kind == AllocatorKind::Torch;
        let some = |bytes: u64| Some(bytes).filter(|&bytes| bytes > 0);
        let missing = self.requested_bytes.saturating_sub(self.all_free_bytes());
        let knows_missing = self.has_state && self.device_free_bytes.is_some();
        let aligned = match is_torch && !is_host {
            true => "as PyTorch aligns it",
            false => "",
        };
        // The host's allocator asks for exactly the requested size.
        let segment = (!is_host).then_some(self.segment_bytes);
        let mut figures = vec![
            figure("requested_bytes", "requested", Some(self.requested_bytes)).with(aligned),
            figure("segment_bytes", "asked of the device", segment),
            figure(
                "device_free_bytes",
                "free on the device",
                self.device_free_bytes,
            ),
        ];
        if self.device_bytes.is_some() {
            figures.extend([
                figure("device_bytes", "device", self.device_bytes),
                figure("others_bytes", "held by others", self.others_bytes())
                    .with("the driver's context, NCCL, other processes"),
            ]);
        }
        figures.extend(self.held_figures());
        figures.extend([
            figure(
                "missing_bytes",
                "missing",
                some(missing).filter(|_| knows_missing),
            )
            .with("even if all that is free were in one piece"),
            figure("given_back_bytes", "given back", some(self.released_bytes))
                .with("cached segments, right before"),
        ]);
        figures
    }

    /// The allocator's memory, and the part of it that could have served the request.
    fn held_figures(&self) -> [RequestFigure; 7] {
        let gap = &self.gap;
        let (held, free) = match self.kind {
            AllocatorKind::Torch => ("held by PyTorch", "free in PyTorch"),
            AllocatorKind::Driver => ("held", "free in that"),
        };
        let known = |bytes: u64| self.has_state.then_some(bytes);
        let some = |bytes: u64| known(bytes).filter(|&bytes| bytes > 0);
        let usable = match self.own_free_blocks {
            0 => "no free block of its pool, stream and size".to_owned(),
            1 => "one free block of its pool, stream and size".to_owned(),
            blocks => format!("in {blocks} free blocks of its pool, stream and size"),
        };
        [
            figure("reserved_bytes", held, known(gap.reserved_bytes)),
            figure("in_use_bytes", "live", known(gap.requested_bytes))
                .with("by what was allocated and not freed"),
            figure("pending_bytes", "pending free", some(gap.pending_bytes))
                .with("freed, but other streams may still use it"),
            figure("rounding_bytes", "rounding", some(gap.rounding_bytes)),
            figure("free_bytes", free, known(gap.free_bytes())),
            figure("usable_bytes", "usable for it", known(self.own_free_bytes)).with(usable),
            figure(
                "largest_usable_bytes",
                "largest usable",
                known(self.own_largest_bytes),
            ),
        ]
    }

    /// Why the request failed, in one sentence without a full stop; `None` if only the live memory explains it.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        self.verdict().said().why.map(|why| why(self))
    }

    /// Why the request may have failed, in sentences that begin with [`why`](Self::why).
    fn may_mean(&self) -> String {
        if self.device_free_bytes.is_none() && self.verdict() == Verdict::Unknown {
            return "The file does not say how much the device had free, so it is not known why that was not enough."
                .to_owned();
        }
        let explanation = self.explanation();
        match self.why() {
            Some(why) => format!("{why}. {explanation}").trim_end().to_owned(),
            None => explanation,
        }
    }

    /// The background of [`why`](Self::why); may be empty.
    #[must_use]
    pub fn explanation(&self) -> String {
        let said = self.verdict().said();
        let is_driver = self.kind == AllocatorKind::Driver && !said.driver_means.is_empty();
        match said.means_here {
            _ if is_driver => said.driver_means.to_owned(),
            Some(means) => means(self),
            None => said.means.to_owned(),
        }
    }

    /// The possible reasons and the advice. If the failure ended a first pass that needs more memory than exists, both
    /// are about the pass.
    #[must_use]
    pub fn explained(&self, device: Device<'_>, config: &AllocatorConfig) -> Explained {
        let mut to_try = self.to_try();
        if let Some(pass) = FirstPass::of(device, self) {
            to_try.insert(0, pass.advice().to_owned());
            return Explained {
                may_mean: format!("{}. {}", pass.title(), pass.explanation()),
                setting: None,
                to_try,
            };
        }
        let joins = self.kind == AllocatorKind::Torch && self.verdict().said().is_scattered;
        Explained {
            may_mean: self.may_mean(),
            setting: SettingAdvice::expandable(config, JOINS).filter(|_| joins),
            to_try,
        }
    }

    fn to_try(&self) -> Vec<String> {
        let said = self.verdict().said();
        if self.kind == AllocatorKind::Torch {
            let dry_run = self.dry_run.clone().filter(|_| said.asks_for_less);
            let list = said.to_try.iter().map(|&text| text.to_owned());
            return list.chain(dry_run).collect();
        }
        let mut list = said.driver_to_try.to_vec();
        let others = self.others_bytes().unwrap_or(0);
        if others >= self.device_bytes.unwrap_or(u64::MAX) / 10 {
            list.push(WHO);
        }
        list.push(match self.verdict() {
            Verdict::RequestTooLarge => ASK_SIZE,
            _ => "Look through what was live then: buffers kept from before, and who holds them.",
        });
        if said.asks_for_less {
            list.push("Work on less at a time: a smaller batch, shorter sequences, fewer buffers at once.");
        }
        list.into_iter().map(str::to_owned).collect()
    }
}
