//! What other settings would do: the model of the allocator, run with them.

use vramscope_core::analysis::allocator_model::{ModelSettings, Outcome, Start, replay};
use vramscope_core::model::DeviceIndex;
use vramscope_view::minimap::Minimap;

use super::super::super::document::{Device, Document};
use crate::protocol::Axis;
use crate::protocol::views::what_if::{ModelFigures, Replayed, ReservedCurves, Verdict};

/// Outcomes that are kept: going back to settings that were tried is at once.
const KEPT: usize = 24;
/// Most columns of a curve.
const MOST_COLUMNS: u32 = 4_000;
/// Most marks of refused requests: more only cover each other.
const MOST_REFUSED: usize = 200;

/// Replays that are known.
#[derive(Default)]
pub(super) struct Replays {
    /// The newest first.
    known: Vec<Known>,
}

struct Known {
    device: DeviceIndex,
    settings: ModelSettings,
    start: Start,
    outcome: Outcome,
}

impl Replays {
    /// Replays the next of what these changes need, if there is any left; what is known then.
    pub(super) fn go_on(
        &mut self,
        document: &Document,
        device: Device<'_>,
        changes: &str,
        (axis, columns): (Axis, u32),
    ) -> Replayed {
        let snapshot = &document.snapshot;
        let own = ModelSettings::of(snapshot);
        let refusal = ModelSettings::refusal(snapshot).map(str::to_owned);
        let changed = match refusal.map_or_else(|| own.with_changes(changes), Err) {
            Ok(changed) => changed,
            Err(refusal) => {
                return Replayed {
                    device: device.history.device,
                    refusal: Some(refusal),
                    own_settings: own.to_string(),
                    is_done: true,
                    ..Replayed::default()
                };
            }
        };
        let mut needed = vec![
            (own.clone(), Start::AsRecorded),
            (own.clone(), Start::Afresh),
        ];
        if changed != own {
            needed.push((changed.clone(), Start::Afresh));
        }
        self.replay_next(document, device, &needed);
        let of = device.history.device;
        let outcome = |place: usize| self.get(of, needed.get(place)?);
        let [checked, by_own, by_changed] = [0, 1, 2].map(outcome);
        let real_bytes = real_peak(device);
        Replayed {
            device: of,
            refusal: None,
            not_modelled: ModelSettings::not_modelled(snapshot),
            own_settings: own.to_string(),
            settings: changed.to_string(),
            limit_bytes: changed.capacity_bytes,
            real_bytes,
            checked: checked.map(figures),
            own: by_own.map(figures),
            changed: by_changed.map(figures),
            verdict: verdict(real_bytes, [checked, by_own, by_changed]),
            curves: curves(
                device,
                axis,
                columns.min(MOST_COLUMNS),
                [by_own, by_changed],
            ),
            is_done: (needed.iter()).all(|of_these| self.get(of, of_these).is_some()),
        }
    }

    /// Replays the first that is not known yet.
    fn replay_next(
        &mut self,
        document: &Document,
        device: Device<'_>,
        needed: &[(ModelSettings, Start)],
    ) {
        let of = device.history.device;
        let next = needed
            .iter()
            .find(|of_these| self.get(of, of_these).is_none());
        if let Some((settings, start)) = next {
            self.known.truncate(KEPT - 1);
            let known = Known {
                device: of,
                settings: settings.clone(),
                start: *start,
                outcome: replay(document.recording(device), settings, *start),
            };
            self.known.insert(0, known);
        }
    }

    fn get(
        &self,
        device: DeviceIndex,
        (settings, start): &(ModelSettings, Start),
    ) -> Option<&Outcome> {
        let is_it = |known: &&Known| {
            (known.device, known.start) == (device, *start) && known.settings == *settings
        };
        self.known.iter().find(is_it).map(|known| &known.outcome)
    }
}

fn real_peak(device: Device<'_>) -> Option<u64> {
    let steps = &device.history.reserved_steps;
    let peak = steps.iter().map(|&(_, bytes)| bytes).max();
    peak.filter(|&bytes| bytes > 0)
}

fn figures(outcome: &Outcome) -> ModelFigures {
    ModelFigures {
        peak_bytes: outcome.peak_reserved_bytes,
        free_bytes: outcome.free_bytes_at_peak,
        rounding_bytes: outcome.rounding_bytes_at_peak,
        refused: outcome.refused.len() as u64,
        retries: outcome.retries,
    }
}

/// What the comparison says, if the file's own settings are replayed.
fn verdict(
    real_bytes: Option<u64>,
    [checked, own, changed]: [Option<&Outcome>; 3],
) -> Option<Verdict> {
    let less = |a: u64, b: u64| i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(i64::MAX);
    let share = |part: i64, of: u64| part as f64 / of.max(1) as f64 * 100.0;
    let (checked, own) = (checked?.peak_reserved_bytes, own?.peak_reserved_bytes);
    let error_bytes = real_bytes.map(|real| less(checked, real));
    let change_bytes = changed.map(|changed| less(changed.peak_reserved_bytes, own));
    Some(Verdict {
        error_bytes,
        error_percent: error_bytes
            .zip(real_bytes)
            .map_or(0.0, |(error, real)| share(error, real)),
        change_bytes,
        change_percent: change_bytes.map_or(0.0, |change| share(change, own)),
        is_within_error: error_bytes
            .zip(change_bytes)
            .is_some_and(|(error, change)| {
                change != 0 && change.unsigned_abs() <= error.unsigned_abs()
            }),
    })
}

fn curves(
    device: Device<'_>,
    axis: Axis,
    columns: u32,
    [own, changed]: [Option<&Outcome>; 2],
) -> ReservedCurves {
    let bands = device.bands(axis);
    let map = |steps: &[(u32, u64)]| Minimap::new(&bands, device.index(), steps, columns);
    let reserved = |outcome: Option<&Outcome>| {
        outcome.map_or_else(Vec::new, |outcome| {
            map(&outcome.reserved_steps).reserved_bytes
        })
    };
    let real: &[(u32, u64)] = if device.knows_segments() {
        &device.history.reserved_steps
    } else {
        &[]
    };
    let real = map(real);
    let refused = changed.or(own).map_or(&[][..], |outcome| &outcome.refused);
    ReservedCurves {
        axis,
        x_end: bands.x_end(),
        active_bytes: real.active_bytes,
        real_bytes: real.reserved_bytes,
        own_bytes: reserved(own),
        changed_bytes: reserved(changed),
        refused_x: refused
            .iter()
            .take(MOST_REFUSED)
            .map(|refused| bands.moment_x(refused.moment as usize))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(bytes: u64) -> Outcome {
        Outcome {
            peak_reserved_bytes: bytes,
            ..Outcome::default()
        }
    }

    #[test]
    fn a_change_is_weighed_against_the_error() {
        let (checked, own, less, little) = (peak(1_020), peak(900), peak(450), peak(890));
        let of = |changed| verdict(Some(1_000), [Some(&checked), Some(&own), Some(changed)]);
        let much = of(&less).unwrap();
        assert_eq!(
            (much.error_bytes, much.change_bytes),
            (Some(20), Some(-450))
        );
        assert_eq!((much.error_percent, much.change_percent), (2.0, -50.0));
        assert!(!much.is_within_error);
        assert!(of(&little).unwrap().is_within_error);
        let same = verdict(None, [Some(&checked), Some(&own), None]).unwrap();
        assert_eq!((same.error_bytes, same.change_bytes), (None, None));
        assert_eq!(verdict(Some(1), [Some(&checked), None, None]), None);
    }
}
