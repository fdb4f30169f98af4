//! Steps: which are recorded, and when there is a file.

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
    let expected = format!("[('state', {options}), ('all', {options}), (None, {{}})]\n");
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(recorded.names(), ["pid.pickle"]);
    // It is from the end of step 5: with those before, five allocations in this torch, which counts in any mode.
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

#[test]
fn where_none_is_counted_it_says_so() {
    let recorded = Recorded::steps(3, None, None);
    if recorded.run("import torch\ntorch.use()").is_none() {
        return;
    }
    assert_eq!(
        recorded.remarks(),
        "No step was counted: steps are those of torch.optim's optimizers."
    );
}
