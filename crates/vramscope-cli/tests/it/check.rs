//! `check`: budgets kept, broken and not measurable, and their exit codes.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const STEPS: &str = "synth/scenario-annotated.pickle";
const OOM: &str = "torch-2.15.0/oom_observer.pickle";

fn check(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["check"], arguments].concat()))
}

fn code(arguments: &[&str]) -> Option<i32> {
    vramscope(&[&["check"], arguments].concat()).status.code()
}

#[test]
fn all_kept() {
    let budgets = [
        "--max-peak",
        "1GiB",
        "--max-reserved",
        "1GiB",
        "--max-growth",
        "1MiB/step",
        "--no-oom",
        "--max-fragmentation",
        "90%",
        "--max-allocations",
        "10,000",
        "--max-live-at-end",
        "1GiB",
    ];
    assert_snapshot!(check(&[&[STEPS], &budgets[..]].concat()));
}

#[test]
fn all_broken() {
    let budgets = [
        "--max-peak",
        "1MiB",
        "--max-reserved",
        "2MiB",
        "--no-oom",
        "--max-fragmentation",
        "0.5",
        "--max-allocations",
        "3",
        "--max-live-at-end",
        "1KiB",
    ];
    assert_snapshot!(check(&[&[OOM], &budgets[..]].concat()));
}

#[test]
fn roles_have_budgets() {
    let training = "torch-2.15.0/training.pickle";
    let budgets = [
        "--max-role",
        "activations=1MiB",
        "--max-role",
        "gradient=1GiB",
    ];
    assert_snapshot!(check(&[&[training], &budgets[..]].concat()));
    assert_snapshot!(check(&[training, "--max-role", "weights=1MiB"]));
    assert_snapshot!(check(&[
        "torch-2.15.0/no_stacks.pickle",
        "--max-role",
        "input=1MiB"
    ]));
}

#[test]
fn not_measurable_is_not_fine() {
    let file = "torch-2.15.0/state_mode.pickle";
    assert_snapshot!(check(&[
        file,
        "--max-peak",
        "1GiB",
        "--no-oom",
        "--max-live-at-end",
        "1GiB"
    ]));
    assert_eq!(code(&[OOM, "--max-growth", "1GiB"]), Some(1), "no steps");
    let empty = "torch-2.15.0/empty_list.pickle";
    assert_eq!(code(&[empty, "--no-oom"]), Some(1), "no device");
}

/// A ring buffer has lost the events of the peak: 6 GiB were reserved when its first event was recorded.
#[test]
fn a_peak_before_the_recording_is_not_fine() {
    const LATE: &str = "causes/write_recipes.pickle.zst";
    let said = check(&[LATE, "--max-peak", "5GiB"]);
    assert!(said.contains("not measured"), "{said}");
    assert_eq!(code(&[LATE, "--max-peak", "5GiB"]), Some(1));
    assert_eq!(code(&[LATE, "--max-peak", "7GiB"]), Some(0));
    assert_eq!(code(&[LATE, "--max-peak", "500MiB"]), Some(3));
}

#[test]
fn every_file_is_checked_and_a_broken_budget_comes_first() {
    assert_snapshot!(check(&[
        "absent.pickle",
        STEPS,
        OOM,
        "--max-peak",
        "100MiB",
        "--json"
    ]));
    assert_eq!(
        code(&["absent.pickle", STEPS, "--max-peak", "100MiB"]),
        Some(1)
    );
}

#[test]
fn wrong_usage() {
    assert_snapshot!(check(&[OOM]));
    assert_eq!(code(&[OOM, "--max-peak", "much"]), Some(2));
    assert_eq!(code(&[OOM, "--max-fragmentation", "101"]), Some(2));
    assert_eq!(code(&[OOM, "--max-growth", "1MiB/hour"]), Some(2));
    assert_eq!(code(&[OOM, "--max-growth", "1,5MiB/step"]), Some(2));
    assert_eq!(code(&[OOM, "--max-fragmentation", "12,5"]), Some(2));
    assert_snapshot!(check(&[OOM, "--max-peak", "1,5GiB"]));
}

/// A list that keeps every step's output.
#[test]
fn growth_by_call_site() {
    let mut events = Vec::new();
    let mut marks = Vec::new();
    for step in 0..8_u64 {
        let time = step * 100;
        let mark = |stage: &str, at: u64| {
            format!(
                r#"{{"stage": "{stage}", "name": "step {step}", "device": 0, "time_us": {at}}}"#
            )
        };
        marks.push(mark("START", time));
        marks.push(mark("END", time + 50));
        for (place, line) in [(0, 5), (1, 6)] {
            events.push(format!(
                r#"{{"action": "alloc", "addr": {}, "size": 1048576, "stream": 0, "time_us": {},
                "frames": [{{"name": "step", "filename": "train.py", "line": {line}}}]}}"#,
                (step * 2 + place + 1) << 21,
                time + 10 + place
            ));
        }
        events.push(format!(
            r#"{{"action": "free_completed", "addr": {}, "size": 1048576, "stream": 0, "time_us": {}}}"#,
            (step * 2 + 1) << 21,
            time + 20
        ));
    }
    let file = format!(
        r#"{{"segments": [], "device_traces": [[{}]], "external_annotations": [{}]}}"#,
        events.join(","),
        marks.join(",")
    );
    let run = |limit: &str| {
        let arguments = ["check", "-", "--max-growth", limit];
        crate::program::vramscope_reading(&arguments, file.as_bytes())
    };
    assert_snapshot!(transcript(&run("1000KiB/step")));
    assert_eq!(run("1MiB/step").status.code(), Some(0));
}

#[test]
fn help() {
    assert_snapshot!(check(&["--help"]));
}
