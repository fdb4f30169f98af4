//! The program's functions that streams call. Annotations made in them belong to the stream; this library remembers
//! which one.
//!
//! The driver gets one of this library's functions instead, with a [`Launch`], and calls it once. Functions on a stream
//! that is being captured are passed on unchanged: the program may read and change them in the graph, which may call
//! them any number of times and on other streams.

use std::ffi::{c_uint, c_void};

use vramscope_record::layout::NO_DEVICE;

use super::{CUresult, Handle, NOT_INITIALIZED};
use crate::hook::Hook;
use crate::ranges::{self, Point};
use crate::{driver, log};

/// `CUhostFn`
type HostFunction = unsafe extern "C-unwind" fn(*mut c_void);

/// A function of the program, and the stream that calls it.
struct Launch {
    function: HostFunction,
    data: Handle,
    point: Point,
}

/// Declares hooks: the function's name, its arguments after the common ones, and whether stream 0 is the thread's
/// default stream.
macro_rules! host_functions {
    ($( $name:ident($($more:ident: $type:ty)?) $is_per_thread:literal; )*) => {
        $(
            /// See CUDA's documentation.
            ///
            /// # Safety
            /// As for the driver's function.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(stream: Handle, function: Option<HostFunction>, data: Handle $(, $more: $type)?) -> CUresult {
                let real = super::real(&$name::HOOK);
                if real.is_null() {
                    return NOT_INITIALIZED;
                }
                type Real = unsafe extern "C-unwind" fn(Handle, Option<HostFunction>, Handle $(, $type)?) -> CUresult;
                // SAFETY: the driver's function of this name and type; the arguments are the caller's or stand for them.
                let run = |function, data| unsafe {
                    std::mem::transmute::<*mut c_void, Real>(real)(stream, function, data $(, $more)?)
                };
                launch(stream, $is_per_thread, function, data, run)
            }

            mod $name {
                pub(super) static HOOK: $crate::hook::Hook = $crate::hook::Hook::of(
                    concat!(stringify!($name), "\0"),
                    super::$name as *const std::ffi::c_void,
                    std::ptr::null(),
                );
            }
        )*

        /// This module's hooks.
        pub(super) static HOOKS: [&Hook; 4] = [$( &$name::HOOK ),*];
    };
}

host_functions! {
    cuLaunchHostFunc() false;
    cuLaunchHostFunc_ptsz() true;
    cuLaunchHostFunc_v2(mode: c_uint) false;
    cuLaunchHostFunc_v2_ptsz(mode: c_uint) true;
}

/// Enqueues a function with `run`, adding its stream if annotations are recorded.
fn launch(
    stream: Handle,
    is_per_thread: bool,
    function: Option<HostFunction>,
    data: Handle,
    run: impl FnOnce(Option<HostFunction>, Handle) -> CUresult,
) -> CUresult {
    driver::set_used_here();
    let prepare = |function| log::guard(|| prepared(stream, is_per_thread, function, data));
    match function.and_then(prepare).flatten() {
        // After an error the driver may still have the launch (the error may be of earlier work), so it is not freed.
        Some(launch) => run(Some(call), launch.cast()),
        None => run(function, data),
    }
}

/// The data for [`call`]; `None` if the driver is to call the function itself.
fn prepared(
    stream: Handle,
    is_per_thread: bool,
    function: HostFunction,
    data: Handle,
) -> Option<*mut Launch> {
    /// `CU_STREAM_PER_THREAD`
    const PER_THREAD: usize = 2;
    if !ranges::is_recording() {
        return None;
    }
    let asked = match stream.addr() {
        0 if is_per_thread => std::ptr::without_provenance_mut(PER_THREAD),
        _ => stream,
    };
    // SAFETY: the caller's stream.
    if unsafe { ranges::is_capturing(asked) } != Some(false) {
        return None;
    }
    let point = Point {
        stream: stream.addr() as u64,
        device: ranges::current_device().unwrap_or(NO_DEVICE),
    };
    Some(Box::into_raw(Box::new(Launch {
        function,
        data,
        point,
    })))
}

/// Runs on one of CUDA's threads, which must not call CUDA.
///
/// # Safety
/// `launch` must be what [`prepared`] returned, and this the only call with it.
unsafe extern "C-unwind" fn call(launch: *mut c_void) {
    // SAFETY: as the caller promises.
    let Launch {
        function,
        data,
        point,
    } = *unsafe { Box::from_raw(launch.cast::<Launch>()) };
    // SAFETY: the program's function and its data.
    ranges::run_at(point, || unsafe { function(data) });
}
