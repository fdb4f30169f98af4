//! What happens around a call of the driver: who is asked when, and what is written down before and after.
//!
//! A free is written before the driver is called and an allocation after it returned, so that no address is seen taken
//! before it was given back. Only the outermost call of a thread is looked at: the driver may use its own functions.

use std::cell::Cell;

use vramscope_record::layout::{Call, Event, NO_DEVICE, OUT_OF_MEMORY, SUCCESS, flags};

use super::{CUresult, events, pools};
use crate::log;

/// Makes the driver's functions as C functions of the same names, and `all()`, the hooks of them.
macro_rules! hooks {
    ($(
        fn $name:ident ($($arg:ident : $type:ty),* $(,)?) => $kind:ident ($($with:expr)?)
            $($call:ident)? $(|$it:ident|)? $({ $($field:ident $(: $value:expr)?),* $(,)? })?;
    )*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($arg: $type),*) -> CUresult {
                let real = $name::HOOK.real();
                if real.is_null() {
                    return NOT_INITIALIZED;
                }
                // SAFETY: the driver's function of this name, which has this type; the arguments are the caller's.
                let run = || unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type),*) -> CUresult>(real)($($arg),*)
                };
                hooks!(@look $kind run [$($with)?] $($call)? $(|$it|)? $({ $($field $(: $value)?),* })?)
            }

            mod $name {
                pub(super) static HOOK: $crate::linker::Hook = $crate::linker::Hook::new(
                    // A literal's bytes and a zero.
                    match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!(),
                    },
                    super::$name as *const std::ffi::c_void,
                );
            }
        )*

        /// All hooks.
        fn all() -> impl Iterator<Item = &'static Hook> {
            [$( &$name::HOOK ),*].into_iter()
        }
    };
    (@look observed $run:ident [$after:expr]) => {
        entry::observed($run, || $after)
    };
    (@look $kind:ident $run:ident []) => {
        $kind($run)
    };
    (@look $kind:ident $run:ident [] $call:ident { $($event:tt)* }) => {
        $kind($run, || Event { $($event)*, ..entry::blank(vramscope_record::layout::Call::$call) })
    };
    (@look $kind:ident $run:ident [$place:expr] $call:ident |$it:ident| { $($event:tt)* }) => {
        $kind($run, ($place).cast::<u64>(), |$it| Event { $($event)*, ..entry::blank(vramscope_record::layout::Call::$call) })
    };
}

pub(super) use hooks;

/// An event of which only the call is known.
pub(super) fn blank(call: Call) -> Event {
    Event {
        call: call as u8,
        device: NO_DEVICE,
        ..Event::default()
    }
}

/// A call that allocates memory on a device; its address is put into `place`.
#[inline]
pub(super) fn allocated(
    run: impl FnOnce() -> CUresult,
    place: *const u64,
    event: impl FnOnce(u64) -> Event,
) -> CUresult {
    outermost(
        run,
        || (),
        |result| after(result, place, event, events::allocated),
    )
}

/// A call that makes something else: its address or handle is put into `place`, or stands there already.
#[inline]
pub(super) fn made(
    run: impl FnOnce() -> CUresult,
    place: *const u64,
    event: impl FnOnce(u64) -> Event,
) -> CUresult {
    outermost(
        run,
        || (),
        |result| after(result, place, event, events::made),
    )
}

/// A call that pins memory of the host.
#[inline]
pub(super) fn pinned(
    run: impl FnOnce() -> CUresult,
    place: *const u64,
    event: impl FnOnce(u64) -> Event,
) -> CUresult {
    if is_host_wanted() {
        made(run, place, event)
    } else {
        run()
    }
}

/// A call that gives something back.
#[inline]
pub(super) fn freed(run: impl FnOnce() -> CUresult, event: impl Fn() -> Event) -> CUresult {
    outermost(
        run,
        || events::freed(event()),
        |result| {
            if result != SUCCESS {
                let flags = flags::FREE_FAILED;
                events::write(
                    Event {
                        result,
                        flags,
                        ..event()
                    },
                    false,
                );
            }
        },
    )
}

/// A call that gives memory of the host back.
#[inline]
pub(super) fn unpinned(run: impl FnOnce() -> CUresult, event: impl Fn() -> Event) -> CUresult {
    if is_host_wanted() {
        freed(run, event)
    } else {
        run()
    }
}

/// A call that waits for the device, whereupon pools may be trimmed.
#[inline]
pub(super) fn synchronised(run: impl FnOnce() -> CUresult) -> CUresult {
    outermost(run, || (), |_| pools::synchronised())
}

/// A call that is looked at whether something is being recorded or not: `prepare` runs before it, what that returns
/// after it.
#[inline]
pub(super) fn observed<A: FnOnce(CUresult)>(
    run: impl FnOnce() -> CUresult,
    prepare: impl FnOnce() -> A,
) -> CUresult {
    let after = log::guarded(prepare);
    let result = run();
    if let Some(after) = after {
        log::guarded(|| after(result));
    }
    result
}

/// Runs a call with what is to be written before and after it, if it is the outermost and events are recorded.
#[inline]
fn outermost(
    run: impl FnOnce() -> CUresult,
    before: impl FnOnce(),
    after: impl FnOnce(CUresult),
) -> CUresult {
    thread_local!(static IS_INSIDE: Cell<bool> = const { Cell::new(false) });
    if IS_INSIDE.get() || !log::is_recording() {
        return run();
    }
    IS_INSIDE.set(true);
    log::guarded(before);
    let result = run();
    log::guarded(|| after(result));
    IS_INSIDE.set(false);
    result
}

#[inline]
fn after(
    result: CUresult,
    place: *const u64,
    event: impl FnOnce(u64) -> Event,
    succeeded: impl FnOnce(Event),
) {
    match result {
        SUCCESS if !place.is_null() => {
            // SAFETY: not null, and the driver has just written there.
            let it = unsafe { place.read_unaligned() };
            if it != 0 {
                succeeded(event(it));
            }
        }
        OUT_OF_MEMORY => events::out_of_memory(event(0)),
        _ => {}
    }
}

fn is_host_wanted() -> bool {
    log::settings().is_some_and(|settings| settings.host)
}

/// The `u64` at this place of a structure that the caller passed.
pub(super) fn of_structure(start: *const u64, at: usize) -> u64 {
    if start.is_null() {
        return 0;
    }
    // SAFETY: the driver has just read the same structure; callers name places within it.
    unsafe { start.add(at).read_unaligned() }
}
