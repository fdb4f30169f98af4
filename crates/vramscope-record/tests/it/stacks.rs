//! Stacks: each distinct one is named once, in the modules loaded at its time.

use vramscope_core::ids::StackId;
use vramscope_core::model::Action;
use vramscope_record::layout::{Call, Event, Module};
use vramscope_record::model::Enabled;
use vramscope_record::writer::LogWriter;
use vramscope_record::{ConvertOptions, convert};

use crate::support::{BASE, MIB, Numbers, event};

fn module(log: &mut LogWriter, start: u64, end: u64, path: &str) {
    let module = Module {
        start,
        end,
        ..Module::default()
    };
    log.module(module, &[1, 2], path);
}

fn pair(log: &mut LogWriter, alloc: u32, free: u32) {
    for (call, stack) in [(Call::cuMemAlloc, alloc), (Call::cuMemFree, free)] {
        let event = Event {
            address: BASE,
            size_bytes: MIB,
            stack,
            ..event(log, call)
        };
        log.event(event);
    }
}

#[test]
fn a_stack_is_named_once_and_by_the_newest_module_then() {
    let mut log = LogWriter::default();
    module(&mut log, 0x1000, 0x2000, "/bin/program");
    log.stack(1, &[0x1800, 0x5000]);
    log.stack(2, &[0x1800, 0x5000]);
    module(&mut log, 0x1000, 0x2000, "/lib/plugin.so");
    log.stack(3, &[0x1800, 0x5000]);
    pair(&mut log, 1, 2);
    pair(&mut log, 3, 0);
    let bytes = log.bytes();
    let mut symbols = Numbers::default();
    let reported = |symbols: &mut Numbers, enabled| {
        let mut options = ConvertOptions::default();
        options.recording.enabled = enabled;
        let (snapshot, _) = convert(&bytes, &options, symbols, &mut |_, _| {}).unwrap();
        let stack = |id: StackId| -> String {
            let frames = snapshot.stacks.frames(id).map(|id| {
                let frame = snapshot.frames.get(id);
                let text = |id| snapshot.strings.get(id);
                format!("{} {}", text(frame.name), text(frame.filename))
            });
            frames.collect::<Vec<_>>().join(", ")
        };
        let rows = snapshot.events.action.iter().zip(&snapshot.events.stack);
        rows.filter(|(action, _)| matches!(action, Action::Alloc | Action::FreeCompleted))
            .map(|(_, &id)| stack(id))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        reported(&mut symbols, Enabled::All),
        [
            "cuMemAlloc libcuda.so.1, 0x1800 /bin/program, 0x5000 ??",
            "cuMemFree libcuda.so.1, 0x1800 /bin/program, 0x5000 ??",
            "cuMemAlloc libcuda.so.1, 0x1800 /lib/plugin.so, 0x5000 ??",
            "cuMemFree libcuda.so.1",
        ]
    );
    assert_eq!(symbols.stacks, 2);
    assert_eq!(
        reported(&mut symbols, Enabled::Alloc)[1],
        "cuMemAlloc libcuda.so.1, 0x1800 /bin/program, 0x5000 ??",
        "with `alloc`, a free has the stack of what it frees"
    );
}
