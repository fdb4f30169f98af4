//! Roles in a trace without Python's functions, compared with those of the same trace with them; and those recorded in a
//! memory timeline.

use serde_json::Value;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::report::peak_roles::PeakRoles;
use vramscope_core::analysis::roles::{Phase, Role};

use super::{decode, texts};

/// The trace as it is without `with_stack=True`.
fn without_python(text: &str) -> String {
    let mut trace: Value = serde_json::from_str(text).unwrap();
    let events = trace["traceEvents"].as_array_mut().unwrap();
    events.retain(|event| event["cat"] != "python_function");
    trace.to_string()
}

/// The phases of a step, in their order.
#[test]
fn without_python_phases_are_known() {
    for (name, text) in texts("plain") {
        if name.contains("cpu") {
            continue;
        }
        let recording = Recording::of(decode(text.as_bytes()).unwrap());
        let device = recording.device(0).unwrap();
        let phases: Vec<_> = device.phases().ranges.iter().map(|it| it.phase).collect();
        use Phase::{Backward, Forward, Optimizer};
        assert_eq!(phases, [Forward, Backward, Optimizer], "{name}");
    }
}

fn roles(device: Device<'_>) -> Vec<Role> {
    device.rule_of().iter().map(|rule| rule.role()).collect()
}

#[test]
fn without_python_a_role_is_the_same_or_unknown() {
    for (name, text) in texts("training") {
        let with = Recording::of(decode(text.as_bytes()).unwrap());
        let without = Recording::of(decode(without_python(&text).as_bytes()).unwrap());
        for (with, without) in with.devices().zip(without.devices()) {
            let place = format!("{name}, device {}", with.index());
            let sizes = &with.history.allocations.bytes;
            let both = roles(with).into_iter().zip(roles(without));
            let mut lost = 0;
            for (row, (with, without)) in both.enumerate() {
                let is_known = with != Role::Unknown && without != Role::Unknown;
                let bytes = sizes[row];
                assert!(
                    !is_known || with == without,
                    "{place}, {row} of {bytes} bytes: {with:?}, {without:?}"
                );
                lost += u32::from(with != Role::Unknown && without == Role::Unknown);
            }
            // The gradient that begins each backward pass, which Python's thread makes.
            assert!(lost <= 2, "{place}: {lost}");
        }
    }
}

#[test]
fn recorded_categories_are_not_inferred_and_are_told() {
    for (name, text) in texts("timeline") {
        let recording = Recording::of(decode(text.as_bytes()).unwrap());
        let roles = PeakRoles::of(recording.devices().next().unwrap());
        let said = roles.sentence().unwrap();
        assert!(said.contains("optimizer state"), "{name}: {said}");
        assert!(!said.contains("inferred"), "{name}: {said}");
    }
}
