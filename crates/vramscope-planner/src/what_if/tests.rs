//! Every fixture is planned, drawn and replayed.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use vramscope_core::analysis::report::idle::is_worth_replaying;
use vramscope_core::model::DeviceIndex;
use vramscope_plan::what_if::WhatIf;
use vramscope_protocol::views::what_if::Try;
use vramscope_protocol::{Axis, Bounds, Viewport, from_bytes, to_bytes};
use vramscope_view::map::{MapHit, PackedGroup, PackedMap};
use vramscope_view::raster::Bands;

use super::*;

const SIZE_PX: (u32, u32) = (120, 80);
/// Far more questions than any fixture needs.
const MOST_ROUNDS: u32 = 10_000;

thread_local! {
    static NOW_MS: Cell<f64> = const { Cell::new(0.0) };
}

/// A clock that goes on by a ms whenever somebody looks at it, so that each search has the same steps.
fn now_ms() -> f64 {
    NOW_MS.set(NOW_MS.get() + 1.0);
    NOW_MS.get()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The committed snapshots that can be read; without the hundreds of recordings of one kind that what is concluded is judged by.
fn snapshots() -> impl Iterator<Item = (PathBuf, Plans)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut found = Vec::new();
    files(&folder, &mut found);
    found.sort();
    found.retain(|path| {
        !["causes", "roles"]
            .iter()
            .any(|of| path.starts_with(folder.join(of)))
    });
    found.into_iter().filter_map(|path| {
        let snapshot = vramscope_core::decode(std::fs::read(&path).unwrap().as_slice()).ok()?;
        Some((path, Plans::new(Recording::by_peak(snapshot))))
    })
}

fn devices(plans: &Plans) -> Vec<DeviceIndex> {
    plans
        .recording
        .devices()
        .map(|device| device.index())
        .collect()
}

fn ask(question: &Question, plans: &mut Plans, path: &Path) -> (Answer, Option<What>) {
    let (answer, what) = (plans.answer(question, now_ms)).unwrap_or_else(|| panic!("{path:?}"));
    let arrived: Answer = from_bytes(&to_bytes(&answer)).unwrap();
    assert_eq!(arrived, answer, "{path:?}");
    (answer, what)
}

/// The plan of a device once it is done, and the packing that is drawn then.
fn planned(plans: &mut Plans, device: DeviceIndex, path: &Path) -> (Planned, Vec<PackedPlaces>) {
    let mut drawn = (0, Vec::new());
    for round in 0..MOST_ROUNDS {
        let question = Question::Plan {
            device,
            round,
            search_ms: 40,
        };
        let (Answer::Plan(planned), what) = ask(&question, plans, path) else {
            panic!("{path:?}");
        };
        assert!(!planned.plan.steps.is_empty());
        if let Some(What::Packing(places)) = what {
            drawn = (planned.packing, places);
        }
        assert_eq!(planned.packing, drawn.0, "{path:?}");
        if planned.stage == Stage::Done {
            return (*planned, drawn.1);
        }
    }
    panic!("{path:?} is never done")
}

#[test]
fn every_fixture_has_a_plan_and_a_picture_of_its_packing() {
    let mut hits = 0;
    for (path, mut plans) in snapshots() {
        for device in devices(&plans) {
            let (planned, places) = planned(&mut plans, device, &path);
            let bytes = planned.plan.bytes(StepKind::Placement).unwrap_or(0);
            hits += hits_in(plans.recording.device(device).unwrap(), &places, bytes);
            replays(&mut plans, device, &path);
        }
    }
    assert!(hits > 100, "only {hits} points have anything in them");
}

/// Number of points of the picture with an allocation.
fn hits_in(device: Device<'_>, places: &[PackedPlaces], bytes: u64) -> usize {
    let groups = places.iter().map(|places| PackedGroup {
        stream: places.stream,
        pool: Some(places.pool),
        rows: &places.rows,
        offset: &places.offset,
        bytes: &places.bytes,
        height: places.height,
    });
    let groups: Vec<_> = groups.collect();
    let packed = PackedMap::new(&device.history.allocations, &groups);
    assert_eq!(packed.height_bytes(), bytes);
    let bands = Bands::of(device.history, false);
    let view = Viewport::fit_all(&Bounds::new(bands.x_end(), bytes), SIZE_PX.0, SIZE_PX.1);
    let points = (0..SIZE_PX.0)
        .step_by(20)
        .flat_map(|x| (0..SIZE_PX.1).step_by(10).map(move |y| (x, y)));
    let is_hit = |&at: &(u32, u32)| {
        let hit = packed.hit(&bands, &view, at);
        matches!(hit, MapHit::Allocation { .. } | MapHit::Several { .. })
    };
    points.filter(is_hit).count()
}

/// Wrong settings are refused in words, and what a replay reserves is passed on.
fn replays(plans: &mut Plans, device: DeviceIndex, path: &Path) {
    let mut replayed = |changes: &str| {
        let question = Question::Replay {
            device,
            changes: changes.to_owned(),
            axis: Axis::Events,
            columns: 50,
        };
        match ask(&question, plans, path) {
            (Answer::Replay(replayed), what) => (*replayed, what),
            _ => panic!("{path:?}"),
        }
    };
    let (wrong, nothing) = replayed("max_split_size_mb:lots");
    assert!(wrong.refusal.is_some() && nothing.is_none(), "{path:?}");
    let (done, what) = replayed("expandable_segments:True");
    assert!(done.refusal.is_some() || done.own.is_some(), "{path:?}");
    assert!(done.refusal.is_none() || done.changed.is_none(), "{path:?}");
    if let Some(changed) = &done.changed {
        assert!(!changed.says.is_empty(), "{path:?}");
        let Some(What::Replay { reserved_steps, .. }) = what else {
            panic!("{path:?}");
        };
        let most = reserved_steps.iter().map(|step| step.1).max();
        assert_eq!(most, Some(changed.peak_reserved_bytes), "{path:?}");
    }
    if done.refusal.is_none() {
        tries(plans, device, path, done.changed);
    }
}

/// All suggestions are replayed, and the best comes first. `expandable` is the peak of one of them.
fn tries(plans: &mut Plans, device: DeviceIndex, path: &Path, expandable: Option<WhatIf>) {
    let mut rounds = (0..MOST_ROUNDS).map(|round| {
        let question = Question::Tries { device, round };
        match ask(&question, plans, path) {
            (Answer::Tries(tries), None) => tries,
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
fn conclusion_of(plans: &mut Plans, device: DeviceIndex, path: &Path) -> Concluded {
    let mut rounds = (0..MOST_ROUNDS).map(|round| {
        let question = Question::Conclude { device, round };
        let (Answer::Concluded(concluded), what) = ask(&question, plans, path) else {
            panic!("{path:?}");
        };
        let known =
            (concluded.is_done).then(|| What::Conclusion(concluded.finding.clone().map(Box::new)));
        assert_eq!(what, known, "{path:?}");
        concluded
    });
    *rounds.find(|concluded| concluded.is_done).unwrap()
}

#[test]
fn a_conclusion_needs_no_packing_and_a_plan_goes_on_with_its_model() {
    let mut found = 0;
    for (path, plans) in snapshots() {
        let worth = plans
            .recording
            .devices()
            .filter(|&it| is_worth_replaying(it));
        let worth: Vec<_> = worth.map(|device| device.index()).collect();
        for device in worth {
            let fresh = || Plans::new(plans.recording.within_pools(|_| true));
            let (mut plans, mut other) = (fresh(), fresh());
            let alone = conclusion_of(&mut plans, device, &path);
            assert!(plans.devices.iter().all(|of| of.work.is_none()), "{path:?}");
            planned(&mut plans, device, &path);
            assert!(
                plans.devices.iter().all(|of| of.model.is_none()),
                "{path:?}"
            );
            assert_eq!(conclusion_of(&mut plans, device, &path), alone, "{path:?}");
            planned(&mut other, device, &path);
            assert_eq!(conclusion_of(&mut other, device, &path), alone, "{path:?}");
            found += usize::from(alone.finding.is_some());
        }
    }
    assert!(found > 0);
}
