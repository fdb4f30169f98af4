//! Questions that wait. A newer one takes the place of an older one that it makes pointless.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};

use crate::protocol::{OutlineSlot, Request, Slot};

/// Waiting questions, each with its attachment.
#[derive(Debug)]
pub(super) struct Queue<A> {
    waiting: VecDeque<(Request, A)>,
}

impl<A> Default for Queue<A> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
        }
    }
}

impl<A> Queue<A> {
    /// Adds a question at the end.
    pub(super) fn push(&mut self, request: Request, attachment: A) {
        if let Some(topic) = topic(&request) {
            self.waiting
                .retain(|(older, _)| self::topic(older) != Some(topic));
        }
        self.waiting.push_back((request, attachment));
    }

    /// Takes a new filter, which costs nothing and which pictures need; then the picture if one is wanted,
    /// for that is what the user waits for; else the oldest.
    pub(super) fn pop(&mut self) -> Option<(Request, A)> {
        let urgency = |(request, _): &(Request, A)| match request {
            Request::Filter { .. } => 2,
            Request::Draw { .. } => 1,
            _ => 0,
        };
        let waiting = self.waiting.iter().enumerate();
        let (next, _) = waiting.rev().max_by_key(|(_, waiting)| urgency(waiting))?;
        self.waiting.remove(next)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Of questions with the same topic only the newest matters.
fn topic(request: &Request) -> Option<(Discriminant<Request>, Slot)> {
    let kind = discriminant(request);
    match request {
        Request::Filter { .. } => Some((kind, 0)),
        // Two pictures may be shown beside each other.
        Request::Draw { draw, .. } | Request::Hit { draw, .. } => {
            Some((kind, draw.look.picture as u32))
        }
        Request::Outline { slot, draw, .. } => {
            let is_pin = u32::from(*slot == OutlineSlot::Pin);
            Some((kind, draw.look.picture as u32 * 2 + is_pin))
        }
        Request::Ask { slot, .. } => Some((kind, *slot)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::ids::AllocationId;

    fn details(row: u32) -> Request {
        Request::Details {
            device: 0,
            allocation: AllocationId(row),
        }
    }

    fn rows(mut queue: Queue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop())
            .map(|(_, attachment)| attachment)
            .collect()
    }

    #[test]
    fn every_details_question_is_answered() {
        let mut queue = Queue::default();
        queue.push(details(1), 1);
        queue.push(details(2), 2);
        assert!(!queue.is_empty());
        assert_eq!(rows(queue), [1, 2]);
    }

    #[test]
    fn only_the_newest_outline_of_a_slot() {
        let viewport = vramscope_view::viewport::Viewport {
            x_min: 0.0,
            x_max: 1.0,
            y_min_bytes: 0.0,
            y_max_bytes: 1.0,
            width_px: 1,
            height_px: 1,
        };
        let draw = crate::protocol::DrawRequest {
            look: Default::default(),
            viewport,
        };
        let outline = |slot| Request::Outline {
            slot,
            draw,
            thing: crate::protocol::Thing::Allocation(AllocationId(0)),
        };
        let mut queue = Queue::default();
        queue.push(outline(OutlineSlot::Hover), 1);
        queue.push(Request::Draw { request: 1, draw }, 2);
        queue.push(outline(OutlineSlot::Pin), 3);
        queue.push(outline(OutlineSlot::Hover), 4);
        queue.push(details(0), 5);
        queue.push(Request::Draw { request: 2, draw }, 6);
        assert_eq!(rows(queue), [6, 3, 4, 5]);
    }
}
