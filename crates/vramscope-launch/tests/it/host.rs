//! Host memory: programs that leak it are reported, and others are not.

use std::sync::mpsc::channel;
use std::time::Duration;

use vramscope_launch::HostMemory;

use crate::recorded::{Recorded, text};

const PERIOD: Duration = Duration::from_millis(20);

/// What was found for a script, at the end and before; `None` without Python.
fn seen(script: &str) -> Option<(HostMemory, usize)> {
    let recorded = Recorded::new();
    let (told, early) = channel();
    let stop = recorded.folder.path().join("stop");
    let watch = recorded.session.watch_host(PERIOD, move |growth| {
        std::fs::write(&stop, "").unwrap();
        told.send(growth).unwrap();
    });
    let output = recorded.run(script)?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let memory = watch.end();
    Some((memory, early.iter().count()))
}

/// A program with memory on a device, which does `each` every 20 ms until it was reported, or for this many seconds.
fn program(seconds: u32, each: &str) -> String {
    format!(
        "import os, time, torch\ntorch.use()\nkept = bytearray()\nlast = time.time() + {seconds}\n\
         while time.time() < last and not os.path.exists('stop'):\n  time.sleep(0.02)\n  {each}"
    )
}

#[test]
#[cfg(target_os = "linux")]
fn a_leak_is_told_early_and_at_the_end() {
    let Some((memory, early)) = seen(&program(60, "kept += b'a' * (2 << 20)")) else {
        return;
    };
    assert_eq!(early, 1);
    let [grown] = &memory.grown[..] else {
        panic!("{memory:?}");
    };
    let [before, after] = grown.host_bytes;
    assert!(after > before + (128 << 20), "{grown:?}");
    assert_eq!(grown.device_bytes, [512, 512]);
    assert!(grown.time > Duration::from_millis(500), "{grown:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_does_not_grow_or_grows_on_the_device_too_is_not() {
    for each in [
        "kept = b'a' * (2 << 20)",
        "torch.live += 1_000; kept += b'a' * (2 << 20)",
    ] {
        let Some(seen) = seen(&program(3, each)) else {
            return;
        };
        assert_eq!(seen, (HostMemory::default(), 0), "{each}");
    }
}

#[test]
fn where_it_cannot_be_told_that_is_said() {
    let script = program(3, "pass").replace(
        "torch.use()",
        "torch.use()\ntorch.cuda.memory.memory_allocated = None",
    );
    if let Some((memory, early)) = seen(&script) {
        assert_eq!((memory.grown.len(), memory.unknown.len(), early), (0, 1, 0));
    }
}
