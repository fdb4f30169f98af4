//! Causes of failed requests of PyTorch's allocators.
//!
//! Thresholds are those for snapshots: others matter from a tenth of the device on, free memory if it is more than a tenth
//! of the reserved memory.

use vramscope_core::analysis::memory::allocator_rules::{LARGE_SEGMENT_BYTES, segment_bytes};
use vramscope_core::analysis::report::findings::{Verdict, sentences};
use vramscope_core::units::Bytes;

use super::share::{Rest, in_use, live, reserved};
use super::{Cause, Class, Sure, one_piece};
use crate::figure::Figure;
use crate::forms::torch::TOO_LARGE_FOR_XPU;
use crate::record::{Api, Failure, Process, Wording};

const GIB: i128 = 1 << 30;

/// Least bytes that others must hold to be the reason: screens, drivers and small tools take some on every device.
const OTHERS_LEAST: i128 = GIB;

/// What a process usually takes outside PyTorch, and the most that is not odd.
const CONTEXT: i128 = GIB;
pub(super) const OUTSIDE_USUAL: i128 = 2 * GIB;

/// Drivers keep less than this part of the device from what they report as free.
const SLACK_PART: i128 = 32;

/// If the message does not distinguish others from this process outside PyTorch, what both hold comes before what is live
/// from this part of the device on.
const LARGE_PART: i128 = 4;

/// A part that is worth mentioning.
const MUCH_PART: i128 = 10;

/// Free memory is told in units of pages, and a little of it may be taken in the meantime.
const PAGES: i128 = 64 << 20;

/// What Intel's drivers allocate in one piece, unless told otherwise.
const ONE_PIECE: i128 = 4 << 30;

/// Free memory matters little if it is less than this part of the reserved memory.
const LITTLE_PART: i128 = 33;

/// A request of this many times the device was not meant.
const ABSURD_TIMES: i128 = 64;

pub(super) const WHEN: &str = "when it failed";

/// Others on the device.
struct Others {
    held: Rest,
    sure: Sure,
    named: Vec<Process>,
    /// Whether this process outside PyTorch may be included.
    with_own: bool,
}

impl Others {
    /// Whether they come before what is live.
    fn is_large(&self, failure: &Failure) -> bool {
        let total = failure.total.as_ref().map_or(0, Figure::most);
        !self.with_own || self.held.least() * LARGE_PART >= total
    }
}

/// All causes that are compatible with an error's figures.
pub(super) fn causes(failure: &Failure) -> Vec<Cause> {
    let Some(wanted) = failure.requested.as_ref().map(Rest::of) else {
        return Vec::new();
    };
    if wanted.most() == 0 {
        return Vec::new();
    }
    if failure.words == TOO_LARGE_FOR_XPU {
        return vec![of_intel(failure, wanted).said()];
    }
    if let Some(cause) = contradicting(failure) {
        return vec![cause];
    }
    let others = others(failure);
    let mut causes = Vec::new();
    let mut moved = moved_out(failure);
    causes.extend(moved.take_if(|cause| cause.sure == Sure::Certain));
    causes.extend(too_large(failure, wanted));
    if causes.is_empty() {
        causes.extend(limit(failure, wanted).or_else(|| refused(failure, wanted)));
    }
    if causes.is_empty() {
        causes.extend(pools(failure, wanted));
        let of_others = others
            .as_ref()
            .and_then(|others| of_others(failure, others, wanted));
        let is_large = others.is_some_and(|others| others.is_large(failure));
        let (first, last) = match is_large {
            true => (of_others, None),
            false => (None, of_others),
        };
        let others_sure = first.as_ref().map(|cause| cause.sure);
        causes.extend(first);
        causes.extend(too_much(failure, wanted, others_sure));
        causes.extend(pieces(failure, wanted));
        let is_live = |cause: &Cause| cause.class == Class::TooMuchLive;
        if !causes.iter().any(is_live) {
            causes.extend(moved);
        }
        if others_sure.is_none() {
            causes
                .iter_mut()
                .for_each(|cause| cause.seen += &outside(failure));
        }
        causes.extend(last);
        let alone = alone_enough(failure, wanted);
        causes.iter_mut().for_each(|cause| cause.seen += &alone);
        causes.extend(mostly_live(failure));
    }
    if causes.is_empty() {
        causes.extend(maybe_of_intel(failure, wanted));
    }
    causes
}

pub(super) fn bytes(rest: Rest) -> Bytes {
    Bytes(rest.to_bytes())
}

/// What a request takes from the device, at most.
fn segment(wanted: Rest) -> i128 {
    let most = u64::try_from(wanted.most().max(0)).unwrap_or(u64::MAX);
    segment_bytes(most, LARGE_SEGMENT_BYTES).into()
}

/// Whether the device had far more free memory than requested: by a GiB, or by a tenth of it, and by more than drivers keep.
pub(super) fn has_far_more(free: Rest, wanted: Rest, total: Rest) -> bool {
    let far = (total.bytes / MUCH_PART).min(GIB);
    free.least() - segment(wanted) >= far.max(total.bytes / SLACK_PART)
}

/// What it means that the device's free memory alone was enough, if it was.
fn alone_enough(failure: &Failure, wanted: Rest) -> String {
    let free = failure.free.as_ref().map(Rest::of);
    let told = free.filter(|free| free.least() >= segment(wanted)).map(|free| {
        format!(
            " The device itself reported {} free, more than the request: that is from after the failure, and drivers keep some.",
            bytes(free)
        )
    });
    told.unwrap_or_default()
}

/// Intel's driver was not even asked.
fn of_intel(failure: &Failure, wanted: Rest) -> Cause {
    let sure = match failure.words == TOO_LARGE_FOR_XPU {
        true => Sure::Certain,
        false => Sure::Possible,
    };
    let title = format!(
        "A request for {}: Intel's drivers allocate at most 4 GiB in one piece, unless told otherwise",
        bytes(wanted)
    );
    Cause {
        seen: "What is free does not matter then.".to_owned(),
        to_try: vec![
            "Make it in smaller pieces: a smaller batch, attention or logits in chunks. UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1 allows \
             larger ones where the driver can."
                .to_owned(),
        ],
        ..one_piece(sure, title)
    }
}

/// The same if the text shows no other reason.
fn maybe_of_intel(failure: &Failure, wanted: Rest) -> Option<Cause> {
    let free = failure.free.as_ref().map(Rest::of);
    let may_be = failure.api == Api::Xpu && wanted.most() >= ONE_PIECE;
    let fits = free.is_none_or(|free| free.least() >= wanted.most());
    (may_be && fits).then(|| of_intel(failure, wanted))
}

/// A message that is cut off shows at least that most of the device was allocated.
fn mostly_live(failure: &Failure) -> Option<Cause> {
    let total = Rest::of(failure.total.as_ref()?);
    let allocated = Rest::of(failure.allocated.as_ref()?);
    // In the newer wording, private pools may keep much of it unused.
    let is_cut = failure.wording.is_none() && failure.unallocated.is_none();
    (is_cut && allocated.least() * 10 >= total.most() * 9).then(|| Cause {
        seen: "The text does not say what was kept unused.".to_owned(),
        ..Cause::new(
            Class::TooMuchLive,
            Sure::Possible,
            Verdict::Short,
            format!(
                "{} of the {} of the device were allocated",
                bytes(allocated),
                bytes(total)
            ),
        )
    })
}

/// Free and held memory together are much more than the device has. They are queried one after the other, so they never
/// agree exactly.
fn contradicting(failure: &Failure) -> Option<Cause> {
    let total = Rest::of(failure.total.as_ref()?);
    let free = Rest::of(failure.free.as_ref()?);
    let held = failure
        .in_use
        .as_ref()
        .map(Rest::of)
        .or_else(|| reserved(failure))?;
    let is_too_much = (free.least() + held.least()) * 8 > total.most() * 9;
    // If nothing is free, the driver may have moved memory out.
    (is_too_much && free.least() * 8 > total.most()).then(|| {
        let seen = format!(
            "{} held and {} free are more than the {} of the device.",
            bytes(held),
            bytes(free),
            bytes(total)
        );
        Cause::unknown("The figures contradict each other", &seen)
    })
}

/// More is held than the device has: the driver has moved memory to the computer. Only if more is live, it was needed at once.
fn moved_out(failure: &Failure) -> Option<Cause> {
    let total = Rest::of(failure.total.as_ref()?);
    let held = reserved(failure).or_else(|| failure.allocated.as_ref().map(Rest::of))?;
    let live = live(failure)?;
    let sure = match live.least() > total.most() {
        true => Sure::Certain,
        false => Sure::Possible,
    };
    (held.least() > total.most()).then(|| Cause {
        seen: format!(
            "PyTorch held {}, more than the {} of the device: the driver had probably put the rest into the computer's own memory (on Windows: \
             CUDA's sysmem fallback), which is slow, and then that ended too.",
            bytes(held),
            bytes(total)
        ),
        ..Cause::new(
            Class::TooMuchLive,
            sure,
            Verdict::Short,
            sentences::live(bytes(live), None, WHEN),
        )
    })
}

pub(super) fn too_large(failure: &Failure, wanted: Rest) -> Option<Cause> {
    let total = match &failure.total {
        Some(total) => Rest::of(total),
        None if wanted.least() >= super::NO_DEVICE_HAS.into() => Rest::default(),
        None => return None,
    };
    if wanted.least() <= total.most() {
        return None;
    }
    let title = match &failure.total {
        Some(_) => sentences::too_large(bytes(wanted), bytes(total)),
        None => format!("A request for {}: no device has that", bytes(wanted)),
    };
    let seen = match wanted.bytes >= total.bytes * ABSURD_TIMES {
        true => {
            "No device has that: the size itself is wrong. A dimension overflowed or was read from where nothing was written, an index \
                 is out of range, or an extension was compiled for other GPUs than this one."
        }
        false => sentences::TOO_LARGE_MEANS,
    };
    Some(Cause {
        seen: seen.to_owned(),
        ..Cause::new(
            Class::RequestTooLarge,
            Sure::Certain,
            Verdict::RequestTooLarge,
            title,
        )
    })
}

fn limit(failure: &Failure, wanted: Rest) -> Option<Cause> {
    let allowed = Rest::of(failure.allowed.as_ref()?);
    let reserved = reserved(failure)?;
    let reaches = reserved.most() + segment(wanted) >= allowed.least();
    let has_free = failure
        .free
        .as_ref()
        .is_some_and(|free| free.least() >= segment(wanted));
    let exceeds = reserved.least() + wanted.least() > allowed.most();
    reaches.then(|| Cause {
        seen: format!(
            "PyTorch held {} of the {} that it may use.",
            bytes(reserved),
            bytes(allowed)
        ),
        ..Cause::new(
            Class::Limit,
            if has_free && exceeds {
                Sure::Certain
            } else {
                Sure::Likely
            },
            Verdict::Limit,
            format!(
                "Refused at a limit: this process may use {}",
                bytes(allowed)
            ),
        )
    })
}

fn refused(failure: &Failure, wanted: Rest) -> Option<Cause> {
    let free = Rest::of(failure.free.as_ref()?);
    let total = Rest::of(failure.total.as_ref()?);
    if !has_far_more(free, wanted, total) {
        return None;
    }
    let mut cause = Cause::new(
        Class::Limit,
        Sure::Likely,
        Verdict::DeviceHadEnough,
        sentences::refused(bytes(free), bytes(wanted)),
    );
    cause.seen += " With expandable_segments, addresses may be used up instead of memory (pytorch#192269). On Windows and on devices that share \
                   the computer's memory, free memory of the device may not be available.";
    Some(cause)
}

fn pools(failure: &Failure, wanted: Rest) -> Option<Cause> {
    let kept = Rest::of(failure.in_pools.as_ref()?);
    let reserved = reserved(failure)?;
    let is_much = kept.least() * 10 >= reserved.most();
    let is_most = kept.least() * 2 >= reserved.most();
    (is_much && (kept.least() >= wanted.most() || is_most)).then(|| Cause {
        seen: sentences::GRAPH_POOLS_MEAN.to_owned(),
        to_try: vec![sentences::FEWER_GRAPHS.to_owned()],
        ..Cause::new(
            Class::PrivatePool,
            Sure::Likely,
            Verdict::OtherBlockFits,
            sentences::pools_hold(bytes(kept)),
        )
    })
}

/// Other users of the device, as far as the message shows.
fn others(failure: &Failure) -> Option<Others> {
    let total = Rest::of(failure.total.as_ref()?);
    let free = Rest::of(failure.free.as_ref()?);
    // If the message ends early, it is not known which process is this one.
    let reserved = reserved(failure)?;
    if let Some(own) = in_use(failure) {
        return Some(Others {
            held: total.less(free).less(own),
            sure: Sure::Certain,
            named: failure.processes.clone(),
            with_own: false,
        });
    }
    if failure.processes.is_empty() {
        return Some(Others {
            held: total.less(free).less(reserved),
            sure: Sure::Possible,
            named: Vec::new(),
            with_own: true,
        });
    }
    // In a container PyTorch does not know its own process id: the process that holds at least what PyTorch holds, with the
    // smallest excess, is likely this one.
    let mut named = failure.processes.clone();
    let own = named.iter().enumerate();
    let own = own.filter(|(_, process)| process.held.most() >= reserved.least());
    let own = own
        .min_by_key(|(_, process)| process.held.bytes)
        .map(|(place, _)| place);
    if let Some(own) = own {
        named.remove(own);
    }
    let held = named.iter().map(|process| Rest::of(&process.held));
    Some(Others {
        held: held.fold(Rest::default(), Rest::and),
        sure: Sure::Likely,
        named,
        with_own: false,
    })
}

fn of_others(failure: &Failure, others: &Others, wanted: Rest) -> Option<Cause> {
    let total = Rest::of(failure.total.as_ref()?);
    let free = Rest::of(failure.free.as_ref()?);
    let reserved = reserved(failure)?;
    let all_free = free.and(reserved).less(live(failure)?);
    let usual = if others.with_own { CONTEXT } else { 0 };
    let held = others.held.least();
    let matters = held * MUCH_PART >= total.most() && held >= OTHERS_LEAST;
    let would_do = all_free.least() + held - usual >= wanted.most();
    // Then the free memory was enough with them.
    let is_enough = free.least() >= segment(wanted) + PAGES;
    if !matters || !would_do || is_enough {
        return None;
    }
    let title = match others.with_own {
        true => format!(
            "{} of the device were held by others, or by this process outside PyTorch",
            bytes(others.held)
        ),
        false => sentences::others("held", bytes(others.held)),
    };
    let mut cause = Cause::new(Class::OtherProcesses, others.sure, Verdict::Others, title);
    if others.with_own {
        cause.why = "held by others, or outside PyTorch";
    }
    cause.seen = match (&others.named[..], others.with_own) {
        ([], true) => format!(
            "Of the {}, PyTorch held {} and {} were free. The message does not tell apart what other processes held, and this one outside \
             PyTorch.",
            bytes(total),
            bytes(reserved),
            bytes(free)
        ),
        ([], false) => format!(
            "Of the {}, this process held {} and {} were free. The message names nobody for the rest: processes in other containers, \
             another user's, or the driver.",
            bytes(total),
            bytes(total.less(free).less(others.held)),
            bytes(free)
        ),
        (named, _) => {
            let names = named.iter().take(8).map(|process| {
                format!("process {} held {}", process.pid, Bytes(process.held.bytes))
            });
            let names = names.collect::<Vec<_>>().join(", ");
            let mut names = names.chars();
            let first = names.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(names).chain(['.']).collect()
        }
    };
    Some(cause)
}

fn pieces(failure: &Failure, wanted: Rest) -> Option<Cause> {
    let free = Rest::of(failure.free.as_ref()?);
    let unallocated = Rest::of(failure.unallocated.as_ref()?);
    let reserved = reserved(failure)?;
    let all = free.and(unallocated);
    let is_enough = all.most() >= wanted.least();
    // Unless a good part is in pieces, they are not the reason.
    let is_much = unallocated.bytes * 10 >= reserved.bytes || unallocated.bytes * 2 >= wanted.bytes;
    (is_enough && is_much).then(|| {
        let title = format!(
            "Fragmented, perhaps: {} free in PyTorch and {} left on the device, for a request of {}",
            bytes(unallocated),
            bytes(free),
            bytes(wanted)
        );
        let mut cause = Cause::new(
            Class::Fragmentation,
            Sure::Possible,
            Verdict::PiecesAndDeviceSuffice,
            title,
        );
        cause.seen = "Together they would have been enough. Perhaps they lie in pieces that PyTorch could not give back, as their segments are \
                      partly in use; perhaps in other pools or streams: a snapshot would show it."
            .to_owned();
        if let Some(joins) = joins(failure) {
            cause.to_try.insert(0, joins.to_owned());
        }
        cause
    })
}

/// What others, or this process outside PyTorch, hold, if it is much and the message does not tell them apart.
fn outside(failure: &Failure) -> String {
    let others = others(failure).filter(|others| others.with_own && others.is_large(failure));
    let told = others.map(|others| {
        format!(
            " Another {} were held by others, or by this process outside PyTorch.",
            bytes(others.held)
        )
    });
    told.unwrap_or_default()
}

/// The setting that joins free memory, in the version whose wording the message has.
fn joins(failure: &Failure) -> Option<&'static str> {
    match (failure.api, failure.wording?) {
        (Api::Npu, _) => {
            Some("PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, which joins free memory.")
        }
        (Api::Xpu, _) => None,
        (_, Wording::Sentences) => {
            Some("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which joins free memory.")
        }
        (_, Wording::ReservedInTotal) => Some(
            "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 keeps large blocks whole (torch 1.10); from torch 2.1 on, \
             expandable_segments:True joins free memory.",
        ),
        (_, Wording::Cached) => Some(
            "A newer torch: from 2.1 on, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True joins free memory.",
        ),
    }
}

/// Too much is live. `others`: how certain it is that others are the reason.
fn too_much(failure: &Failure, wanted: Rest, others: Option<Sure>) -> Option<Cause> {
    let total = Rest::of(failure.total.as_ref()?);
    let free = Rest::of(failure.free.as_ref()?);
    let (reserved, live) = (reserved(failure)?, live(failure)?);
    let all_free = free.and(reserved).less(live);
    // If a device is mostly used by others, live memory is not the reason, unless both together exceed the device.
    let is_more = live.least() + wanted.least() > total.most();
    if live.least() * 2 < total.most() && !is_more {
        return None;
    }
    let is_excluded = all_free.most() < wanted.least();
    let is_little = all_free.most() * 10 < reserved.least();
    if !is_excluded && !is_little {
        return None;
    }
    let sure = match all_free.most() * LITTLE_PART < reserved.least() {
        _ if is_excluded => Sure::Certain,
        true => Sure::Likely,
        false => Sure::Possible,
    };
    let verdict = if is_excluded {
        Verdict::Short
    } else {
        Verdict::LittleFree
    };
    let reachable = reserved.and(free);
    let title = sentences::live(bytes(live), Some(bytes(reachable)), WHEN);
    let mut cause = Cause::new(Class::TooMuchLive, sure, verdict, title);
    if is_excluded {
        cause.seen = format!(
            "Everything free together was {}: {} too little, so fragmentation is not the cause. {}",
            bytes(all_free),
            bytes(wanted.less(all_free)),
            cause.seen
        );
    } else {
        cause.seen = enough(failure, all_free);
    }
    if wanted.least() > live.most() {
        cause.seen +=
            " The request alone is larger than all that was live: look at its call first.";
    }
    // It comes after others that hold much.
    cause.sure = cause.sure.max(others.unwrap_or(Sure::Certain));
    Some(cause)
}

/// What it means that all free memory was enough, but little.
fn enough(failure: &Failure, all_free: Rest) -> String {
    let pools = failure.in_pools.as_ref().map(|pools| Bytes(pools.bytes));
    let pools = pools.map(|pools| format!(" ({pools} of it in private pools)"));
    format!(
        "Everything free together was {}{}: enough for this request if it had been in one place, but little beside what was live.",
        bytes(all_free),
        pools.unwrap_or_default()
    )
}
