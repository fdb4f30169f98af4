//! Steps: which are recorded, and when a file is written.

use std::fs;

use crate::recorded::{Recorded, text};

/// Two optimizers that make ten steps, with an allocation in each.
const LOOP: &str = "import torch\n\
                    one, other = torch.optim.Optimizer(), torch.optim.Optimizer()\n\
                    for step in range(10):\n  torch.use()\n  one.step()\n  other.step()\n\
                    print(torch.calls)";

#[test]
fn only_the_steps_that_are_wanted() {
    let recorded = Recorded::steps(3, Some(5), None);
    let Some(output) = recorded.run(LOOP) else {
        return;
    };
    let options = "{'stacks': 'all', 'max_entries': 1000}";
    let expected =
        format!("[('state', {options}), (None, {{}}), ('all', {options}), (None, {{}})]\n");
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(recorded.names(), ["pid.pickle"]);
    // The file is from the end of step 5, and has nothing from before step 3.
    let file = fs::read(&recorded.outcome().files[0]).unwrap();
    assert!(String::from_utf8_lossy(&file).contains("'all', "));
    assert_eq!(recorded.remarks(), "");
}

#[test]
fn a_file_every_so_many() {
    let recorded = Recorded::steps(1, None, Some(4));
    if recorded.run(LOOP).is_none() {
        return;
    }
    assert_eq!(
        recorded.names(),
        ["pid.pickle", "step_4/pid.pickle", "step_8/pid.pickle"]
    );
}

/// The remarks about a program that makes this many steps.
fn remarks(recorded: &Recorded, made: u32) -> Option<String> {
    let script = format!(
        "import torch\ntorch.use()\none = torch.optim.Optimizer()\nfor _ in range({made}): one.step()"
    );
    recorded.run(&script)?;
    Some(recorded.remarks())
}

#[test]
fn what_was_never_reached_is_said_with_the_number_of_steps() {
    let none = "process N: counted no step: steps are those of torch.optim's optimizers.";
    let few = "process N: counted 4 steps, and was to be recorded from step 10 on: its file only has the memory live at the end.";
    let cut = "process N: counted 4 steps, and was to be recorded to the end of step 5.";
    let seldom = "process N: counted 4 steps, and was to leave a file every 9 steps.";
    for (first, last, every, made, said) in [
        (3, None, None, 0, none),
        (10, Some(13), None, 4, few),
        (10, None, None, 4, few),
        (5, Some(5), None, 4, cut),
        (5, None, None, 4, ""),
        (2, Some(4), Some(4), 4, ""),
        (1, None, Some(9), 4, seldom),
    ] {
        let recorded = Recorded::steps(first, last, every);
        let Some(remarks) = remarks(&recorded, made) else {
            return;
        };
        assert_eq!(remarks, said);
    }
}

/// The number of steps of a killed process is unknown.
#[test]
fn a_killed_process_has_counted_who_knows_how_many() {
    let recorded = Recorded::steps(10, None, None);
    let script = "import os, torch\ntorch.use()\nos.kill(os.getpid(), 9)";
    if recorded.run(script).is_some() {
        let remarks = recorded.remarks();
        assert!(!remarks.contains("counted"), "{remarks}");
    }
}
