//! Answers to [`protocol::views::what_if`](vramscope_protocol::views::what_if).

mod replay;

use std::cell::OnceCell;

use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::sorting::SortFew;
use vramscope_plan::what_if::{Baseline, baseline, conclusion};
use vramscope_plan::{ArenaKey, DevicePlan, Planner, StepKind};
use vramscope_protocol::views::what_if::{
    Answer, ArenaRows, Concluded, PackedPlaces, Planned, Question, Replayed, Stage, What,
};
use vramscope_view::map::{GroupMark, Lanes};
use vramscope_view::raster::TimelineIndex;

/// Time of work on one question about a plan, in ms. Other questions have their turn after it.
const TURN_MS: f64 = 100.0;
/// The least time between two pictures of better and better packings, in ms of work.
const REDRAW_MS: f64 = 1_000.0;
/// The least such time for each buffer. The worker takes about a ms to lay out a thousand of them, and is to have most of its time
/// for other answers.
const REDRAW_MS_PER_BUFFER: f64 = 0.02;
/// The most arenas that one answer lists.
const MOST_ARENAS: usize = 1_000;

/// A snapshot, or some of its memory pools, and what is known of each device.
pub(super) struct Plans {
    recording: Recording,
    /// In the order of its devices.
    devices: Vec<Known>,
}

/// What is known of one device.
#[derive(Default)]
struct Known {
    /// The work on its plan, once that has begun.
    work: Option<Work>,
    /// The model until then: planning takes several times its memory.
    model: Option<Result<Baseline, String>>,
    replays: replay::Replays,
    timeline: OnceCell<TimelineIndex>,
}

/// The work on the plan of one device.
struct Work {
    planner: Planner,
    /// Time spent on searching, in ms.
    searched_ms: f64,
    /// The number of the packing that is drawn; 0 = none yet.
    packing: u32,
    drawn_bytes: Option<u64>,
    drawn_ms: f64,
    groups: Vec<GroupMark>,
    map_bytes: u64,
}

impl Plans {
    pub(super) fn new(recording: Recording) -> Self {
        Self {
            devices: recording.devices().map(|_| Known::default()).collect(),
            recording,
        }
    }

    pub(super) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The answer, and what was found for the worker; `None` if there is no such device, or the model is refused.
    pub(super) fn answer(
        &mut self,
        question: &Question,
        now_ms: fn() -> f64,
    ) -> Option<(Answer, Option<What>)> {
        let mut devices = self.recording.devices().zip(&mut self.devices);
        let (device, known) = devices.find(|(device, _)| device.index() == question.device())?;
        Some(match question {
            Question::Plan { search_ms, .. } => {
                let (planned, packing) = known.plan(device, f64::from(*search_ms), now_ms);
                (Answer::Plan(Box::new(planned)), packing.map(What::Packing))
            }
            Question::Groups { .. } => (Answer::Groups(known.work(device).groups.clone()), None),
            Question::Arenas { .. } => (Answer::Arenas(known.work(device).arenas()), None),
            Question::Replay {
                changes,
                axis,
                columns,
                ..
            } => {
                let (replayed, replay) = known.replay(device, changes, (*axis, *columns));
                (Answer::Replay(Box::new(replayed)), replay)
            }
            Question::Tries { .. } => {
                let baseline = baseline_of(&mut known.work, &mut known.model, device).ok();
                let baseline = baseline.filter(|baseline| baseline.refusal.is_none())?;
                (Answer::Tries(known.replays.tries(device, baseline)), None)
            }
            Question::Conclude { .. } => {
                let concluded = known.conclude(device);
                let is_done = concluded.is_done;
                let what =
                    is_done.then(|| What::Conclusion(concluded.finding.clone().map(Box::new)));
                (Answer::Concluded(Box::new(concluded)), what)
            }
        })
    }
}

/// The replay with the file's own settings, with which others are compared. It is part of a plan.
fn baseline_of<'a>(
    work: &'a mut Option<Work>,
    model: &'a mut Option<Result<Baseline, String>>,
    device: Device<'_>,
) -> Result<&'a Baseline, &'a String> {
    match work {
        Some(work) => work.planner.modelled(device),
        None => model.get_or_insert_with(|| baseline(device)).as_ref(),
    }
}

impl Known {
    /// The plan as far as it is known, and a new packing if one is to be drawn.
    fn plan(
        &mut self,
        device: Device<'_>,
        search_ms: f64,
        now_ms: fn() -> f64,
    ) -> (Planned, Option<Vec<PackedPlaces>>) {
        let is_new = self.work.is_none();
        let work = self.work(device);
        // The first answer is what is known without packing, which is shown sooner.
        let packing = match is_new {
            true => None,
            false => work.go_on(device, search_ms, now_ms),
        };
        (work.planned(search_ms), packing)
    }

    /// The work on the plan.
    fn work(&mut self, device: Device<'_>) -> &mut Work {
        let model = &mut self.model;
        self.work
            .get_or_insert_with(|| Work::new(device, model.take()))
    }

    /// A replay with changed settings, and what of it the worker can draw.
    fn replay(
        &mut self,
        device: Device<'_>,
        changes: &str,
        curves: replay::Columns,
    ) -> (Replayed, Option<What>) {
        match baseline_of(&mut self.work, &mut self.model, device) {
            Ok(baseline) => {
                let replayed = self.replays.replayed(device, baseline, changes);
                let index = self.timeline.get_or_init(|| replay::index(device));
                replayed.told(device, baseline, index, curves)
            }
            Err(refusal) => {
                let replayed = Replayed {
                    device: device.index(),
                    refusal: Some(refusal.clone()),
                    ..Replayed::default()
                };
                (replayed, None)
            }
        }
    }

    /// What replays with other settings amount to, after one more of them.
    fn conclude(&mut self, device: Device<'_>) -> Concluded {
        let concluded = |finding, is_done| Concluded {
            device: device.index(),
            finding,
            is_done,
        };
        let baseline = baseline_of(&mut self.work, &mut self.model, device).ok();
        let Some(baseline) = baseline.filter(|baseline| baseline.refusal.is_none()) else {
            return concluded(None, true);
        };
        let tries = self.replays.tries(device, baseline);
        if !tries.is_done {
            return concluded(None, false);
        }
        let tried = tries.rows.into_iter().filter_map(|row| row.outcome);
        let tried: Vec<_> = tried.collect();
        concluded(conclusion(device, baseline, &tried), true)
    }
}

impl Work {
    fn new(device: Device<'_>, model: Option<Result<Baseline, String>>) -> Self {
        let lanes = Lanes::new(&device.history.allocations, device.segments());
        Self {
            planner: Planner::with_model(device, model),
            searched_ms: 0.0,
            packing: 0,
            drawn_bytes: None,
            drawn_ms: 0.0,
            groups: Vec::new(),
            // The cast saturates.
            map_bytes: lanes.y_end() as u64,
        }
    }

    /// Works for a while, if work is left. Returns the packing if it is to be drawn now.
    fn go_on(
        &mut self,
        device: Device<'_>,
        search_ms: f64,
        now_ms: fn() -> f64,
    ) -> Option<Vec<PackedPlaces>> {
        let stage = self.stage(search_ms);
        if stage != Stage::Done {
            let start_ms = now_ms();
            (self.planner).run(device, &mut || now_ms() - start_ms > TURN_MS);
            if stage == Stage::Searching {
                self.searched_ms += now_ms() - start_ms;
            }
        }
        let plan = self.planner.plan();
        let packed_bytes = plan.bytes(StepKind::Placement);
        let redraw_ms = (plan.buffers as f64 * REDRAW_MS_PER_BUFFER).max(REDRAW_MS);
        let is_due = self.drawn_bytes.is_none()
            || self.searched_ms - self.drawn_ms > redraw_ms
            || self.stage(search_ms) == Stage::Done;
        let is_new = packed_bytes.is_some() && packed_bytes != self.drawn_bytes && is_due;
        is_new.then(|| {
            self.packing += 1;
            self.groups = groups(self.planner.plan());
            (self.drawn_bytes, self.drawn_ms) = (packed_bytes, self.searched_ms);
            self.places()
        })
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

    /// The places of the best packing.
    fn places(&self) -> Vec<PackedPlaces> {
        let arenas = self.planner.problems();
        let groups = in_order(arenas, |arena| arena.key).into_iter();
        let groups = groups.filter_map(|number| {
            let arena = &arenas[number];
            let packing = &self.planner.packed(number)?.packing;
            Some(PackedPlaces {
                stream: arena.key.stream,
                pool: arena.key.pool,
                rows: arena.allocations.iter().map(|id| id.0).collect(),
                offset: packing.offset.clone(),
                bytes: arena.problem.size.clone(),
                height: packing.height,
            })
        });
        groups.collect()
    }

    /// The plan as far as it is known.
    fn planned(&self, search_ms: f64) -> Planned {
        let plan = self.planner.plan();
        Planned {
            arenas: plan.arenas.len() as u64,
            stage: self.stage(search_ms),
            no_what_if: plan
                .no_model
                .clone()
                .or_else(|| self.planner.baseline()?.refusal.clone()),
            packing: self.packing,
            map_bytes: self.map_bytes,
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
