//! Works a plan out: what is cheap at once, packings and replays in slices.

use std::collections::HashMap;

use super::bars::Bars;
use super::places::{Needs, Place, StreamNumbers, places_of};
use super::what_if::{Baseline, BaselineWork};
use super::words::{Words, no_model};
use super::{DevicePlan, PackedBytes, PlacePlan, Step};
use crate::analysis::allocator_state::{AllocatorIndex, Recording};
use crate::analysis::capture::AllocatorKind;
use crate::analysis::overview::SegmentsKnown;
use crate::analysis::packing::{Packed, Packer};
use crate::analysis::pools;

/// How often one place's search may ask whether its time is over before the next place has its turn; after each round
/// of turns twice as often, so that what rests loses no more than it gains.
const TURN: u32 = 256;

/// The plan of one device, while it is being worked out.
pub struct Planner {
    plan: DevicePlan,
    places: Vec<Place>,
    packers: Vec<Packer>,
    /// Whether each packer has nothing left to try.
    is_packed: Vec<bool>,
    needs: Needs,
    bars: Bars,
    /// How many packers have a first packing.
    begun: usize,
    /// How many places inductor's planner was asked about, and the one that it works on.
    pooled: usize,
    pools: Option<pools::Planner>,
    turn: Turn,
    /// The model under the file's own settings, while it runs.
    work: Option<BaselineWork>,
    baseline: Option<Baseline>,
}

/// Who searches: only one place at a time holds the memory for it.
struct Turn {
    place: usize,
    /// How often it has asked.
    asked: u32,
    /// How often it may.
    most: u32,
}

impl Planner {
    /// Extracts the buffers and works out all but packings and replays.
    #[must_use]
    pub fn new(recording: Recording<'_>, index: &AllocatorIndex) -> Self {
        let (snapshot, history) = (recording.snapshot, recording.history);
        let (places, needs) = places_of(recording, &index.sizes);
        let segments = SegmentsKnown::in_recording(recording, index);
        let is_reserved_known = segments == SegmentsKnown::Real;
        let numbers = StreamNumbers::of(snapshot);
        let separate = places
            .iter()
            .fold(0_u64, |sum, place| sum.saturating_add(place.rounded_bytes));
        let plans = places.iter().map(|place| PlacePlan {
            key: place.key,
            label: place.key.label(&numbers),
            buffers: place.allocations.len() as u64,
            requested_bytes: place.requested_bytes,
            rounded_bytes: place.rounded_bytes,
            packed: None,
            pools_bytes: None,
            modelled_bytes: None,
            reserved_bytes: is_reserved_known.then_some(place.reserved_bytes),
        });
        let mut planner = Self {
            plan: DevicePlan {
                device: history.device,
                kind: AllocatorKind::of(snapshot),
                segments,
                buffers: history.allocations.len() as u64,
                steps: Vec::new(),
                places: plans.collect(),
                waiting: needs.waiting,
                no_model: no_model(recording, segments),
                has_all_bars: false,
                is_done: false,
            },
            packers: places
                .iter()
                .map(|place| Packer::new(place.problem.clone()))
                .collect(),
            is_packed: vec![false; places.len()],
            bars: Bars {
                requested: needs.requested_bytes,
                rounded: needs.rounded_bytes,
                separate,
                reserved: is_reserved_known.then(|| history.most_reserved_bytes()),
                ..Bars::default()
            },
            needs,
            places,
            begun: 0,
            pooled: 0,
            pools: None,
            turn: Turn {
                place: 0,
                asked: 0,
                most: TURN,
            },
            work: None,
            baseline: None,
        };
        planner.tell(recording);
        planner
    }

    /// What is known by now.
    #[must_use]
    pub fn plan(&self) -> &DevicePlan {
        &self.plan
    }

    /// The model under the file's own settings, once it has run; `None` also where there is no model.
    #[must_use]
    pub fn baseline(&self) -> Option<&Baseline> {
        self.baseline.as_ref()
    }

    /// The places, as in [`DevicePlan::places`].
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// A place's best packing by now, one offset per buffer of its problem.
    #[must_use]
    pub fn packed(&self, place: usize) -> Option<&Packed> {
        self.packers.get(place)?.best()
    }

    /// Goes on until `is_over`, at least by one piece of work; whether all is done. `recording` is the one that it was
    /// made of.
    pub fn run(&mut self, recording: Recording<'_>, is_over: &mut dyn FnMut() -> bool) -> bool {
        while self.step(recording, is_over) && !is_over() {}
        let is_modelled = self.plan.no_model.is_some() || self.baseline.is_some();
        self.plan.has_all_bars = self.begun == self.packers.len() && is_modelled;
        self.plan.is_done = self.plan.has_all_bars
            && self.pooled == self.places.len()
            && !self.is_packed.contains(&false);
        self.tell(recording);
        self.plan.is_done
    }

    /// Does the next piece of work; whether there was one.
    fn step(&mut self, recording: Recording<'_>, is_over: &mut dyn FnMut() -> bool) -> bool {
        if self.begun < self.packers.len() {
            let mut asked = 0;
            self.pack(self.begun, &mut || {
                asked += 1;
                asked > TURN || is_over()
            });
            self.begun += usize::from(self.packed(self.begun).is_some());
        } else if self.plan.no_model.is_none() && self.baseline.is_none() {
            self.model(recording, is_over);
        } else if self.pooled < self.places.len() {
            self.pool(self.pooled, is_over);
        } else {
            return self.search(is_over);
        }
        true
    }

    /// Looks on for a packing of one place.
    fn pack(&mut self, place: usize, is_over: &mut dyn FnMut() -> bool) {
        let packer = &mut self.packers[place];
        self.is_packed[place] = packer.run(is_over);
        let packed = packer.best();
        self.plan.places[place].packed =
            packed.map(|packed| PackedBytes::of(packed, self.is_packed[place]));
    }

    /// Asks inductor's planner about one place.
    fn pool(&mut self, place: usize, is_over: &mut dyn FnMut() -> bool) {
        let problem = &self.places[place].problem;
        if problem.size.len() <= pools::MOST_BUFFERS {
            let begin = || pools::Planner::of_problem(problem);
            let mut pools = self.pools.take().unwrap_or_else(begin);
            if !pools.run(is_over) {
                self.pools = Some(pools);
                return;
            }
            self.plan.places[place].pools_bytes = Some(pools.finish().total_bytes());
        }
        self.pooled += 1;
    }

    /// Runs the model under the file's own settings.
    fn model(&mut self, recording: Recording<'_>, is_over: &mut dyn FnMut() -> bool) {
        let work = self.work.take();
        let work = work.unwrap_or_else(|| BaselineWork::new(recording));
        match work.go_on(recording, is_over) {
            BaselineWork::Done(baseline) => {
                let error = &baseline.error;
                self.bars.modelled = Some((error.from_empty_bytes, error.modelled_bytes));
                let peaks: HashMap<_, _> = baseline
                    .own
                    .places
                    .iter()
                    .map(|place| (place.key, place.peak_reserved_bytes))
                    .collect();
                for place in &mut self.plan.places {
                    place.modelled_bytes = Some(peaks.get(&place.key).copied().unwrap_or(0));
                }
                self.baseline = Some(*baseline);
            }
            work => self.work = Some(work),
        }
    }

    /// Searches on in every place in turn; whether anything is left to search.
    fn search(&mut self, is_over: &mut dyn FnMut() -> bool) -> bool {
        let Turn { place, asked, most } = self.turn;
        if self.is_packed.get(place) == Some(&false) && asked < most {
            let mut now = asked;
            self.pack(place, &mut || {
                now += 1;
                now >= most || is_over()
            });
            self.turn.asked = now;
            return self.is_packed.contains(&false);
        }
        let is_left = |&at: &usize| !self.is_packed[at];
        let following = (place + 1..self.packers.len()).find(is_left);
        let Some(next) = following.or_else(|| (0..self.packers.len()).find(is_left)) else {
            return false;
        };
        if let Some(packer) = self.packers.get_mut(place).filter(|_| next != place) {
            packer.rest();
        }
        self.turn = Turn {
            place: next,
            asked: 0,
            most: match following {
                Some(_) => most,
                None => most.saturating_mul(2),
            },
        };
        true
    }

    /// Puts what is known into words.
    fn tell(&mut self, recording: Recording<'_>) {
        let heights = self
            .plan
            .places
            .iter()
            .map(|place| Some(place.packed?.bytes));
        let sum = |sum: u64, height: Option<u64>| Some(sum.saturating_add(height?));
        self.bars.packed = heights.into_iter().try_fold(0, sum);
        let words = Words {
            recording,
            plan: &self.plan,
            needs: &self.needs,
            refused: self
                .baseline
                .as_ref()
                .map_or(0, |baseline| baseline.own.refused_though_served),
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
