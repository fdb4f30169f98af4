//! Annotations, including ranges that began while nothing was recorded.
//!
//! Such ranges wait in a small buffer until they end or recording begins. Then they are written with their original
//! times.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vramscope_record::layout::{Annotation, Attributes, Kind, Loss, NO_DEVICE};

use super::names::Domain;
use super::{is_recording, lost, put, text};

/// Maximum number of pending ranges. Further ranges are not recorded.
const MAX_PENDING: usize = 1024;

/// The content of an annotation.
#[derive(Clone, Debug)]
pub(crate) struct Label<'a> {
    pub(crate) domain: Domain,
    pub(crate) name: Cow<'a, [u8]>,
    pub(crate) attributes: Attributes,
}

impl<'a> Label<'a> {
    /// A name without attributes.
    pub(crate) fn plain(domain: Domain, name: impl Into<Cow<'a, [u8]>>) -> Self {
        Self {
            domain,
            name: name.into(),
            attributes: Attributes::default(),
        }
    }

    /// The end of a range: it needs no name.
    pub(crate) fn end(domain: Domain) -> Self {
        Self::plain(domain, b"".as_slice())
    }

    pub(crate) fn into_owned(self) -> Label<'static> {
        Label {
            name: self.name.into_owned().into(),
            ..self
        }
    }
}

/// A range that began while nothing was recorded.
pub(crate) struct PendingRange {
    /// The record, without the numbers of its texts.
    pub(crate) annotation: Annotation,
    pub(crate) label: Label<'static>,
    /// For a pushed range: the number of pushed ranges around it.
    pub(crate) depth: u32,
}

static PENDING: Mutex<Vec<PendingRange>> = Mutex::new(Vec::new());
/// Whether any ranges may be pending. Changes only while [`PENDING`] is locked, and clears only when all are
/// written.
static HAS_PENDING: AtomicBool = AtomicBool::new(false);

fn lock_pending() -> MutexGuard<'static, Vec<PendingRange>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes an annotation and its texts.
pub(crate) fn annotate(mut annotation: Annotation, label: &Label<'_>) {
    annotation.domain = label.domain.text();
    if !label.name.is_empty() {
        annotation.name = text(&label.name);
    }
    let record = annotation.to_bytes();
    if label.attributes == Attributes::default() {
        put(Kind::Annotation, &[&record]);
    } else {
        put(Kind::Annotation, &[&record, &label.attributes.to_bytes()]);
    }
}

/// Whether any ranges may be pending.
pub(crate) fn has_pending() -> bool {
    HAS_PENDING.load(Ordering::Acquire)
}

/// Makes a range pending, unless there are too many.
pub(crate) fn add_pending(annotation: Annotation, depth: u32, label: Label<'static>) {
    let mut pending = lock_pending();
    if pending.len() < MAX_PENDING {
        HAS_PENDING.store(true, Ordering::Release);
        pending.push(PendingRange {
            annotation,
            label,
            depth,
        });
    } else {
        lost(Loss::TooManyRanges);
    }
}

/// Removes the last pending range for which `is_match` is true. Returns whether there was one.
pub(crate) fn remove_pending(is_match: impl FnMut(&PendingRange) -> bool) -> bool {
    if !has_pending() {
        return false;
    }
    let mut pending = lock_pending();
    let place = pending.iter().rposition(is_match);
    place.map(|place| pending.remove(place)).is_some()
}

/// Writes pending ranges, if recording is on. `device` is the calling thread's.
pub(crate) fn flush_pending(device: Option<i16>) {
    if !is_recording() {
        return;
    }
    // Hold the lock until all are in the log: a thread that finds nothing pending writes what comes after them.
    let mut pending = lock_pending();
    for mut one in pending.drain(..) {
        if one.annotation.device == NO_DEVICE {
            // No device was current when the range began, so use the one that the program begins to use now.
            one.annotation.device = device.unwrap_or(NO_DEVICE);
        }
        annotate(one.annotation, &one.label);
    }
    HAS_PENDING.store(false, Ordering::Release);
}

/// Runs in the child of a fork and forgets the parent's ranges. Returns false if another thread of the parent held the
/// lock, which is then unusable. Neither allocates nor frees.
pub(super) fn after_fork() -> bool {
    let Ok(mut pending) = PENDING.try_lock() else {
        return false;
    };
    std::mem::forget(std::mem::take(&mut *pending));
    HAS_PENDING.store(false, Ordering::Release);
    true
}
