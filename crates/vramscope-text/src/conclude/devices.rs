//! Causes of failed requests of PyTorch over cudaMallocAsync, and on Apple's devices.

use vramscope_core::analysis::report::findings::{Verdict, sentences};

use super::share::Rest;
use super::torch::{OUTSIDE_USUAL, WHEN, bytes, has_far_more, too_large};
use super::{Cause, Class, Sure};
use crate::record::Failure;

/// Causes with cudaMallocAsync, which does not report what its pool keeps.
pub(super) fn of_async(failure: &Failure) -> Vec<Cause> {
    let figures = (
        &failure.requested,
        &failure.allocated,
        &failure.total,
        &failure.free,
    );
    let (Some(wanted), Some(allocated), Some(total), Some(free)) = figures else {
        return vec![Cause::unknown(
            "The driver's memory pool refused a request, and this version of torch does not say for how much",
            "",
        )];
    };
    let [wanted, live, total, free] = [wanted, allocated, total, free].map(Rest::of);
    if let Some(cause) = too_large(failure, wanted) {
        return vec![cause];
    }
    if let Some(allowed) = failure.allowed.as_ref().map(Rest::of)
        && live.most() + wanted.most() >= allowed.least()
    {
        let title = format!(
            "Refused at a limit: this process may use {}",
            bytes(allowed)
        );
        return vec![Cause::new(
            Class::Limit,
            Sure::Likely,
            Verdict::Limit,
            title,
        )];
    }
    if has_far_more(free, wanted, total) {
        let title = sentences::refused(bytes(free), bytes(wanted));
        return vec![Cause::new(
            Class::Limit,
            Sure::Likely,
            Verdict::DeviceHadEnough,
            title,
        )];
    }
    let rest = total.less(free).less(live);
    let of_rest = format!(
        "{} were allocated and {} free. The other {} are kept by the driver's pool, or are of other processes.",
        bytes(live),
        bytes(free),
        bytes(rest)
    );
    if rest.most() < OUTSIDE_USUAL && live.least() * 2 >= total.most() {
        let title = sentences::live(bytes(live), None, WHEN);
        let mut cause = Cause::new(Class::TooMuchLive, Sure::Likely, Verdict::Short, title);
        if rest.most() >= wanted.least() {
            cause.sure = Sure::Possible;
            cause.seen = of_rest;
        }
        return vec![cause];
    }
    vec![Cause::unknown(
        "The text does not say who holds most of the device",
        &of_rest,
    )]
}

/// Causes on Apple's devices, where every failure is at a limit that PyTorch sets itself.
pub(super) fn of_mps(failure: &Failure) -> Vec<Cause> {
    let figures = (
        &failure.requested,
        &failure.allocated,
        &failure.elsewhere,
        &failure.allowed,
    );
    let (Some(wanted), Some(live), Some(elsewhere), Some(allowed)) = figures else {
        return Vec::new();
    };
    let [wanted, live, elsewhere, allowed] = [wanted, live, elsewhere, allowed].map(Rest::of);
    let lift = "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 lifts PyTorch's own limit; the computer may then become unusable.";
    let mut cause = if wanted.least() > allowed.most() {
        let title = sentences::too_large(bytes(wanted), bytes(allowed));
        Cause::new(
            Class::RequestTooLarge,
            Sure::Certain,
            Verdict::RequestTooLarge,
            title,
        )
    } else if elsewhere.least() > live.most().max(wanted.most()) {
        let title = format!("{} were allocated outside PyTorch", bytes(elsewhere));
        Cause {
            why: "held outside PyTorch",
            ..Cause::unknown(
                &title,
                "They were allocated by this process, but not by PyTorch: by Metal itself, or by other libraries.",
            )
        }
    } else {
        let title = sentences::live(bytes(live), Some(bytes(allowed)), WHEN);
        let mut cause = Cause::new(Class::TooMuchLive, Sure::Likely, Verdict::Short, title);
        cause.seen = format!(
            "This process had allocated another {}, but not by PyTorch.",
            bytes(elsewhere)
        );
        cause
    };
    cause.to_try.push(lift.to_owned());
    vec![cause]
}
