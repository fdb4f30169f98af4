//! Texts from public threads: how often the class of the cause is right, and that it is never wrongly certain.

use vramscope_text::{Class, Sure, conclude, read, whole};

use super::{Thread, class_name, threads, threads_in};

/// Least number of the 107 texts whose first cause agrees with the end of the thread or with the arithmetic.
const RIGHT: usize = 100;

/// The same of the 98 texts that were judged by readers who did not know the rules.
const RIGHT_OF_JUDGED: usize = 92;

#[test]
fn causes_are_right_or_not_told() {
    check(&threads(), RIGHT);
}

#[test]
fn a_reader_who_does_not_know_the_rules_agrees() {
    check(&threads_in("judged.txt"), RIGHT_OF_JUDGED);
}

/// Fails if a wrong cause is likely or certain, or fewer are right.
fn check(threads: &[Thread], least: usize) {
    let (mut right, mut untold) = (0, Vec::new());
    let mut wrong = Vec::new();
    for thread in threads {
        let reading = read(thread.text.as_bytes());
        let first = whole(&reading).first;
        let told = first.and_then(|first| conclude(&reading.records[first]));
        let Some(told) = told else {
            wrong.push(format!("{}: nothing found", thread.name));
            continue;
        };
        let cause = told.main();
        let line = format!(
            "{}: {:?} {}, not {}",
            thread.name, cause.sure, cause.title, thread.class
        );
        if class_name(cause.class) == thread.class {
            right += 1;
        } else if cause.class == Class::Unknown || cause.sure == Sure::Possible {
            // If nothing can be concluded, a cause must be no more than possible.
            match thread.class.as_str() {
                "unknown" => right += 1,
                _ => untold.push(line),
            }
        } else {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "wrong:\n{}", wrong.join("\n"));
    let (of, untold) = (threads.len(), untold.join("\n"));
    assert!(right >= least, "{right} right of {of}, not told:\n{untold}");
}
