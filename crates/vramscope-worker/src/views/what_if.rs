//! Answers to [`protocol::views::what_if`](vramscope_protocol::views::what_if).

mod replay;

use vramscope_core::analysis::report::findings::helpful;
use vramscope_core::model::DeviceIndex;
use vramscope_core::sorting::SortFew;
use vramscope_plan::what_if::{Modelling, conclusion, is_worth_replaying};
use vramscope_plan::{ArenaKey, DevicePlan, Planner, StepKind};
use vramscope_protocol::Axis;
use vramscope_protocol::views::what_if::{
    Answer, ArenaRows, Concluded, Planned, ProgramRows, Question, Replayed, Stage,
};
use vramscope_view::map::{GroupMark, PackedGroup, PackedMap};
use vramscope_view::reserved::Steps;

use super::super::document::{Device, Document};
use super::super::pace::Pace;

/// Time of work on one question, in ms. Other questions have their turn after it.
const SLICE_MS: f64 = 24.0;
/// The least time between two pictures of better and better packings, in ms of work.
const REDRAW_MS: f64 = 1_000.0;
/// The least such time as a multiple of the time that the last layout took. With a million allocations a layout takes
/// about a second, in which no other question has its turn.
const REDRAW_TIMES: f64 = 20.0;
/// The most arenas that one answer lists.
const MOST_ARENAS: usize = 1_000;

/// The data kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    plans: Plans,
    replays: replay::Replays,
}

/// The plans so far.
#[derive(Default)]
struct Plans {
    works: Vec<Work>,
    /// The models of devices that nothing else is planned for: planning takes several times their memory.
    models: Vec<(DeviceIndex, Modelling)>,
}

impl Cache {
    /// Reserved memory in a replay with these changes; empty if it is not known.
    pub(super) fn reserved_steps(&self, device: DeviceIndex, changes: &str) -> &Steps {
        self.replays.reserved_steps(device, changes)
    }
}

/// The work on the plan of one device.
struct Work {
    device: DeviceIndex,
    planner: Planner,
    /// Time spent on searching, in ms.
    searched_ms: f64,
    /// The number of the packing that is drawn; 0 = none yet.
    packing: u32,
    drawn_bytes: Option<u64>,
    drawn_ms: f64,
    /// Least time to the next picture, in ms of work.
    redraw_ms: f64,
    groups: Vec<GroupMark>,
}

/// The answer; `None` if there is no such device, or the model is refused.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<Answer> {
    Some(match question {
        Question::Plan {
            device, search_ms, ..
        } => {
            let device = document.device(*device)?;
            let is_new = !cache.plans.is_begun(device);
            let work = cache.plans.work(device);
            // The first answer is what is known without packing, which is shown sooner.
            if !is_new {
                work.go_on(device, f64::from(*search_ms));
            }
            Answer::Plan(Box::new(work.told(device, f64::from(*search_ms))))
        }
        Question::Groups { device, .. } => {
            let device = document.device(*device)?;
            Answer::Groups(cache.plans.work(device).groups.clone())
        }
        Question::Arenas { device, .. } => {
            let device = document.device(*device)?;
            Answer::Arenas(cache.plans.work(device).arenas())
        }
        Question::Program { device } => {
            let device = document.device(*device)?;
            Answer::Program(ProgramRows {
                device: device.history.device,
                peak_bytes: device.history.peak_bytes(),
                reserved_bytes: device.history.most_reserved_bytes(),
                rows: helpful(*device, device.history.event_count, true),
            })
        }
        Question::Replay {
            device,
            changes,
            axis,
            columns,
            ..
        } => {
            let device = document.device(*device)?;
            let curves = (*axis, *columns);
            Answer::Replay(Box::new(replayed(device, changes, curves, cache)))
        }
        Question::Tries { device, .. } => {
            let device = document.device(*device)?;
            let work = cache.plans.work(device);
            let baseline = work.planner.baseline();
            let baseline = baseline.filter(|baseline| baseline.refusal.is_none())?;
            Answer::Tries(cache.replays.tries(device, baseline))
        }
        Question::Conclude { device, .. } => {
            let device = document.device(*device)?;
            Answer::Concluded(Box::new(concluded(device, cache)))
        }
    })
}

/// A replay with changed settings, after a slice of work on it.
fn replayed(device: Device<'_>, changes: &str, curves: (Axis, u32), cache: &mut Cache) -> Replayed {
    let model = cache.plans.modelled(device);
    match model.baseline() {
        Some(baseline) => cache.replays.replayed(device, baseline, changes, curves),
        None => Replayed {
            device: device.history.device,
            refusal: model.no_model().cloned(),
            is_done: model.no_model().is_some(),
            ..Replayed::default()
        },
    }
}

/// What replays with other settings amount to, after a slice of work on them.
fn concluded(device: Device<'_>, cache: &mut Cache) -> Concluded {
    let of = device.history.device;
    let none = |is_done| Concluded {
        device: of,
        finding: None,
        is_done,
    };
    if !is_worth_replaying(*device) {
        return none(true);
    }
    let model = cache.plans.modelled(device);
    let Some(baseline) = model.baseline() else {
        return none(model.no_model().is_some());
    };
    if baseline.refusal.is_some() {
        return none(true);
    }
    let tries = cache.replays.tries(device, baseline);
    if !tries.is_done {
        return none(false);
    }
    let tried = tries.rows.into_iter().filter_map(|row| row.outcome);
    let tried: Vec<_> = tried.collect();
    Concluded {
        finding: conclusion(*device, baseline, &tried),
        ..none(true)
    }
}

impl Plans {
    fn is_begun(&self, device: Device<'_>) -> bool {
        let of = device.history.device;
        self.works.iter().any(|work| work.device == of)
    }

    /// The work on the plan of a device.
    fn work(&mut self, device: Device<'_>) -> &mut Work {
        let of = device.history.device;
        let place = self.works.iter().position(|work| work.device == of);
        let place = place.unwrap_or_else(|| {
            let begun = self.models.iter().position(|(known, _)| *known == of);
            let begun = begun.map(|place| self.models.swap_remove(place).1);
            let model = begun.unwrap_or_else(|| Modelling::new(*device));
            self.works.push(Work {
                device: of,
                planner: Planner::with_model(*device, model),
                searched_ms: 0.0,
                packing: 0,
                drawn_bytes: None,
                drawn_ms: 0.0,
                redraw_ms: REDRAW_MS,
                groups: Vec::new(),
            });
            self.works.len() - 1
        });
        &mut self.works[place]
    }

    /// The model of a device, after a slice of work on it or, while the device is planned, on its plan. Other settings
    /// are compared with the file's own, whose replay is part of the plan.
    fn modelled(&mut self, device: Device<'_>) -> &Modelling {
        let of = device.history.device;
        if self.is_begun(device) {
            let work = self.work(device);
            if work.stage(0.0) != Stage::Done {
                work.go_on(device, 0.0);
            }
            return work.planner.model();
        }
        let place = self.models.iter().position(|(known, _)| *known == of);
        let place = place.unwrap_or_else(|| {
            self.models.push((of, Modelling::new(*device)));
            self.models.len() - 1
        });
        let model = &mut self.models[place].1;
        let pace = Pace::of(SLICE_MS);
        while !model.run(*device, &mut || pace.is_over()) && !pace.is_over() {}
        model
    }
}

impl Work {
    /// Works for a slice of time, if work is left, and draws the packing if that is due.
    fn go_on(&mut self, device: Device<'_>, search_ms: f64) {
        let stage = self.stage(search_ms);
        if stage != Stage::Done {
            let pace = Pace::of(SLICE_MS);
            self.planner.run(*device, &mut || pace.is_over());
            if stage == Stage::Searching {
                self.searched_ms += pace.spent_ms();
            }
        }
        let packed_bytes = self.planner.plan().bytes(StepKind::Placement);
        let is_due = self.drawn_bytes.is_none()
            || self.searched_ms - self.drawn_ms > self.redraw_ms
            || self.stage(search_ms) == Stage::Done;
        if packed_bytes.is_some() && packed_bytes != self.drawn_bytes && is_due {
            let pace = Pace::of(SLICE_MS);
            device.set_packed(|| self.map(device));
            self.redraw_ms = (pace.spent_ms() * REDRAW_TIMES).max(REDRAW_MS);
            self.packing += 1;
            self.groups = groups(self.planner.plan());
            (self.drawn_bytes, self.drawn_ms) = (packed_bytes, self.searched_ms);
        }
    }

    fn stage(&self, search_ms: f64) -> Stage {
        let plan = self.planner.plan();
        if plan.is_done {
            Stage::Done
        } else if plan.bytes(StepKind::Placement).is_none() {
            Stage::Packing
        } else if !plan.has_all_bars {
            Stage::Modelling
        } else if self.searched_ms < search_ms {
            Stage::Searching
        } else {
            Stage::Done
        }
    }

    /// The map of the best packing.
    fn map(&self, device: Device<'_>) -> PackedMap {
        let arenas = self.planner.problems();
        let rows: Vec<Vec<u32>> = arenas
            .iter()
            .map(|arena| arena.allocations.iter().map(|id| id.0).collect())
            .collect();
        let groups = in_order(arenas, |arena| arena.key).into_iter();
        let groups = groups.filter_map(|number| {
            let (arena, rows) = (&arenas[number], &rows[number]);
            let packing = &self.planner.packed(number)?.packing;
            Some(PackedGroup {
                stream: arena.key.stream,
                pool: Some(arena.key.pool),
                rows,
                offset: &packing.offset,
                bytes: &arena.problem.size,
                height: packing.height,
            })
        });
        let groups: Vec<_> = groups.collect();
        PackedMap::new(&device.history.allocations, &groups)
    }

    /// The plan as far as it is known.
    fn told(&self, device: Device<'_>, search_ms: f64) -> Planned {
        let plan = self.planner.plan();
        Planned {
            arenas: plan.arenas.len() as u64,
            stage: self.stage(search_ms),
            no_what_if: plan
                .no_model
                .clone()
                .or_else(|| self.planner.baseline()?.refusal.clone()),
            packing: self.packing,
            // The cast saturates.
            map_bytes: device.map_lanes().y_end() as u64,
            above_lowest_bytes: plan.above_lowest_bytes(),
            plan: brief(plan),
        }
    }

    /// The plans of the largest pools and streams.
    fn arenas(&self) -> ArenaRows {
        let plan = self.planner.plan();
        ArenaRows {
            device: plan.device,
            arenas: plan.arenas.iter().take(MOST_ARENAS).cloned().collect(),
            left_out: plan.arenas.len().saturating_sub(MOST_ARENAS) as u64,
        }
    }
}

/// A plan without its arenas.
fn brief(plan: &DevicePlan) -> DevicePlan {
    DevicePlan {
        device: plan.device,
        kind: plan.kind,
        segments: plan.segments,
        buffers: plan.buffers,
        reserved_bytes: plan.reserved_bytes,
        steps: plan.steps.clone(),
        arenas: Vec::new(),
        waiting: plan.waiting,
        no_model: plan.no_model.clone(),
        has_all_bars: plan.has_all_bars,
        is_done: plan.is_done,
    }
}

/// The indexes of arenas from the bottom of the picture up, in the order of the map.
fn in_order<T>(arenas: &[T], key: impl Fn(&T) -> ArenaKey) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arenas.len()).collect();
    order.sort_few_by_key(|&number| key(&arenas[number]));
    order
}

/// The marks of pools and streams in the picture; empty if there is only one, and only the lowest of very many.
fn groups(plan: &DevicePlan) -> Vec<GroupMark> {
    let mut base = 0.0;
    let arenas = in_order(&plan.arenas, |arena| arena.key).into_iter();
    let marks = arenas.filter_map(|number| {
        let arena = &plan.arenas[number];
        let bytes = arena.packed?.bytes;
        let y = (base, base + bytes as f64);
        base = y.1;
        (bytes > 0).then(|| GroupMark {
            y,
            label: arena.label.clone(),
        })
    });
    let marks: Vec<_> = marks.take(MOST_ARENAS).collect();
    if marks.len() > 1 { marks } else { Vec::new() }
}

#[cfg(test)]
mod tests;
