//! Computes ahead, while no question waits, what other views will need of the first device.
//!
//! It goes in steps too short to be noticed, and begins after the first picture.

use super::document::{Device, Document};
use super::views::{self, Ahead, Caches};

/// The most events for which to compute ahead. With more, memory is scarcer than time, so it is done on demand, and a step
/// would take more than a second, in which no question has its turn.
const MOST_EVENTS: u32 = 12_000_000;

/// The steps in order: those that take longest and are most likely needed come first.
type Step = fn(Device<'_>, &mut Caches);

const STEPS: [Step; 7] = [
    |device, caches| views::prepare(Ahead::Sizes, device, caches),
    |device, _| {
        let _lines = (device.steps(), device.lanes());
    },
    |device, caches| views::prepare(Ahead::Overview, device, caches),
    |device, caches| views::prepare(Ahead::Map, device, caches),
    |device, _| {
        let _reserved = device.reserved();
    },
    |device, _| {
        let _columns = (device.site_of(), device.stack_of(), device.context_of());
        let _notes = device.notes();
    },
    |device, caches| views::prepare(Ahead::Words, device, caches),
];

/// The steps that are left.
#[derive(Default)]
pub(super) struct Preparation {
    done: usize,
    may_begin: bool,
}

impl Preparation {
    /// Begins, as the first picture has been drawn.
    pub(super) fn begin(&mut self) {
        self.may_begin = true;
    }

    /// Leaves the rest to when it is asked for.
    pub(super) fn skip(&mut self) {
        (self.may_begin, self.done) = (true, STEPS.len());
    }

    /// Whether the first picture has been drawn.
    pub(super) fn has_begun(&self) -> bool {
        self.may_begin
    }

    /// Whether it has begun and steps are left.
    pub(super) fn is_waiting(&self) -> bool {
        self.may_begin && self.done < STEPS.len()
    }

    /// Does the next step, if one is left.
    pub(super) fn step(&mut self, document: &Document, caches: &mut Caches) {
        if !self.is_waiting() {
            return;
        }
        let device = document.devices().next();
        match device.filter(|device| device.history.event_count <= MOST_EVENTS) {
            Some(device) => {
                STEPS[self.done](device, caches);
                self.done += 1;
            }
            None => self.done = STEPS.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXTURE: &[u8] = include_bytes!("../../../tests/fixtures/synth/torch-2.10-py-p4.pickle");

    #[test]
    fn it_waits_for_the_first_picture_and_ends() {
        let document = Document::new(vramscope_core::decode(FIXTURE).unwrap());
        let (mut preparation, mut caches) = (Preparation::default(), Caches::default());
        assert!(!preparation.is_waiting());
        preparation.begin();
        for _ in STEPS {
            assert!(preparation.is_waiting());
            preparation.step(&document, &mut caches);
        }
        assert!(!preparation.is_waiting());
        preparation.step(&document, &mut caches);
    }
}
