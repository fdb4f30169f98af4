//! Replays of the allocator model with other settings.

use vramscope_core::model::DeviceIndex;
use vramscope_core::sorting::SortFew;
use vramscope_plan::what_if::{Baseline, Trial, WhatIf};
use vramscope_protocol::Axis;
use vramscope_protocol::views::what_if::{Replayed, ReservedCurves, Tries, Try};
use vramscope_view::minimap::Minimap;
use vramscope_view::reserved::Steps;

use super::super::super::document::Device;
use super::super::super::pace::Pace;
use super::SLICE_MS;

/// The most replays kept, so that the user can go back to earlier settings at once.
const KEPT: usize = 24;
/// The most steps of reserved memory, 16 bytes each, that all of them may have together. The newest is always kept.
const MOST_STEPS: usize = 2_000_000;
/// The most columns of a curve.
const MOST_COLUMNS: u32 = 4_000;

/// The replays so far.
#[derive(Default)]
pub(super) struct Replays {
    /// The newest first.
    known: Vec<KeptReplay>,
    /// The replay under way, with its device and changes.
    running: Option<(DeviceIndex, String, Trial)>,
    /// The suggestions that were replayed, with their ranks. They outlast the kept replays.
    tried: Vec<(DeviceIndex, (u8, u64), Try)>,
}

struct KeptReplay {
    device: DeviceIndex,
    changes: String,
    outcome: Result<WhatIf, String>,
}

impl Replays {
    /// Replays with these changes for a slice of time, unless the outcome is known.
    pub(super) fn replayed(
        &mut self,
        device: Device<'_>,
        baseline: &Baseline,
        changes: &str,
        (axis, columns): (Axis, u32),
    ) -> Replayed {
        let of = device.history.device;
        if self.known(of, changes).is_none() {
            match self.go_on(device, baseline, changes) {
                Some(outcome) => self.keep(of, changes, outcome),
                None => {
                    return Replayed {
                        device: of,
                        ..Replayed::default()
                    };
                }
            }
        }
        let outcome = self.known(of, changes);
        let refusal = outcome.and_then(|outcome| outcome.err().cloned());
        let own = &baseline.own;
        let changed = outcome.and_then(Result::ok);
        let settings = |of: &WhatIf| (of.settings.clone(), of.capacity_bytes, of.allowed_bytes);
        let changed = changed.filter(|changed| settings(changed) != settings(own));
        let curves = curves(device, axis, columns.min(MOST_COLUMNS), own, changed);
        Replayed {
            device: of,
            refusal,
            not_modelled: baseline.notes.clone(),
            settings: changed.unwrap_or(own).settings.clone(),
            limit_bytes: changed.unwrap_or(own).limit_bytes(),
            real_bytes: baseline.error.reserved_bytes,
            own: Some(own.brief()),
            changed: changed.map(WhatIf::brief),
            trust: baseline.trust.clone(),
            curves,
            is_done: true,
        }
    }
}

impl Replays {
    /// Reserved memory in a replay with these changes; empty if it is not known.
    pub(super) fn reserved_steps(&self, device: DeviceIndex, changes: &str) -> &Steps {
        match self.known(device, changes) {
            Some(Ok(outcome)) => &outcome.reserved_steps,
            Some(Err(_)) | None => &[],
        }
    }

    /// The outcome of a replay, if it is kept.
    fn known(&self, device: DeviceIndex, changes: &str) -> Option<Result<&WhatIf, &String>> {
        let is_it = |known: &&KeptReplay| known.device == device && known.changes == changes;
        Some(self.known.iter().find(is_it)?.outcome.as_ref())
    }

    /// Replays with the suggestions, one after the other, for a slice of time.
    pub(super) fn tries(&mut self, device: Device<'_>, baseline: &Baseline) -> Tries {
        let of = device.history.device;
        let mut waiting: Vec<&String> = baseline.suggestions.iter().collect();
        waiting.retain(|&changes| {
            let is_it = |(own, _, row): &(_, _, Try)| *own == of && row.changes == *changes;
            !self.tried.iter().any(is_it)
        });
        if let Some(&changes) = waiting.first() {
            if self.known(of, changes).is_none()
                && let Some(outcome) = self.go_on(device, baseline, changes)
            {
                self.keep(of, changes, outcome);
            }
            if let Some(known) = self.known(of, changes).map(Result::ok) {
                let rank = known.map_or((u8::MAX, 0), WhatIf::rank);
                let tried = Try {
                    changes: changes.clone(),
                    outcome: known.map(WhatIf::brief),
                };
                self.tried.push((of, rank, tried));
                waiting.remove(0);
            }
        }
        let mut rows: Vec<_> = self.tried.iter().filter(|(own, ..)| *own == of).collect();
        if waiting.is_empty() {
            rows.sort_few_by_key(|(_, rank, _)| *rank);
        }
        let waiting = waiting.iter().map(|&changes| Try {
            changes: changes.clone(),
            outcome: None,
        });
        let is_done = waiting.len() == 0;
        let rows = rows.into_iter().map(|(.., row)| row.clone());
        Tries {
            device: of,
            rows: rows.chain(waiting).collect(),
            is_done,
        }
    }

    /// Works for a slice of time; the outcome if that was the last, else `None`.
    fn go_on(
        &mut self,
        device: Device<'_>,
        baseline: &Baseline,
        changes: &str,
    ) -> Option<Result<WhatIf, String>> {
        let of = device.history.device;
        let running = self.running.take();
        let same = running.filter(|(device, own, _)| *device == of && own == changes);
        let mut trial = match same.map(|(.., trial)| Ok(trial)) {
            Some(trial) => trial,
            None => baseline.trial(*device, changes),
        };
        let pace = Pace::of(SLICE_MS);
        let is_done = match &mut trial {
            Ok(running) => running.run(*device, &mut || pace.is_over()),
            Err(_) => true,
        };
        match trial {
            Ok(running) if !is_done => {
                self.running = Some((of, changes.to_owned(), running));
                None
            }
            over => Some(over.map(|trial| trial.into_what_if(*device, baseline))),
        }
    }

    fn keep(&mut self, device: DeviceIndex, changes: &str, outcome: Result<WhatIf, String>) {
        let known = KeptReplay {
            device,
            changes: changes.to_owned(),
            outcome,
        };
        self.known.insert(0, known);
        let mut steps = 0;
        let fits = self.known.iter().take(KEPT).take_while(|known| {
            steps += known.steps();
            steps <= MOST_STEPS
        });
        let fitting = fits.count().max(1);
        self.known.truncate(fitting);
    }
}

impl KeptReplay {
    /// Number of its steps of reserved memory.
    fn steps(&self) -> usize {
        let steps = self.outcome.as_ref().map(|of| of.reserved_steps.len());
        steps.unwrap_or(0)
    }
}

fn curves(
    device: Device<'_>,
    axis: Axis,
    columns: u32,
    own: &WhatIf,
    changed: Option<&WhatIf>,
) -> ReservedCurves {
    let bands = device.bands(axis);
    let map = |steps: &[(u32, u64)]| Minimap::new(&bands, device.timeline(), steps, columns);
    let real = map(&device.history.reserved_steps);
    let changed_bytes = changed.map(|changed| map(&changed.reserved_steps).reserved_bytes);
    let refused = changed.unwrap_or(own).first_refused;
    ReservedCurves {
        axis,
        x_end: bands.x_end(),
        active_bytes: real.active_bytes,
        real_bytes: real.reserved_bytes,
        own_bytes: map(&own.reserved_steps).reserved_bytes,
        changed_bytes: changed_bytes.unwrap_or_default(),
        refused_x: refused.map(|(moment, _)| bands.moment_x(moment as usize)),
    }
}
