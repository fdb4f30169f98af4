//! Texts from public threads: how often the class of the cause is right, and never wrongly certain.

use vramscope_text::{Class, Sure, conclude, read, whole};

use super::{class_name, threads};

/// The least number of texts, of 107, whose first cause is the one that the thread's end or the arithmetic tells.
const RIGHT: usize = 96;

#[test]
fn causes_are_right_or_not_told() {
    let (mut right, mut untold) = (0, Vec::new());
    let mut wrong = Vec::new();
    let threads = threads();
    for thread in &threads {
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
            // Where nothing is to be told, a possibility is no more than that.
            match thread.class.as_str() {
                "unknown" => right += 1,
                _ => untold.push(line),
            }
        } else {
            wrong.push(line);
        }
    }
    println!("{right} right of {}", threads.len());
    println!("not told:\n{}", untold.join("\n"));
    assert!(wrong.is_empty(), "wrong:\n{}", wrong.join("\n"));
    assert!(right >= RIGHT, "{right} right of {}", threads.len());
}
