//! Replays of the allocator model with other settings.

use vramscope_core::analysis::recording::Device;
use vramscope_core::sorting::SortFew;
use vramscope_plan::what_if::{Baseline, WhatIf};
use vramscope_protocol::Axis;
use vramscope_protocol::views::what_if::{Replayed, ReservedCurves, Tries, Try, What};
use vramscope_view::minimap::Minimap;
use vramscope_view::raster::{Bands, TimelineIndex};

/// The most replays kept, so that the user can go back to earlier settings at once.
const KEPT: usize = 24;
/// The most steps of reserved memory, 16 bytes each, that all of them may have together. The newest is always kept.
const MOST_STEPS: usize = 2_000_000;
/// The most columns of a curve.
const MOST_COLUMNS: u32 = 4_000;

/// The axis of curves, and the most columns that they may have.
pub(super) type Columns = (Axis, u32);

/// The replays of one device so far.
#[derive(Default)]
pub(super) struct Replays {
    /// The newest first.
    known: Vec<Replay>,
    /// The suggestions that were replayed, with their ranks. They outlast the kept replays.
    tried: Vec<((u8, u64), Try)>,
}

/// A replay with changed settings, or why there is none.
pub(super) struct Replay {
    changes: String,
    outcome: Result<WhatIf, String>,
}

impl Replays {
    /// The replay with these changes.
    pub(super) fn replayed(
        &mut self,
        device: Device<'_>,
        baseline: &Baseline,
        changes: &str,
    ) -> &Replay {
        let place = self.known.iter().position(|known| known.changes == changes);
        let place = place.unwrap_or_else(|| {
            self.keep(Replay {
                changes: changes.to_owned(),
                outcome: baseline.what_if(device, changes),
            });
            0
        });
        &self.known[place]
    }

    fn keep(&mut self, replay: Replay) {
        self.known.insert(0, replay);
        let mut steps = 0;
        let fits = self.known.iter().take(KEPT).take_while(|known| {
            let of_this = known.outcome.as_ref().map(|of| of.reserved_steps.len());
            steps += of_this.unwrap_or(0);
            steps <= MOST_STEPS
        });
        let fitting = fits.count().max(1);
        self.known.truncate(fitting);
    }

    /// The suggestions, after a replay with the next of them.
    pub(super) fn tries(&mut self, device: Device<'_>, baseline: &Baseline) -> Tries {
        let mut waiting: Vec<&String> = baseline.suggestions.iter().collect();
        waiting.retain(|&changes| self.tried.iter().all(|(_, row)| row.changes != *changes));
        if !waiting.is_empty() {
            let changes = waiting.remove(0);
            let outcome = self
                .replayed(device, baseline, changes)
                .outcome
                .as_ref()
                .ok();
            let rank = outcome.map_or((u8::MAX, 0), WhatIf::rank);
            let tried = Try {
                changes: changes.clone(),
                outcome: outcome.map(WhatIf::brief),
            };
            self.tried.push((rank, tried));
        }
        let is_done = waiting.is_empty();
        let mut rows: Vec<_> = self.tried.iter().collect();
        if is_done {
            rows.sort_few_by_key(|(rank, _)| *rank);
        }
        let waiting = waiting.into_iter().map(|changes| Try {
            changes: changes.clone(),
            outcome: None,
        });
        Tries {
            device: device.index(),
            rows: rows
                .into_iter()
                .map(|(_, row)| row.clone())
                .chain(waiting)
                .collect(),
            is_done,
        }
    }
}

impl Replay {
    /// The replay for the page, and what of it the worker can draw.
    pub(super) fn told(
        &self,
        device: Device<'_>,
        baseline: &Baseline,
        index: &TimelineIndex,
        columns: Columns,
    ) -> (Replayed, Option<What>) {
        let own = &baseline.own;
        let outcome = self.outcome.as_ref();
        let settings = |of: &WhatIf| (of.settings.clone(), of.capacity_bytes, of.allowed_bytes);
        let changed = outcome.ok().filter(|&of| settings(of) != settings(own));
        let replayed = Replayed {
            device: device.index(),
            refusal: outcome.err().cloned(),
            not_modelled: baseline.notes.clone(),
            settings: changed.unwrap_or(own).settings.clone(),
            limit_bytes: changed.unwrap_or(own).limit_bytes(),
            real_bytes: baseline.error.reserved_bytes,
            own: Some(own.brief()),
            changed: changed.map(WhatIf::brief),
            trust: baseline.trust.clone(),
            curves: curves(device, index, columns, own, changed),
        };
        let drawable = outcome.ok().map(|of| What::Replay {
            changes: self.changes.clone(),
            reserved_steps: of.reserved_steps.clone(),
        });
        (replayed, drawable)
    }
}

/// The index of a device's timeline, by which its curves are drawn.
pub(super) fn index(device: Device<'_>) -> TimelineIndex {
    TimelineIndex::new(&Bands::of(device.history, false))
}

fn curves(
    device: Device<'_>,
    index: &TimelineIndex,
    (axis, columns): Columns,
    own: &WhatIf,
    changed: Option<&WhatIf>,
) -> ReservedCurves {
    let bands = Bands::of(device.history, axis == Axis::Time);
    let columns = columns.min(MOST_COLUMNS);
    let map = |steps: &[(u32, u64)]| Minimap::new(&bands, index, steps, columns);
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
