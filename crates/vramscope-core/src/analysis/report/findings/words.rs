//! Texts that several findings share.

use crate::analysis::code::call_sites::{CallSiteId, CallSites};
use crate::analysis::recording::Device;
use crate::analysis::report::names::named;
use crate::analysis::time::history::History;
use crate::analysis::time::selection::Moments;
use crate::ids::StackId;
use crate::units::{Bytes, Count, Percent};

/// Explains memory that stays in an inference program.
pub(super) const CACHE_GROWS: &str = "Most of it is the cache of keys and values, which grows with every token until the answer is complete.";

/// A number with its noun: `1 block`, `2 blocks`.
pub fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", Count(number))
}

/// `1.00 GiB free on the device`, as the device reported.
#[must_use]
pub fn free_on_device(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("{} free on the device", Bytes(bytes)),
        None => "an unknown amount free on the device".to_owned(),
    }
}

/// `Event 12` or `Before the first event`; for a file without a trace `In the recorded state`.
pub(super) fn at_moment(history: &History, moment: u32) -> String {
    match moment {
        _ if !has_trace(history) => "In the recorded state".to_owned(),
        0 => "Before the first event".to_owned(),
        moment => format!("Event {}", Count(u64::from(moment))),
    }
}

/// `, at the peak of live memory`; empty for a file without a trace.
pub(super) fn at_peak(history: &History) -> &'static str {
    if has_trace(history) {
        ", at the peak of live memory"
    } else {
        ""
    }
}

/// See [`History::has_trace`].
pub(super) fn has_trace(history: &History) -> bool {
    history.has_trace()
}

/// A share such as `12.3 %`.
pub(super) fn percent(part: u64, whole: u64) -> Percent {
    Percent { part, whole }
}

/// ` at train.py:10 step`; empty if no stack was recorded.
pub(super) fn at_site(sites: &CallSites, site: CallSiteId) -> String {
    if site == CallSiteId::NONE {
        return String::new();
    }
    format!(" at {}", named(&sites.get(site).label))
}

/// ` by addmm, at train.py:10 step`: the operator and the call site of a stack, as far as they are known.
pub(super) fn by_operator_at(device: Device<'_>, stack: StackId) -> String {
    let (sites, operators) = (device.call_sites(), device.operators());
    let at = at_site(sites, sites.of_stack(stack));
    match operators.label(operators.of_stack(stack)) {
        "" => at,
        operator if at.is_empty() => format!(" by {}", named(operator)),
        operator => format!(" by {},{at}", named(operator)),
    }
}

/// The text of a filter for allocations made between two moments and live at the end.
pub(super) fn stayed_filter((from, to): Moments) -> String {
    format!("born:{}..{to} !freed", from.saturating_add(1))
}
