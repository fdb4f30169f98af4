//! The text of a failed request, for PyTorch's allocator and for the driver.

use super::super::words::counted;
use super::super::{Figure, SettingAdvice};
use super::sentences::{self, ASK_SIZE, JOINS, NO_ARRANGEMENT};
use super::{FailedRequest, Verdict};
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::settings::AllocatorConfig;
use crate::analysis::recording::Recording;
use crate::units::{Bytes, Count};

impl FailedRequest {
    /// What happened. `failures`: number of failed requests including this one; `at`: see [`at_site`].
    ///
    /// [`at_site`]: super::words::at_site
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
                " Of the device's {}, {} were held by others: other processes, CUDA contexts, modules, the driver.",
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

    /// The figures with their labels, as far as they are known.
    pub(in super::super) fn figures(&self) -> Vec<Figure> {
        let gap = &self.gap;
        let (held, free) = match self.kind {
            AllocatorKind::Torch => ("held by PyTorch", "free in PyTorch"),
            AllocatorKind::Driver => ("held by the program", "free in that"),
        };
        let figures = [
            ("requested", Some(self.requested_bytes)),
            ("free on the device", self.device_free_bytes),
            ("held by others", self.others_bytes()),
            (held, Some(gap.reserved_bytes)),
            ("live", Some(gap.requested_bytes)),
            (
                "waiting for other streams",
                Some(gap.pending_bytes).filter(|&bytes| bytes > 0),
            ),
            (
                "rounding",
                Some(gap.rounding_bytes).filter(|&bytes| bytes > 0),
            ),
            (free, Some(gap.free_bytes())),
            ("usable for the request", Some(self.own_free_bytes)),
            ("largest usable piece", Some(self.own_largest_bytes)),
        ];
        let known = if self.has_state { figures.len() } else { 2 };
        let figures = figures.into_iter().take(known);
        figures
            .filter_map(|(label, bytes)| {
                let label = label.to_owned();
                bytes.map(|bytes| Figure { label, bytes })
            })
            .collect()
    }

    /// Why the request failed, in one sentence without its stop; `None` if only what was live then tells why.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        let wanted = Bytes(self.requested_bytes);
        if let Some(device) = self.exceeded_bytes() {
            return Some(sentences::larger_than(wanted, Bytes(device)));
        }
        let left = Bytes(self.device_free_bytes?);
        let (free, largest) = (Bytes(self.own_free_bytes), Bytes(self.own_largest_bytes));
        Some(match self.verdict() {
            Verdict::Limit => self.limit(),
            Verdict::DeviceHadEnough => sentences::refused(left, wanted),
            Verdict::Waited => format!(
                "A block of {} that would have served it was freed, but waited for another stream",
                Bytes(self.waited.map_or(0, |block| block.bytes))
            ),
            Verdict::PoolNotEmptied => format!(
                "Its private pool kept {} in segments in which nothing was live, which would have served it",
                Bytes(self.gap.empty_bytes)
            ),
            Verdict::OwnBlockFits => {
                format!("A free block of {largest} was not used for a request of {wanted}")
            }
            Verdict::OtherBlockFits => format!(
                "A free block of {} would have served it, but belongs to another {}",
                Bytes(self.other_largest_bytes),
                match self.kind {
                    AllocatorKind::Torch => "pool or stream",
                    AllocatorKind::Driver => "memory pool",
                }
            ),
            Verdict::OwnPiecesSuffice => {
                format!("Fragmented: {free} free, the largest piece {largest}")
            }
            Verdict::PiecesAndDeviceSuffice => format!(
                "Fragmented: {free} free in pieces, the largest {largest}, and {left} left on the device"
            ),
            Verdict::SegmentTooLarge => format!(
                "{left} were left on the device, but not the {} that a request of {wanted} takes there",
                Bytes(self.segment_bytes)
            ),
            Verdict::AllFreeSuffices => format!(
                "Fragmented: {} free in several pools or streams, the largest piece that it could use {largest}",
                Bytes(self.all_free_bytes())
            ),
            Verdict::Others => self.others(),
            Verdict::RequestTooLarge => sentences::too_large(wanted, Bytes(self.reachable_bytes())),
            Verdict::Unknown | Verdict::LittleFree | Verdict::Short => return None,
        })
    }

    /// Why the request may have failed, in sentences that begin with [`why`](Self::why).
    #[must_use]
    pub fn may_mean(&self) -> String {
        if self.device_free_bytes.is_none() && self.verdict() == Verdict::Unknown {
            return "The file does not tell what the device had free, so that it is not known why that did not do."
                .to_owned();
        }
        let explanation = self.explanation();
        match self.why() {
            Some(why) => format!("{why}. {explanation}").trim_end().to_owned(),
            None => explanation,
        }
    }

    /// What is behind [`why`](Self::why); may be empty.
    #[must_use]
    pub fn explanation(&self) -> String {
        let text = match (self.kind, self.verdict()) {
            (_, Verdict::RequestTooLarge) if self.exceeded_bytes().is_some() => {
                sentences::LARGER_MEANS
            }
            (_, Verdict::RequestTooLarge) => sentences::TOO_LARGE_MEANS,
            (_, Verdict::Others) => return self.taken_means(),
            (AllocatorKind::Driver, verdict) => driver_explanation(verdict),
            (_, Verdict::Limit) => {
                return format!(
                    "The device had enough. PyTorch held {} and refused without asking CUDA.",
                    Bytes(self.gap.reserved_bytes)
                );
            }
            (_, Verdict::Waited) => return self.waited_means(),
            (_, Verdict::Short) => {
                return format!(
                    "{NO_ARRANGEMENT} What else is on the device (the CUDA context, NCCL, other processes) is not in a snapshot."
                );
            }
            (_, verdict) => verdict.means(),
        };
        text.to_owned()
    }

    fn limit(&self) -> String {
        let share = self.granted_share.unwrap_or(1.0);
        let of = match self.device_bytes {
            Some(device) => format!(
                " of the device, {} of {}",
                Bytes((device as f64 * share) as u64),
                Bytes(device)
            ),
            None => " of the device".to_owned(),
        };
        format!("Refused at a limit: per_process_memory_fraction grants this process {share}{of}")
    }

    fn waited_means(&self) -> String {
        let served = match self.waited.and_then(|block| block.served) {
            Some(moment) => format!(
                " The same request was served from it at event {}, without new memory from CUDA.",
                Count(moment.into())
            ),
            None => String::new(),
        };
        format!(
            "PyTorch waits for such blocks before it gives up, but then asks CUDA instead of looking at them again \
             (pytorch#189504).{served}"
        )
    }

    fn others(&self) -> String {
        let (did, bytes) = match self.others_bytes() {
            Some(bytes) => ("held", bytes),
            None => ("took", self.taken_bytes()),
        };
        sentences::others(did, Bytes(bytes))
    }

    fn taken_means(&self) -> String {
        match self.others_bytes() {
            Some(_) => String::new(),
            None => format!(
                "Earlier, this process had or could have had {}.",
                Bytes(self.earlier_bytes)
            ),
        }
    }

    /// A setting of the allocator that may serve it, as long as no replay tells.
    #[must_use]
    pub fn setting(&self, config: &AllocatorConfig) -> Option<SettingAdvice> {
        let is_scattered = matches!(
            self.verdict(),
            Verdict::OwnPiecesSuffice | Verdict::PiecesAndDeviceSuffice | Verdict::AllFreeSuffices
        );
        let setting = SettingAdvice::expandable(config, JOINS);
        setting.filter(|_| is_scattered && self.kind == AllocatorKind::Torch)
    }

    /// What to try beside a [`setting`](Self::setting), a sentence each.
    #[must_use]
    pub fn to_try(&self) -> Vec<String> {
        if self.kind == AllocatorKind::Driver {
            return self.driver_to_try();
        }
        let verdict = self.verdict();
        let list = verdict.to_try().into_iter().map(str::to_owned);
        let dry_run = self.dry_run.clone().filter(|_| verdict.asks_for_less());
        list.chain(dry_run).collect()
    }

    /// What to try if an allocation of the driver failed.
    fn driver_to_try(&self) -> Vec<String> {
        let verdict = self.verdict();
        let mut list: Vec<&str> = Vec::new();
        if matches!(verdict, Verdict::DeviceHadEnough | Verdict::Limit) {
            list.push("Look for a limit of the pool (maxSize in cuMemPoolCreate), and at nvidia-smi for other processes.");
        }
        if verdict == Verdict::OwnBlockFits {
            list.push(
                "Allocate on the stream that freed the memory, or order the two streams by an event; synchronize the stream \
                 that freed it.",
            );
        }
        if matches!(
            verdict,
            Verdict::OwnPiecesSuffice | Verdict::PiecesAndDeviceSuffice | Verdict::AllFreeSuffices
        ) {
            list.push("Keep what lives long apart from what comes and goes: a pool of its own (cuMemPoolCreate), or one large allocation that the program divides itself.");
        }
        if matches!(verdict, Verdict::OtherBlockFits | Verdict::AllFreeSuffices) {
            list.push("Synchronize, then cuMemPoolTrimTo(pool, 0) for the pools that hold free memory; or allocate from one pool only.");
        }
        let others = self.others_bytes().unwrap_or(0);
        if others >= self.device_bytes.unwrap_or(u64::MAX) / 10 {
            list.push(
                "See who else is on the device: nvidia-smi lists processes and what each holds.",
            );
        }
        list.push(match verdict {
            Verdict::RequestTooLarge => ASK_SIZE,
            _ => "Look through what was live then: buffers kept from before, and who holds them.",
        });
        if matches!(
            verdict,
            Verdict::Short | Verdict::LittleFree | Verdict::SegmentTooLarge
        ) {
            list.push("Work on less at a time: a smaller batch, shorter sequences, fewer buffers at once.");
        }
        list.into_iter().map(str::to_owned).collect()
    }
}

/// What is behind a failure of the driver.
fn driver_explanation(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::DeviceHadEnough => {
            "Something other than the device's memory refused the request: a limit of the memory pool, or another \
             process that took memory at that instant."
        }
        Verdict::SegmentTooLarge => {
            "The driver maps memory in pages of 2 MiB, and there was no room for the last one."
        }
        Verdict::Unknown => {
            "The file has no segments that can be trusted, so that it is not known what the program held and why \
             that did not do."
        }
        Verdict::OwnBlockFits => {
            "Memory that was freed on one stream serves another only after the first has got there; and cuMemAlloc does \
             not use what pools hold."
        }
        Verdict::OtherBlockFits | Verdict::AllFreeSuffices => "Memory pools do not share.",
        Verdict::OwnPiecesSuffice => {
            "There was enough free memory in the pool, but not in one piece."
        }
        Verdict::PiecesAndDeviceSuffice => {
            "They would have been enough together: the driver could not give the pieces back, as other allocations lie in \
             the same mappings."
        }
        Verdict::LittleFree => {
            "What was free would have done for this request, but was little and in pieces: less must be live at that moment, or \
             others must hold less."
        }
        // The rest is only told of PyTorch's allocator, or with figures.
        Verdict::Others
        | Verdict::Limit
        | Verdict::Waited
        | Verdict::PoolNotEmptied
        | Verdict::RequestTooLarge
        | Verdict::Short => {
            "No other arrangement of these blocks would have helped: less must be live at that moment, or others must hold less."
        }
    }
}
