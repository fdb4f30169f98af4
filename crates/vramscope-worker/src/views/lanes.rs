//! Answers to [`protocol::views::lanes`](vramscope_protocol::views::lanes).

use vramscope_core::analysis::memory::private_pools::{PoolUse, private_pools};
use vramscope_core::analysis::time::markers::marker;
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::lanes::{Answer, Decorations, Part, Question, StepMarks};
use vramscope_view::decorations::Sources;
use vramscope_view::reserved::Steps;
use vramscope_view::viewport::Viewport;

use super::super::document::{Device, Document};
use super::what_if;

/// The data kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    /// The pool uses of each device.
    pools: Vec<(DeviceIndex, Vec<PoolUse>)>,
}

/// The answer; `None` if there is no such device or mark.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
    replays: &what_if::Cache,
) -> Option<Answer> {
    let device = |device| document.device(device);
    Some(match *question {
        Question::Decorations(ref part) => {
            let device = device(part.device)?;
            let replay = part.replay.as_deref();
            let replayed = replay.map(|changes| replays.reserved_steps(part.device, changes));
            Answer::Decorations(Box::new(decorations(device, part, cache, replayed)))
        }
        Question::Steps { device: of, axis } => {
            let device = device(of)?;
            Answer::Steps(StepMarks::of(*device, &device.bands(axis)))
        }
        Question::Marker { device: of, moment } => {
            let marker = marker(&document.snapshot, device(of)?.history, moment)?;
            let pool = marker.pool.map(|pool| document.pools().label(pool));
            Answer::Marker { marker, pool }
        }
        Question::Totals {
            device: of,
            moments,
        } => {
            let device = device(of)?;
            Answer::Totals(device.sums().totals(device.history, moments))
        }
        Question::Neighbour {
            device: of,
            ref filter,
            moment,
            from,
            up,
        } => {
            let device = device(of)?;
            let matches = document.matches(device, filter.as_ref());
            Answer::Neighbour(neighbour(device, matches.as_deref(), moment, from, up))
        }
    })
}

fn decorations(
    device: Device<'_>,
    part: &Part,
    cache: &mut Cache,
    replayed: Option<&Steps>,
) -> Decorations {
    let bands = device.bands(part.axis);
    let view = Viewport {
        x_min: part.x.0,
        x_max: part.x.1.max(part.x.0 + f64::MIN_POSITIVE),
        y_min_bytes: 0.0,
        y_max_bytes: 1.0,
        width_px: part.width_px.clamp(1, 16_384),
        height_px: 1,
    };
    let reserved = part.reserved && device.knows_segments();
    let sources = Sources {
        device: *device,
        bands: &bands,
        index: device.timeline(),
        reserved_steps: if reserved {
            &device.history.reserved_steps
        } else {
            &[]
        },
        replayed_steps: replayed.unwrap_or_default(),
        pools: if part.pools { cache.pools(device) } else { &[] },
    };
    Decorations::of(sources, &view, part.pixel_ratio)
}

impl Cache {
    fn pools(&mut self, device: Device<'_>) -> &[PoolUse] {
        let of = device.index();
        let place = self.pools.iter().position(|(known, _)| *known == of);
        let place = place.unwrap_or_else(|| {
            let uses = private_pools(device.snapshot(), device.history, device.segments());
            self.pools.push((of, uses));
            self.pools.len() - 1
        });
        &self.pools[place].1
    }
}

/// The next allocation that is live, has a height and matches; `None` at the end of the stack.
fn neighbour(
    device: Device<'_>,
    matches: Option<&BitSet>,
    moment: u32,
    from: Option<AllocationId>,
    up: bool,
) -> Option<AllocationId> {
    let history = device.history;
    let is_wanted = |&row: &usize| {
        history.is_live(AllocationId::from_index(row), moment)
            && history.allocations.bytes[row] > 0
            && matches.is_none_or(|matches| matches.contains(row))
    };
    let rows = history.allocations.len();
    let from = from.map(|id| id.index().min(rows));
    let found = if up {
        (from.map_or(0, |row| row + 1)..rows).find(is_wanted)
    } else {
        (0..from.unwrap_or(rows)).rev().find(is_wanted)
    };
    found.map(AllocationId::from_index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::groups::live_at::live_at;
    use vramscope_protocol::Axis;
    use vramscope_view::line_facts::LineFacts;

    const ANNOTATED: &[u8] =
        include_bytes!("../../../../tests/fixtures/synth/scenario-annotated.pickle");
    const POOLS: &[u8] = include_bytes!("../../../../tests/fixtures/synth/scenario-pools.pickle");

    fn document(file: &[u8]) -> Document {
        Document::new(vramscope_core::decode(file).unwrap())
    }

    fn part(document: &Document, axis: Axis) -> Part {
        let device = document.devices().next().unwrap();
        Part {
            device: device.history.device,
            axis,
            x: (0.0, device.bands(axis).x_end()),
            width_px: 1_000,
            pixel_ratio: 1.0,
            reserved: true,
            pools: true,
            replay: None,
        }
    }

    fn whole(document: &Document, axis: Axis) -> Decorations {
        match answer(
            &Question::Decorations(part(document, axis)),
            document,
            &mut Cache::default(),
            &what_if::Cache::default(),
        ) {
            Some(Answer::Decorations(decorations)) => *decorations,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_replay_is_traced_once_it_is_known() {
        use vramscope_protocol::views::what_if::{Found, What};

        let document = document(POOLS);
        let device = document.devices().next().unwrap().history.device;
        let changes = "expandable_segments:True".to_owned();
        let mut replays = what_if::Cache::default();
        let traced = |replays: &what_if::Cache| {
            let question = Question::Decorations(Part {
                replay: Some(changes.clone()),
                ..part(&document, Axis::Events)
            });
            match answer(&question, &document, &mut Cache::default(), replays) {
                Some(Answer::Decorations(decorations)) => decorations.replayed.bytes,
                other => panic!("{other:?}"),
            }
        };
        assert!(traced(&replays).is_empty());
        let found = |changes: &str| Found {
            within: None,
            device,
            what: What::Replay {
                changes: changes.to_owned(),
                reserved_steps: vec![(0, 7), (3, 9), (4, 8)],
            },
        };
        replays.take(found("max_split_size_mb:128"), &document);
        assert!(traced(&replays).is_empty());
        replays.take(found(&changes), &document);
        assert_eq!(traced(&replays).into_iter().max(), Some(9));
    }

    #[test]
    fn every_range_and_mark_is_shown_or_counted() {
        let document = document(ANNOTATED);
        let device = document.devices().next().unwrap();
        let facts = LineFacts::of(*device);
        assert!(facts.lanes.len() >= 3 && facts.tracks == [true, true]);
        for axis in [Axis::Events, Axis::Time] {
            let decorations = whole(&document, axis);
            for (lane, facts) in decorations.lanes.iter().zip(&facts.lanes) {
                let items = lane.rows.iter().flatten();
                let count: u64 = items.map(|item| u64::from(item.item.count)).sum();
                assert_eq!((lane.kind, count), (facts.kind, facts.ranges));
            }
            let highest = decorations.reserved.bytes.iter().max();
            assert_eq!(
                highest,
                device
                    .history
                    .reserved_steps
                    .iter()
                    .map(|step| &step.1)
                    .max()
            );
        }
    }

    #[test]
    fn steps_have_their_places() {
        let document = document(ANNOTATED);
        let question = Question::Steps {
            device: 0,
            axis: Axis::Events,
        };
        let Some(Answer::Steps(steps)) = answer(
            &question,
            &document,
            &mut Cache::default(),
            &what_if::Cache::default(),
        ) else {
            panic!("no steps");
        };
        assert_eq!((steps.pattern.as_str(), steps.count), ("ProfilerStep#", 8));
        assert!(steps.starts.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn private_pools_have_envelopes() {
        let document = document(POOLS);
        let device = document.devices().next().unwrap();
        assert!(LineFacts::of(*device).has_pools);
        let decorations = whole(&document, Axis::Events);
        assert!(!decorations.pools.is_empty());
        for pool in &decorations.pools {
            assert!(pool.pool != "default pool" && pool.ordinal > 0);
            assert_eq!(
                pool.envelope.low_bytes.len(),
                decorations.reserved.bytes.len()
            );
        }
    }

    #[test]
    fn walking_up_meets_every_live_allocation_once() {
        let document = document(ANNOTATED);
        let device = document.devices().next().unwrap();
        let moment = device.history.peak_moment;
        let step = |from, up| neighbour(device, None, moment, from, up);
        let mut walked = Vec::new();
        let mut at = step(None, true);
        while let Some(id) = at {
            walked.push(id);
            at = step(at, true);
        }
        let live: Vec<_> = live_at(device.history, moment).collect();
        assert_eq!(walked, live);
        assert_eq!(step(None, false), live.last().copied());
        assert_eq!(step(Some(live[1]), false), Some(live[0]));
        assert_eq!(step(Some(live[0]), false), None);
    }
}
