//! Every fixture is planned, drawn and replayed.

use std::path::Path;

use vramscope_plan::what_if::WhatIf;
use vramscope_protocol::views::what_if::Try;
use vramscope_protocol::{Axis, DrawRequest, Look, Picture, Viewport, from_bytes, to_bytes};

use super::*;
use crate::opened;
use crate::painter::{Painter, Under};
use crate::tests::documents;
use vramscope_view::map::MapHit;

const SIZE_PX: (u32, u32) = (120, 80);
/// Far more questions than any fixture needs.
const MOST_ROUNDS: u32 = 10_000;

fn ask(question: &Question, document: &Document, cache: &mut Cache, path: &Path) -> Answer {
    let answer = answer(question, document, cache).unwrap_or_else(|| panic!("{path:?}"));
    let arrived: Answer = from_bytes(&to_bytes(&answer)).unwrap();
    assert_eq!(arrived, answer, "{path:?}");
    answer
}

/// The plan of a device once it is done.
fn planned(document: &Document, device: DeviceIndex, cache: &mut Cache, path: &Path) -> Planned {
    for round in 0..MOST_ROUNDS {
        let question = Question::Plan {
            device,
            round,
            search_ms: 40,
        };
        match ask(&question, document, cache, path) {
            Answer::Plan(planned) if planned.stage == Stage::Done => return *planned,
            Answer::Plan(planned) => assert!(!planned.plan.steps.is_empty()),
            _ => panic!("{path:?}"),
        }
    }
    panic!("{path:?} is never done")
}

#[test]
fn every_fixture_has_a_plan_and_a_picture_of_its_packing() {
    let mut hits = 0;
    for (path, document) in documents() {
        let facts = opened::opened(&document, "x", 1, 1.0);
        let (mut cache, mut painter) = (Cache::default(), Painter::default());
        for device in &facts.devices {
            let planned = planned(&document, device.device, &mut cache, &path);
            let question = Question::Program {
                device: device.device,
            };
            match ask(&question, &document, &mut cache, &path) {
                Answer::Program(known) => assert!(
                    (known.rows.iter())
                        .all(|(saved, change)| change.peak_bytes + saved == known.peak_bytes),
                    "{path:?}"
                ),
                other => panic!("{other:?}"),
            }
            let known = document.device(device.device).unwrap();
            let packed = known.packed().unwrap_or_default();
            let bytes = planned.plan.bytes(StepKind::Placement).unwrap_or(0);
            assert_eq!(packed.height_bytes(), bytes, "{path:?}");
            hits += hits_in(
                &document,
                &mut painter,
                device.device,
                bytes,
                planned.packing,
            );
            replays(&document, device.device, &mut cache, &path);
        }
    }
    assert!(hits > 100, "only {hits} points have anything in them");
}

/// Number of points of the picture with an allocation.
fn hits_in(
    document: &Document,
    painter: &mut Painter,
    device: DeviceIndex,
    bytes: u64,
    packing: u32,
) -> usize {
    let known = document.device(device).unwrap();
    let bounds = vramscope_view::viewport::Bounds::new(known.bands(Axis::Events).x_end(), bytes);
    let look = Look {
        device,
        picture: Picture::Packing,
        packing,
        ..Look::default()
    };
    let draw = DrawRequest {
        look,
        viewport: Viewport::fit_all(&bounds, SIZE_PX.0, SIZE_PX.1),
    };
    painter.draw(document, &draw).unwrap();
    let points = (0..SIZE_PX.0)
        .step_by(20)
        .flat_map(|x| (0..SIZE_PX.1).step_by(10).map(move |y| (x, y)));
    let is_hit = |&(x, y): &(u32, u32)| {
        let under = painter.hit(document, &draw, x, y);
        matches!(
            under,
            Some(Under::Map(
                MapHit::Allocation { .. } | MapHit::Several { .. }
            ))
        )
    };
    points.filter(is_hit).count()
}

/// Replays end, and wrong settings are refused in words.
fn replays(document: &Document, device: DeviceIndex, cache: &mut Cache, path: &Path) {
    let mut replayed = |changes: &str, round| {
        let question = Question::Replay {
            device,
            changes: changes.to_owned(),
            axis: Axis::Events,
            columns: 50,
            round,
        };
        match ask(&question, document, cache, path) {
            Answer::Replay(replayed) => *replayed,
            _ => panic!("{path:?}"),
        }
    };
    let wrong = replayed("max_split_size_mb:lots", 0);
    assert!(wrong.refusal.is_some() || !wrong.is_done, "{path:?}");
    let done = (0..MOST_ROUNDS).map(|round| replayed("expandable_segments:True", round));
    let done = done.into_iter().find(|replayed| replayed.is_done).unwrap();
    assert!(done.refusal.is_some() || done.own.is_some(), "{path:?}");
    let mut says = done.changed.iter().map(|changed| changed.says.as_str());
    assert!(says.all(|says| !says.is_empty()), "{path:?}");
    if done.refusal.is_none() {
        tries(document, device, cache, path, done.changed.clone());
    }
    assert_eq!(
        done.changed.is_some(),
        done.refusal.is_none() && !done.is_as_recorded(),
        "{path:?}"
    );
}

/// All suggestions are replayed, and the best comes first. `expandable` is the peak of one of them.
fn tries(
    document: &Document,
    device: DeviceIndex,
    cache: &mut Cache,
    path: &Path,
    expandable: Option<WhatIf>,
) {
    let mut rounds = (0..MOST_ROUNDS).map(|round| {
        let question = Question::Tries { device, round };
        match ask(&question, document, cache, path) {
            Answer::Tries(tries) => tries,
            _ => panic!("{path:?}"),
        }
    });
    let done = rounds.find(|tries| tries.is_done).unwrap();
    let outcomes: Vec<&WhatIf> = done
        .rows
        .iter()
        .filter_map(|row| row.outcome.as_ref())
        .collect();
    assert!(outcomes.is_sorted_by_key(|of| of.rank()), "{path:?}");
    let is_it = |row: &&Try| row.changes == "expandable_segments:True";
    let row = done.rows.iter().find(is_it);
    assert_eq!(
        row.and_then(|row| row.outcome.clone()),
        expandable,
        "{path:?}"
    );
}

/// What replays amount to, once they are done.
fn conclusion_of(
    document: &Document,
    device: DeviceIndex,
    cache: &mut Cache,
    path: &Path,
) -> Concluded {
    let mut rounds = (0..MOST_ROUNDS).map(|round| {
        let question = Question::Conclude { device, round };
        match ask(&question, document, cache, path) {
            Answer::Concluded(concluded) => *concluded,
            _ => panic!("{path:?}"),
        }
    });
    rounds.find(|concluded| concluded.is_done).unwrap()
}

#[test]
fn a_conclusion_needs_no_packing_and_a_plan_goes_on_with_its_model() {
    let mut found = 0;
    for (path, document) in documents() {
        let devices = document.devices().filter(|it| is_worth_replaying(**it));
        for device in devices.map(|device| device.index()) {
            let mut cache = Cache::default();
            let alone = conclusion_of(&document, device, &mut cache, &path);
            assert!(cache.plans.works.is_empty(), "{path:?}");
            planned(&document, device, &mut cache, &path);
            assert!(cache.plans.models.is_empty(), "{path:?}");
            let again = conclusion_of(&document, device, &mut cache, &path);
            assert_eq!(again, alone, "{path:?}");
            let mut cache = Cache::default();
            planned(&document, device, &mut cache, &path);
            let with_plan = conclusion_of(&document, device, &mut cache, &path);
            assert_eq!(with_plan, alone, "{path:?}");
            found += usize::from(alone.finding.is_some());
        }
    }
    assert!(found > 0);
}
