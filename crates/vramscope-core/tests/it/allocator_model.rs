//! The allocator model beside what torch did: one program under many settings, recorded over fakecuda by
//! `tests/make/allocator.py`.

use std::collections::BTreeMap;

use vramscope_core::Snapshot;
use vramscope_core::analysis::allocator_model::{ModelSettings, Outcome, Start, replay};
use vramscope_core::analysis::allocator_state::Recording;
use vramscope_core::analysis::history::History;
use vramscope_core::analysis::replay::Replay;
use vramscope_core::model::Action;

use crate::support;

/// A run of the program.
struct Recorded {
    name: String,
    snapshot: Snapshot,
    history: History,
    replay: Replay,
}

impl Recorded {
    fn recording(&self) -> Recording<'_> {
        Recording {
            snapshot: &self.snapshot,
            history: &self.history,
            replay: &self.replay,
        }
    }

    /// The settings of the run with the device it had, which no file tells.
    fn settings(&self) -> ModelSettings {
        let settings = ModelSettings::of(&self.snapshot);
        let pressed = self.name.starts_with("pressure") && !self.name.contains("fraction");
        let device: u64 = if pressed { 420 } else { 8192 };
        let mut changes = format!("capacity={device}MiB");
        for (name, share) in [("collected", "0.08"), ("pressure_fraction", "0.05")] {
            if self.name.starts_with(name) {
                changes += &format!(",per_process_memory_fraction:{share}");
            }
        }
        settings.with_changes(&changes).unwrap()
    }

    /// The moments after each request and free, by which runs can be compared: (action, bytes, moment). What is
    /// refused has none.
    fn calls(&self) -> Vec<(Action, u64, u32)> {
        let events = &self.snapshot.events;
        let rows = (self.history.first_event as usize..).take(self.history.event_count as usize);
        let calls = rows.zip(1..).filter(|&(row, _)| {
            matches!(
                events.action[row],
                Action::Alloc | Action::FreeRequested | Action::Oom
            )
        });
        calls
            .map(|(row, moment)| (events.action[row], events.size[row], moment))
            .collect()
    }
}

fn runs() -> BTreeMap<String, Recorded> {
    let files = support::fixtures_in("allocator");
    let runs = files.iter().map(|file| {
        let snapshot = file.decode();
        let history = History::of(&snapshot, 0);
        let replay = Replay::of(&snapshot, &history);
        let name = file
            .name
            .trim_start_matches("allocator/")
            .trim_end_matches(".pickle.zst")
            .to_owned();
        (
            name.clone(),
            Recorded {
                name,
                snapshot,
                history,
                replay,
            },
        )
    });
    runs.collect()
}

/// What the model reserves in the one run's program under the other's settings, and what torch reserved there:
/// the share of calls after which both are equal, and the two peaks.
fn foretell(from: &Recorded, to: &Recorded) -> (usize, usize, u64, u64, Outcome) {
    let outcome = replay(from.recording(), &to.settings(), Start::Afresh);
    let (calls, really) = (from.calls(), to.calls());
    let mut really = really
        .iter()
        .filter(|call| call.0 != Action::Oom)
        .peekable();
    let (mut equal, mut compared) = (0, 0);
    let (mut foretold_peak, mut real_peak) = (0, 0);
    for (action, bytes, moment) in calls {
        let Some(&&(other, size, at)) = really.peek() else {
            break;
        };
        if (action, bytes) != (other, size) {
            continue;
        }
        really.next();
        let (foretold, real) = (
            outcome.reserved_bytes(moment),
            to.history.reserved_bytes(at),
        );
        compared += 1;
        equal += usize::from(foretold == real);
        foretold_peak = foretold_peak.max(foretold);
        real_peak = real_peak.max(real);
    }
    (equal, compared, foretold_peak, real_peak, outcome)
}

#[test]
fn every_run_foretold_from_every_other() {
    let runs = runs();
    for to in runs.values() {
        let own = foretell(to, to);
        let from_default = foretell(&runs["default"], to);
        println!(
            "{:30} own {}/{} peak {}/{} refused {}; from default {}/{} peak {}/{} refused {} retries {}",
            to.name,
            own.0,
            own.1,
            own.2 >> 20,
            own.3 >> 20,
            own.4.refused.len(),
            from_default.0,
            from_default.1,
            from_default.2 >> 20,
            from_default.3 >> 20,
            from_default.4.refused.len(),
            from_default.4.retries,
        );
    }
}
