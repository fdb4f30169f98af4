//! Computes a plan: the cheap parts at once, then packings and replays, then better packings for as long as it is asked.

use std::collections::HashMap;

use super::bars::Bars;
use super::plan::{ArenaPlan, DevicePlan, PackedBytes, Step};
use super::problems::{self, ArenaProblem, Gathered, Missing, Needs};
use super::what_if::{Baseline, baseline};
use super::words::{Words, no_model};
use crate::packing::{Packed, Packer, Sections};
use crate::pool_planner;
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::report::overview::SegmentsKnown;

/// How often a problem's search may check the clock before the next problem has its turn. The number doubles after each
/// round of turns: a search that pauses loses up to one round, so turns must grow for it to make progress.
const TURN: u32 = 256;

/// The plan of one device in progress.
pub struct Planner {
    plan: DevicePlan,
    problems: Vec<ArenaProblem>,
    gathering: Gathering,
    /// By problem, for those that have begun.
    packers: Vec<Packer>,
    /// The sections of the next problem, once they are known.
    sections: Option<Sections>,
    /// By problem: whether its packer has nothing left to try.
    is_packed: Vec<bool>,
    needs: Needs,
    bars: Bars,
    /// Number of packers that have a first packing.
    begun: usize,
    /// Number of problems that inductor's planner has planned, and the planner of the current one.
    pooled: usize,
    pools: Option<pool_planner::Planner>,
    turn: Turn,
    /// The model with the file's own settings, or why there is none, once that is known.
    model: Option<Result<Baseline, String>>,
}

/// How much is known about the problems.
enum Gathering {
    Nothing,
    /// All but their buffers.
    Places(Missing),
    Done,
}

/// The problem being searched. Only one at a time holds the memory for a search.
struct Turn {
    problem: usize,
    /// How often it has checked the clock.
    asked: u32,
    /// How often it may check the clock in this turn.
    most: u32,
}

impl Planner {
    /// A planner before any work. It already has the peak of requested bytes.
    #[must_use]
    pub fn new(device: Device<'_>) -> Self {
        Self::with_model(device, None)
    }

    /// [`new`](Self::new) with the device's [`baseline`], if that is known.
    #[must_use]
    pub fn with_model(device: Device<'_>, model: Option<Result<Baseline, String>>) -> Self {
        let (needs, segments) = (Needs::at_peak(device), SegmentsKnown::of(device));
        let is_reserved_known = segments == SegmentsKnown::Real;
        let reserved_bytes = is_reserved_known.then(|| device.history.most_reserved_bytes());
        let mut planner = Self {
            plan: DevicePlan {
                device: device.index(),
                kind: AllocatorKind::of(device.snapshot()),
                segments,
                buffers: device.history.allocations.len() as u64,
                reserved_bytes,
                steps: Vec::new(),
                arenas: Vec::new(),
                waiting: needs.waiting,
                no_model: no_model(device, segments),
                has_all_bars: false,
                is_done: false,
            },
            problems: Vec::new(),
            gathering: Gathering::Nothing,
            packers: Vec::new(),
            sections: None,
            is_packed: Vec::new(),
            bars: Bars {
                requested: needs.requested_bytes,
                reserved: reserved_bytes,
                ..Bars::default()
            },
            needs,
            begun: 0,
            pooled: 0,
            pools: None,
            turn: Turn {
                problem: 0,
                asked: 0,
                most: TURN,
            },
            model,
        };
        planner.tell(device);
        planner
    }

    /// Takes over the packing problems and their needs.
    fn take(&mut self, device: Device<'_>, gathered: Gathered) {
        let Gathered {
            problems,
            buffers,
            needs,
            missing,
        } = gathered;
        let is_reserved_known = self.plan.reserved_bytes.is_some();
        let plans = problems.iter().zip(buffers);
        let plans = plans.map(|(problem, buffers)| ArenaPlan {
            key: problem.key,
            label: problem.key.label(device.recording),
            buffers,
            requested_bytes: problem.requested_bytes,
            aligned_bytes: problem.aligned_bytes,
            packed: None,
            pools_bytes: None,
            modelled_bytes: None,
            reserved_bytes: is_reserved_known.then_some(problem.reserved_bytes),
        });
        self.plan.arenas = plans.collect();
        self.plan.waiting = needs.waiting;
        let separate = problems.iter().fold(0_u64, |sum, problem| {
            sum.saturating_add(problem.aligned_bytes)
        });
        self.bars.requested = needs.requested_bytes;
        self.bars.aligned = Some((needs.aligned_bytes, separate));
        self.is_packed = vec![false; problems.len()];
        self.problems = problems;
        self.needs = needs;
        self.gathering = Gathering::Places(missing);
    }

    /// The plan as far as it is known.
    #[must_use]
    pub fn plan(&self) -> &DevicePlan {
        &self.plan
    }

    /// The model's results with the file's own settings, once it has run; `None` also without a model.
    #[must_use]
    pub fn baseline(&self) -> Option<&Baseline> {
        self.model.as_ref()?.as_ref().ok()
    }

    /// The device's [`baseline`], which is computed if it is not known yet.
    ///
    /// # Errors
    /// Why this device has no model, as a sentence.
    pub fn modelled(&mut self, device: Device<'_>) -> Result<&Baseline, &String> {
        self.model.get_or_insert_with(|| baseline(device)).as_ref()
    }

    /// The packing problems as far as they are known, in the order of [`DevicePlan::arenas`].
    #[must_use]
    pub fn problems(&self) -> &[ArenaProblem] {
        &self.problems
    }

    /// The best packing of a problem so far, with one offset per buffer.
    #[must_use]
    pub fn packed(&self, problem: usize) -> Option<&Packed> {
        self.packers.get(problem)?.best()
    }

    /// Works until `is_over` returns true, and at least on one piece of work. Returns whether all work is done. `device`
    /// must be the one given to [`new`](Self::new).
    pub fn run(&mut self, device: Device<'_>, is_over: &mut dyn FnMut() -> bool) -> bool {
        while self.step(device, is_over) && !is_over() {}
        let is_modelled = self.plan.no_model.is_some() || self.bars.modelled.is_some();
        let is_gathered = matches!(self.gathering, Gathering::Done);
        self.plan.has_all_bars = is_gathered && self.begun == self.problems.len() && is_modelled;
        self.plan.is_done = self.plan.has_all_bars
            && self.pooled == self.problems.len()
            && !self.is_packed.contains(&false);
        self.tell(device);
        self.plan.is_done
    }

    /// Does the next piece of work. Returns whether there was any.
    fn step(&mut self, device: Device<'_>, is_over: &mut dyn FnMut() -> bool) -> bool {
        match std::mem::replace(&mut self.gathering, Gathering::Done) {
            Gathering::Nothing => {
                self.take(device, problems::gather(device));
                return true;
            }
            Gathering::Places(missing) => {
                let buffers = self.plan.arenas.iter().map(|plan| plan.buffers);
                missing.fill(&mut self.problems, buffers, device);
                return true;
            }
            Gathering::Done => {}
        }
        if self.begun == self.packers.len() && self.begun < self.problems.len() {
            let problem = &self.problems[self.begun].problem;
            match self.sections.take() {
                None => self.sections = Some(Sections::of(problem)),
                Some(sections) => {
                    let packer = Packer::with_sections(problem.clone(), sections);
                    self.packers.push(packer);
                }
            }
        } else if self.begun < self.packers.len() {
            let mut asked = 0;
            self.pack(self.begun, &mut || {
                asked += 1;
                asked > TURN || is_over()
            });
            self.begun += usize::from(self.packed(self.begun).is_some());
        } else if self.plan.no_model.is_none() && self.bars.modelled.is_none() {
            self.run_model(device);
        } else if self.pooled < self.problems.len() {
            self.pool(self.pooled, is_over);
        } else {
            return self.search(is_over);
        }
        true
    }

    /// Continues the search for a packing of one problem.
    fn pack(&mut self, problem: usize, is_over: &mut dyn FnMut() -> bool) {
        let packer = &mut self.packers[problem];
        self.is_packed[problem] = packer.run(is_over);
        let packed = packer.best();
        self.plan.arenas[problem].packed =
            packed.map(|packed| PackedBytes::of(packed, self.is_packed[problem]));
    }

    fn pool(&mut self, at: usize, is_over: &mut dyn FnMut() -> bool) {
        let problem = &self.problems[at].problem;
        if problem.size.len() <= pool_planner::MOST_BUFFERS {
            let begin = || pool_planner::Planner::of_problem(problem);
            let mut pools = self.pools.take().unwrap_or_else(begin);
            if !pools.run(is_over) {
                self.pools = Some(pools);
                return;
            }
            self.plan.arenas[at].pools_bytes = Some(pools.finish().total_bytes());
        }
        self.pooled += 1;
    }

    /// Runs the model with the file's own settings.
    fn run_model(&mut self, device: Device<'_>) {
        let Ok(baseline) = self.model.get_or_insert_with(|| baseline(device)) else {
            return;
        };
        // Bars of a model that fails on this recording are not shown.
        if let Some(refusal) = &baseline.refusal {
            self.plan.no_model = Some(refusal.clone());
            return;
        }
        let error = &baseline.error;
        self.bars.modelled = Some((error.from_empty_bytes, error.modelled_bytes));
        let peaks: HashMap<_, _> = baseline
            .own
            .arenas
            .iter()
            .map(|arena| (arena.key, arena.peak_reserved_bytes))
            .collect();
        for arena in &mut self.plan.arenas {
            arena.modelled_bytes = Some(peaks.get(&arena.key).copied().unwrap_or(0));
        }
    }

    /// Continues the searches of all problems in turns. Returns whether anything is left to search.
    fn search(&mut self, is_over: &mut dyn FnMut() -> bool) -> bool {
        let Turn {
            problem,
            asked,
            most,
        } = self.turn;
        if self.is_packed.get(problem) == Some(&false) && asked < most {
            let mut now = asked;
            self.pack(problem, &mut || {
                now += 1;
                now >= most || is_over()
            });
            self.turn.asked = now;
            return self.is_packed.contains(&false);
        }
        let is_left = |&at: &usize| !self.is_packed[at];
        let following = (problem + 1..self.packers.len()).find(is_left);
        let Some(next) = following.or_else(|| (0..self.packers.len()).find(is_left)) else {
            return false;
        };
        if let Some(packer) = self.packers.get_mut(problem).filter(|_| next != problem) {
            packer.rest();
        }
        self.turn = Turn {
            problem: next,
            asked: 0,
            most: match following {
                Some(_) => most,
                None => most.saturating_mul(2),
            },
        };
        true
    }

    /// Updates the plan's steps and their sentences.
    fn tell(&mut self, device: Device<'_>) {
        let heights = self
            .plan
            .arenas
            .iter()
            .map(|arena| Some(arena.packed?.bytes));
        let sum = |sum: u64, height: Option<u64>| Some(sum.saturating_add(height?));
        self.bars.packed = heights.into_iter().try_fold(0, sum);
        let words = Words {
            device,
            plan: &self.plan,
            needs: &self.needs,
            refused: (self.baseline()).map_or(0, |baseline| baseline.own.refused_though_served),
        };
        let steps = self
            .bars
            .steps()
            .into_iter()
            .map(|(kind, bytes, change_bytes)| {
                let (why, advice) = words.of(kind, change_bytes);
                Step {
                    kind,
                    bytes,
                    change_bytes,
                    why,
                    advice,
                }
            });
        self.plan.steps = steps.collect();
    }
}
