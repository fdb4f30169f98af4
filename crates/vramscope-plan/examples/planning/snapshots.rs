//! Snapshots: the model of the allocator, and the way from ideal to real.

use std::fs;
use std::path::Path;

use vramscope_core::analysis::recording::Recording;
use vramscope_core::{Snapshot, decode};
use vramscope_plan::Planner;
use vramscope_plan::allocator_model::{ModelSettings, Start, replay};
use vramscope_synth::training;

use crate::{SPENT, timed};

/// Events of the synthetic snapshot.
const EVENTS: usize = 1_000_000;

/// Fewest events of a real snapshot that takes long enough to measure.
const FEWEST: usize = 1_000;

/// A training run of a million events, and the pickles in `real`: the first device of each.
pub(crate) fn plans(real: Option<&Path>) {
    println!("\nsnapshots                          events    model {SPENT}  M/s     plan {SPENT}");
    let options = training::Options {
        events: EVENTS,
        ..training::Options::default()
    };
    let made = training::write(&options, Vec::new()).unwrap();
    measure("training", decode(made.as_slice()).unwrap());
    drop(made);
    let entries = real.map(fs::read_dir).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if let Ok(snapshot) = decode(fs::File::open(&path).unwrap()) {
            measure(&name, snapshot);
        }
    }
}

fn measure(name: &str, snapshot: Snapshot) {
    let events = snapshot.events.len();
    let recording = Recording::of(snapshot);
    let Some(device) = recording.devices().next().filter(|_| events >= FEWEST) else {
        return;
    };
    let settings = ModelSettings::of_device(device);
    // Shared by all questions, so not part of the model's or the plan's time.
    let _shared = (device.block_sizes(), device.stream_of(), device.pool_of());
    let (_, model_s) = timed(|| replay(device, &settings, Start::AsRecorded));
    // Until every bar is known; the search for better packings has no end.
    let (_, plan_s) = timed(|| {
        let mut planner = Planner::new(device);
        while !planner.plan().has_all_bars {
            planner.run(device, &mut || true);
        }
    });
    let rate = events as f64 / model_s.wall.as_secs_f64() / 1e6;
    println!(
        "{:<30.30} {:>10}          {model_s} {rate:>4.1}          {plan_s}",
        name, events
    );
}
