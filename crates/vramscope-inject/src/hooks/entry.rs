//! Runs around each hooked call: decides what to query and what to write before and after it.
//!
//! A free is written before the driver is called, an allocation after the call returned, so that no log shows an
//! address allocated again before its free. Only a thread's outermost call is recorded, as the driver may call its own
//! functions.

use std::cell::Cell;
use std::hint::black_box;

use vramscope_record::layout::{Call, Event, Loss, NO_DEVICE, OUT_OF_MEMORY, SUCCESS};

use super::{CUresult, events, pools};
use crate::{driver, log};

/// Defines hooked functions as C functions of the same names, and `all()`, which iterates over their hooks.
///
/// While nothing is recorded, a call is a jump to the driver's function. Everything needed for recording, such as
/// saving registers, is in a separate function.
macro_rules! hooks {
    ($(
        fn $name:ident ($($arg:ident : $type:ty),* $(,)?) => $kind:ident ($($with:expr)?)
            $($call:ident)? $(|$it:ident|)? $({ $($field:ident $(: $value:expr)?),* $(,)? })?;
    )*) => {
        $(
            mod $name {
                use super::*;

                type Real = unsafe extern "C-unwind" fn($($type),*) -> CUresult;

                pub(super) static HOOK: $crate::hook::Hook = $crate::hook::Hook::of(
                    concat!(stringify!($name), "\0"),
                    $name as *const std::ffi::c_void,
                    second as *const std::ffi::c_void,
                );

                #[unsafe(no_mangle)]
                unsafe extern "C-unwind" fn $name($($arg: $type),*) -> CUresult {
                    call::<false>(HOOK.real(), $($arg),*)
                }

                /// Calls the function of the second library.
                unsafe extern "C-unwind" fn second($($arg: $type),*) -> CUresult {
                    call::<true>(HOOK.second(), $($arg),*)
                }

                #[inline(always)]
                fn call<const IS_SECOND: bool>(real: *mut c_void, $($arg: $type),*) -> CUresult {
                    if hooks!(@always $kind) || real.is_null() || log::may_record() {
                        return recorded::<IS_SECOND>($($arg),*);
                    }
                    // SAFETY: as below.
                    unsafe { std::mem::transmute::<*mut c_void, Real>(real)($($arg),*) }
                }

                #[inline(never)]
                fn recorded<const IS_SECOND: bool>($($arg: $type),*) -> CUresult {
                    let real = if IS_SECOND { HOOK.second() } else { super::real(&HOOK) };
                    if real.is_null() {
                        return NOT_INITIALIZED;
                    }
                    // SAFETY: `real` is the driver's function of this name and type; the arguments are the caller's.
                    let run = || unsafe { std::mem::transmute::<*mut c_void, Real>(real)($($arg),*) };
                    hooks!(@record $kind run [$($with)?] $($call)? $(|$it|)? $({ $($field $(: $value)?),* })?)
                }
            }
        )*

        /// Names of the hooked functions and of the functions here that record their calls.
        #[cfg(test)]
        const TREATMENTS: &[(&str, &str)] = &[$( (stringify!($name), stringify!($kind)) ),*];

        fn all() -> impl Iterator<Item = &'static Hook> {
            [$( &$name::HOOK ),*].into_iter().chain(host_functions::HOOKS)
        }
    };
    (@always observe) => { true };
    (@always $kind:ident) => { false };
    (@record observe $run:ident [$after:expr]) => {
        entry::observe($run, || $after)
    };
    (@record record_around $run:ident [$after:expr]) => {
        entry::record_around($run, || $after)
    };
    (@record $kind:ident $run:ident []) => {
        $kind($run)
    };
    (@record $kind:ident $run:ident [] $call:ident { $($event:tt)* }) => {
        $kind($run, || Event { $($event)*, ..entry::blank(vramscope_record::layout::Call::$call) })
    };
    (@record $kind:ident $run:ident [$place:expr] $call:ident |$it:ident| { $($event:tt)* }) => {
        $kind($run, ($place).cast::<u64>(), |$it| Event { $($event)*, ..entry::blank(vramscope_record::layout::Call::$call) })
    };
}

pub(super) use hooks;

/// An event with only the call set.
pub(super) fn blank(call: Call) -> Event {
    Event {
        call: call as u8,
        device: NO_DEVICE,
        ..Event::default()
    }
}

/// Records a call that allocates device memory and stores its address in `place`.
#[inline]
pub(super) fn record_alloc(
    run: impl FnOnce() -> CUresult,
    place: *const u64,
    event: impl Fn(u64) -> Event,
) -> CUresult {
    run_outermost(
        run,
        || (),
        |result| write_result(result, place, event, events::write_alloc),
    )
}

/// Records a call that creates another object. `place` holds its address or handle after the call.
#[inline]
pub(super) fn record_creation(
    run: impl FnOnce() -> CUresult,
    place: *const u64,
    event: impl Fn(u64) -> Event,
) -> CUresult {
    run_outermost(
        run,
        || (),
        |result| write_result(result, place, event, events::write_creation),
    )
}

/// Records a call that pins host memory.
#[inline]
pub(super) fn record_pin(
    run: impl FnOnce() -> CUresult,
    place: *const u64,
    event: impl Fn(u64) -> Event,
) -> CUresult {
    if is_host_wanted() {
        record_creation(run, place, event)
    } else {
        run()
    }
}

/// Records a call that frees memory or destroys an object.
#[inline]
pub(super) fn record_free(run: impl FnOnce() -> CUresult, event: impl Fn() -> Event) -> CUresult {
    run_outermost(
        run,
        || events::write_free(event()),
        |result| {
            if result != SUCCESS {
                events::write_refusal(event(), result);
            }
        },
    )
}

/// Records a call that unpins host memory.
#[inline]
pub(super) fn record_unpin(run: impl FnOnce() -> CUresult, event: impl Fn() -> Event) -> CUresult {
    if is_host_wanted() {
        record_free(run, event)
    } else {
        run()
    }
}

/// Samples pools after a call that waits for the device, which may trim them.
#[inline]
pub(super) fn record_synchronise(run: impl FnOnce() -> CUresult) -> CUresult {
    run_outermost(run, || (), |_| pools::sample_after_synchronise())
}

/// Surrounds a thread's outermost call while recording is on: `prepare` runs before it, and the function it returns
/// runs after it.
#[inline]
pub(super) fn record_around<A: FnOnce(CUresult)>(
    run: impl FnOnce() -> CUresult,
    prepare: impl FnOnce() -> A,
) -> CUresult {
    let prepared = Cell::new(None);
    run_outermost(
        run,
        || prepared.set(Some(prepare())),
        |result| {
            if let Some(after) = prepared.take() {
                after(result);
            }
        },
    )
}

/// Surrounds any call, nested or not, whether recording is on or not: `prepare` runs before it, and the function it
/// returns runs after it.
#[inline]
pub(super) fn observe<A: FnOnce(CUresult)>(
    run: impl FnOnce() -> CUresult,
    prepare: impl FnOnce() -> A,
) -> CUresult {
    let after = log::guard(prepare);
    let result = run();
    note_thread(result);
    if let Some(after) = after {
        log::guard(|| after(result));
    }
    result
}

/// Remembers that the program calls the driver on this thread, unless the driver reports that this is not allowed here.
#[inline]
fn note_thread(result: CUresult) {
    /// `CUDA_ERROR_NOT_PERMITTED`, as on the driver's own threads.
    const NOT_PERMITTED: CUresult = 800;
    if result != NOT_PERMITTED {
        driver::set_used_here();
    }
}

thread_local! {
    /// Stack address of the outermost call; 0 outside of calls.
    static OUTERMOST: Cell<usize> = const { Cell::new(0) };
}

/// A thread's outermost call, until dropped; an exception that leaves the call drops it too.
struct Outermost;

impl Outermost {
    /// Enters a call whose stack is at this address; `None` within another call. A program may leave a call by
    /// `longjmp`, which drops nothing, so a call further up its stack does not count as nested.
    #[inline]
    fn enter(here: usize) -> Option<Self> {
        if here < OUTERMOST.get() {
            return None;
        }
        OUTERMOST.set(here);
        Some(Self)
    }
}

impl Drop for Outermost {
    #[inline]
    fn drop(&mut self) {
        OUTERMOST.set(0);
    }
}

/// Runs a call with `before` and `after`, if it is the thread's outermost call and recording is on.
#[inline]
fn run_outermost(
    run: impl FnOnce() -> CUresult,
    before: impl FnOnce(),
    after: impl FnOnce(CUresult),
) -> CUresult {
    if !log::is_recording() {
        return run();
    }
    let here = 0_u8;
    let Some(_inside) = Outermost::enter(black_box(&raw const here).addr()) else {
        return run();
    };
    log::guard(before);
    let result = run();
    note_thread(result);
    log::guard(|| after(result));
    result
}

#[inline]
fn write_result(
    result: CUresult,
    place: *const u64,
    event: impl Fn(u64) -> Event,
    succeeded: impl FnOnce(Event),
) {
    match result {
        SUCCESS if !place.is_null() => {
            // SAFETY: not null, and the driver has just written there.
            let it = unsafe { place.read_unaligned() };
            if it != 0 {
                succeeded(event(it));
            } else if event(0).size_bytes != 0 {
                log::lost(Loss::NoAddress);
            }
        }
        SUCCESS => log::lost(Loss::NoAddress),
        OUT_OF_MEMORY => events::write_out_of_memory(event(0)),
        _ => {}
    }
}

fn is_host_wanted() -> bool {
    log::settings().is_some_and(|settings| settings.host)
}

/// The `u64` at an index of a structure that the caller passed; 0 for a null pointer.
pub(super) fn field_u64(start: *const u64, at: usize) -> u64 {
    if start.is_null() {
        return 0;
    }
    // SAFETY: the driver has just read the same structure; callers pass an index within it.
    unsafe { start.add(at).read_unaligned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_ends_a_call() {
        let left = std::panic::catch_unwind(|| {
            let _outer = Outermost::enter(2000);
            assert!(Outermost::enter(1000).is_none(), "it is inside");
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(left.is_err());
        assert!(Outermost::enter(1000).is_some(), "deeper, but not inside");
    }

    #[test]
    fn a_jump_ends_it_for_calls_from_further_up() {
        std::mem::forget(Outermost::enter(2000));
        assert!(Outermost::enter(3000).is_some());
        assert!(Outermost::enter(1000).is_some());
    }
}
