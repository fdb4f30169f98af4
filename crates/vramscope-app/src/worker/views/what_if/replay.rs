//! What other settings would do: the model of the allocator, run with them.

use vramscope_core::analysis::allocator_model::ModelSettings;
use vramscope_core::analysis::plan::what_if::{Baseline, ModelError, Trial, WhatIf};
use vramscope_core::model::DeviceIndex;
use vramscope_view::minimap::Minimap;

use super::super::super::document::{Device, Document};
use super::super::super::pace::Pace;
use super::SLICE_MS;
use crate::protocol::Axis;
use crate::protocol::views::what_if::{ModelFigures, Replayed, ReservedCurves, Verdict};

/// What-ifs that are kept: going back to settings that were tried is at once.
const KEPT: usize = 24;
/// Most columns of a curve.
const MOST_COLUMNS: u32 = 4_000;

/// What-ifs that are known.
#[derive(Default)]
pub(super) struct Replays {
    /// The newest first.
    known: Vec<Known>,
    /// The one that runs: of which device, and with which changes.
    running: Option<(DeviceIndex, String, Trial)>,
}

struct Known {
    device: DeviceIndex,
    changes: String,
    outcome: Result<WhatIf, String>,
}

impl Replays {
    /// Replays with these changes for a slice, unless that is known.
    pub(super) fn replayed(
        &mut self,
        document: &Document,
        device: Device<'_>,
        baseline: &Baseline,
        changes: &str,
        (axis, columns): (Axis, u32),
    ) -> Replayed {
        let of = device.history.device;
        let is_it = |known: &Known| known.device == of && known.changes == changes;
        if !self.known.iter().any(is_it) {
            match self.go_on(document, device, baseline, changes) {
                Some(outcome) => self.keep(of, changes, outcome),
                None => {
                    return Replayed {
                        device: of,
                        ..Replayed::default()
                    };
                }
            }
        }
        let found = self.known.iter().find(|known| is_it(known));
        let outcome = found.map(|known| known.outcome.as_ref());
        let refusal = outcome.and_then(|outcome| outcome.err().cloned());
        let own = &baseline.own;
        let changed = outcome.and_then(Result::ok);
        let changed = changed.filter(|changed| changed.settings != own.settings);
        let limit = ModelSettings::of_device(document.recording(device)).with_changes(changes);
        let curves = curves(device, axis, columns.min(MOST_COLUMNS), own, changed);
        Replayed {
            device: of,
            refusal,
            not_modelled: baseline.notes.clone(),
            own_settings: own.settings.clone(),
            settings: changed.unwrap_or(own).settings.clone(),
            limit_bytes: limit.ok().and_then(|settings| settings.capacity_bytes),
            real_bytes: baseline.error.reserved_bytes,
            own: Some(figures(own)),
            changed: changed.map(figures),
            verdict: Some(verdict(baseline.error, own, changed)),
            curves,
            is_done: true,
        }
    }
}

impl Replays {
    /// Works for a slice; the outcome, if that was the last.
    fn go_on(
        &mut self,
        document: &Document,
        device: Device<'_>,
        baseline: &Baseline,
        changes: &str,
    ) -> Option<Result<WhatIf, String>> {
        let of = device.history.device;
        let recording = document.recording(device);
        let running = self.running.take();
        let same = running.filter(|(device, own, _)| *device == of && own == changes);
        let mut trial = match same.map(|(.., trial)| Ok(trial)) {
            Some(trial) => trial,
            None => baseline.trial(recording, changes),
        };
        let pace = Pace::of(SLICE_MS);
        let is_done = match &mut trial {
            Ok(running) => running.run(recording, &mut || pace.is_over()),
            Err(_) => true,
        };
        match trial {
            Ok(running) if !is_done => {
                self.running = Some((of, changes.to_owned(), running));
                None
            }
            over => Some(over.map(Trial::into_what_if)),
        }
    }

    fn keep(&mut self, device: DeviceIndex, changes: &str, outcome: Result<WhatIf, String>) {
        self.known.truncate(KEPT - 1);
        let known = Known {
            device,
            changes: changes.to_owned(),
            outcome,
        };
        self.known.insert(0, known);
    }
}

fn figures(of: &WhatIf) -> ModelFigures {
    ModelFigures {
        peak_bytes: of.peak_reserved_bytes,
        free_bytes: of.free_bytes_at_peak,
        rounding_bytes: of.rounding_bytes_at_peak,
        refused: of.refused,
        rescued: of.rescued,
        retries: of.retries,
    }
}

/// What the comparison says.
fn verdict(error: ModelError, own: &WhatIf, changed: Option<&WhatIf>) -> Verdict {
    let change_bytes = changed.map(|changed| changed.change_bytes);
    let own_bytes = own.peak_reserved_bytes.max(1) as f64;
    Verdict {
        error_bytes: error.error_bytes,
        error_percent: error.share() * 100.0,
        change_bytes,
        change_percent: change_bytes.map_or(0.0, |change| change as f64 / own_bytes * 100.0),
        is_within_error: change_bytes.is_some_and(|change| {
            change != 0 && change.unsigned_abs() <= error.error_bytes.unsigned_abs()
        }),
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
    let map = |steps: &[(u32, u64)]| Minimap::new(&bands, device.index(), steps, columns);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_weighed_against_the_error() {
        let error = ModelError {
            modelled_bytes: 1_020,
            reserved_bytes: 1_000,
            error_bytes: 20,
        };
        let of = |peak: u64, change_bytes| WhatIf {
            peak_reserved_bytes: peak,
            change_bytes,
            ..WhatIf::default()
        };
        let own = of(900, 0);
        let much = verdict(error, &own, Some(&of(450, -450)));
        assert_eq!((much.error_bytes, much.change_bytes), (20, Some(-450)));
        assert_eq!((much.error_percent, much.change_percent), (2.0, -50.0));
        assert!(!much.is_within_error);
        assert!(verdict(error, &own, Some(&of(890, -10))).is_within_error);
        assert_eq!(verdict(error, &own, None).change_bytes, None);
    }
}
