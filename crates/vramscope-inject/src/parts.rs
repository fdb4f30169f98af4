//! Parts of an allocation that the program hands out itself, and names of allocations.
//!
//! Nothing here creates a log: without one, no call has allocated memory that could have parts.

use vramscope_record::layout::{Call, Event, Kind, NO_DEVICE};

use crate::{log, ranges, stack};

/// Records a part that the program hands out.
pub(crate) fn alloc(address: u64, size_bytes: u64, stream: u64) {
    put(|| Event {
        address,
        size_bytes,
        stream,
        ..event(Call::suballoc)
    });
}

/// Records that the program takes back the part at an address.
pub(crate) fn free(address: u64, stream: u64) {
    put(|| Event {
        address,
        stream,
        ..event(Call::subfree)
    });
}

/// Records that the program takes back all parts in a range, which must not be empty.
pub(crate) fn free_all(address: u64, size_bytes: u64) {
    put(|| Event {
        address,
        size_bytes,
        ..event(Call::subfree)
    });
}

/// Names the allocation or part at an address.
pub(crate) fn annotate(address: u64, name: &[u8]) {
    put(|| Event {
        address,
        pool: log::text(name).into(),
        ..event(Call::annotate)
    });
}

/// Writes an event if recording is on.
fn put(event: impl FnOnce() -> Event) {
    if ranges::is_recording() {
        log::put(Kind::Event, &[&event().to_bytes()]);
    }
}

/// The common fields of the program's own events. The device is left out; readers find it by the address.
fn event(call: Call) -> Event {
    let settings = log::settings();
    let has_stack = settings.filter(|it| call != Call::subfree || it.free_stacks);
    Event {
        time_ns: log::now_ns(),
        stack: has_stack.map_or(0, |settings| stack::record(settings.depth)),
        thread: log::thread(),
        device: NO_DEVICE,
        call: call as u8,
        ..Event::default()
    }
}
