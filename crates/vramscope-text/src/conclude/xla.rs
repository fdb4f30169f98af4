//! Causes of XLA's failures. Its programs may say what they need, but for GPUs not what the device has.

use vramscope_core::analysis::report::findings::Verdict;
use vramscope_core::units::Bytes;

use super::{Cause, Class, NO_DEVICE_HAS, Sure};
use crate::figure::Figure;
use crate::forms::xla::{ONE_REQUEST, WHOLE_PROGRAM};
use crate::record::Failure;

pub(super) fn causes(failure: &Failure) -> Vec<Cause> {
    let Some(needed) = &failure.requested else {
        return Vec::new();
    };
    if let Some(space) = &failure.allowed {
        return vec![of_chip(failure, needed, space)];
    }
    let wanted = Bytes(needed.bytes);
    let cause = if let Some(total) = &failure.total {
        let sure = match needed.least() > total.most() {
            true => Sure::Certain,
            false => Sure::Likely,
        };
        let total = Bytes(total.bytes);
        let title = format!("The program needs {wanted} at once, and the device has {total}");
        too_much(failure, sure, title)
    } else if needed.bytes >= NO_DEVICE_HAS {
        let title = match failure.words == WHOLE_PROGRAM {
            true => format!("The program needs {wanted} at once: no device has that"),
            false => format!("A request for {wanted}: no device has that"),
        };
        let verdict = Verdict::RequestTooLarge;
        Cause {
            seen: String::new(),
            ..Cause::new(Class::RequestTooLarge, Sure::Certain, verdict, title)
        }
    } else if let Some(free) = &failure.free {
        of_free(failure, needed, free)
    } else {
        of_gpu(failure, needed)
    };
    vec![cause]
}

/// The text says what was free, but not what the device has.
fn of_free(failure: &Failure, needed: &Figure, free: &Figure) -> Cause {
    let needs = match failure.words == ONE_REQUEST {
        true => format!("{} were asked for in one piece", Bytes(needed.bytes)),
        false => format!("The program needs {} at once", Bytes(needed.bytes)),
    };
    let title = format!("{needs}, and {} were free", Bytes(free.bytes));
    if free.least() >= needed.most() {
        return Cause::unknown(&title, "What is free may be in pieces.");
    }
    let title = format!("{title}; the text does not say who had the rest");
    too_much(failure, Sure::Possible, title)
}

/// A TPU's memory for the work of one kernel was too small.
fn of_chip(failure: &Failure, needed: &Figure, space: &Figure) -> Cause {
    let title = format!(
        "A kernel needs {} of {}, the memory on the chip, which has {} of it",
        Bytes(needed.bytes),
        failure.words,
        Bytes(space.bytes)
    );
    let sure = match needed.least() > space.most() {
        true => Sure::Certain,
        false => Sure::Likely,
    };
    Cause {
        seen: "It has nothing to do with the device's memory (HBM).".to_owned(),
        to_try: vec![
            "Make the blocks or tiles of that kernel smaller, or raise its limit: vmem_limit_bytes of a Pallas kernel, \
             LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib=KIB for XLA's own."
                .to_owned(),
        ],
        ..Cause::new(
            Class::RequestTooLarge,
            sure,
            Verdict::RequestTooLarge,
            title,
        )
    }
}

/// The text has no figure of the device, and what the program needs in all only if XLA lists its buffers.
fn of_gpu(failure: &Failure, needed: &Figure) -> Cause {
    const LEAVE_ROOM: &str = "JAX takes three quarters of a device when it starts: another JAX, or TensorFlow, finds nothing left. XLA_PYTHON_CLIENT_PREALLOCATE=false or XLA_PYTHON_CLIENT_MEM_FRACTION=.4 leaves room.";
    let Some(whole) = &failure.allocated else {
        let title = format!(
            "One buffer of {} was asked for; the text does not say what else was live, or what the device has",
            Bytes(needed.bytes)
        );
        let is_small = needed.bytes < SMALL;
        return match is_small {
            true => Cause {
                to_try: vec![LEAVE_ROOM.to_owned()],
                ..Cause::unknown(&title, "")
            },
            false => too_much(failure, Sure::Possible, title),
        };
    };
    let whole = whole.bytes.max(needed.bytes);
    if whole < SMALL {
        let title = format!(
            "The program needs only {}: others, or arrays of earlier programs, held the device",
            Bytes(whole)
        );
        let verdict = Verdict::Others;
        let mut cause = Cause::new(Class::OtherProcesses, Sure::Possible, verdict, title);
        cause.seen.clear();
        cause.to_try.push(LEAVE_ROOM.to_owned());
        return cause;
    }
    let title = format!(
        "The program needs {}; the text does not say what the device has",
        Bytes(whole)
    );
    too_much(failure, Sure::Possible, title)
}

/// What every device has.
const SMALL: u64 = 1 << 30;

fn too_much(failure: &Failure, sure: Sure, title: String) -> Cause {
    let mut to_try = Vec::new();
    if !failure.buffers.is_empty() {
        to_try.push("Look at the largest buffers: their lines made them.".to_owned());
    }
    to_try.push(
        "A smaller batch, jax.checkpoint around what is recomputed cheaply, donated arguments (donate_argnums), or sharding."
            .to_owned(),
    );
    Cause {
        seen: String::new(),
        to_try,
        ..Cause::new(Class::TooMuchLive, sure, Verdict::Short, title)
    }
}
