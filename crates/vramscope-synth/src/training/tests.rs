//! Small runs, checked through the structs and through CPython.

use super::*;

fn small(events: usize) -> Options {
    Options {
        events,
        scale: Scale::SMALL,
        ..Options::default()
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let once = write(&small(3000), Vec::new()).unwrap();
    let again = write(&small(3000), Vec::new()).unwrap();
    assert_eq!(once, again);
    let other = write(
        &Options {
            seed: 2,
            ..small(3000)
        },
        Vec::new(),
    )
    .unwrap();
    assert_ne!(once, other);
}

#[test]
fn streaming_equals_writing_the_kept_snapshot() {
    let options = small(2500);
    let streamed = write(&options, Vec::new()).unwrap();
    let kept = snapshot(&options);
    assert!((2500..=2503).contains(&kept.device_traces[0].len()));
    assert_eq!(kept.to_pickle(&options.write_options()), streamed);
}

#[test]
fn a_full_device_ends_the_run() {
    let scale = Scale {
        device_bytes: 1 << 30,
        ..Scale::SMALL
    };
    let kept = snapshot(&Options {
        scale,
        ..small(100_000)
    });
    let trace = &kept.device_traces[0];
    assert!(trace.len() < 100_000);
    assert_eq!(
        trace.last().map(|e| &e.action),
        Some(&crate::snapshot::Action::Oom)
    );
}
