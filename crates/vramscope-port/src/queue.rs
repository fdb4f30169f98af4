//! The queue of requests. A newer question of an asker replaces its older ones.

use std::collections::VecDeque;

use vramscope_protocol::views::filter;
use vramscope_protocol::{Question, Request, Slot};

/// Waiting requests, each with its attachment.
#[derive(Debug)]
pub struct Queue<A> {
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
    /// Adds a request at the end, and drops waiting questions of the same asker.
    pub fn push(&mut self, request: Request, attachment: A) {
        if let Some(asker) = asker(&request) {
            self.waiting
                .retain(|(older, _)| self::asker(older) != Some(asker));
        }
        self.waiting.push_back((request, attachment));
    }

    /// Removes the next request: what is to be drawn, before its picture; then one for how much a search finds, which takes less than
    /// the picture of it; then one for a picture, as the user waits for it; else the oldest.
    pub fn pop(&mut self) -> Option<(Request, A)> {
        let rank = |(request, _): &(Request, A)| match request {
            Request::Take => 0,
            Request::Ask { question, .. } => match &**question {
                Question::Filter(filter::Question::Matches { .. }) => 1,
                Question::Draw(_) => 2,
                _ => 3,
            },
            _ => 3,
        };
        let (next, _) = self
            .waiting
            .iter()
            .enumerate()
            .min_by_key(|(_, waiting)| rank(waiting))?;
        self.waiting.remove(next)
    }

    /// Whether no request waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// The asker of a request; `None` if it is no question.
fn asker(request: &Request) -> Option<Slot> {
    match request {
        Request::Ask { slot, .. } => Some(*slot),
        Request::OpenBlob { .. }
        | Request::OpenPacked
        | Request::Take
        | Request::OpenUrl { .. }
        | Request::Reload { .. }
        | Request::Hold(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::ids::AllocationId;
    use vramscope_protocol::{DetailsOf, DrawRequest, Look, Viewport};

    fn ask(slot: Slot, question: impl Into<Question>) -> Request {
        Request::Ask {
            request: 1,
            slot,
            within: None,
            question: Box::new(question.into()),
        }
    }

    fn details(row: u32) -> DetailsOf {
        DetailsOf {
            device: 0,
            allocation: AllocationId(row),
        }
    }

    fn draw() -> DrawRequest {
        DrawRequest {
            look: Look::default(),
            viewport: Viewport {
                x_min: 0.0,
                x_max: 1.0,
                y_min_bytes: 0.0,
                y_max_bytes: 1.0,
                width_px: 1,
                height_px: 1,
            },
        }
    }

    fn rows(mut queue: Queue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop())
            .map(|(_, attachment)| attachment)
            .collect()
    }

    #[test]
    fn only_the_newest_question_of_an_asker_is_answered() {
        let mut queue = Queue::default();
        queue.push(ask(7, details(1)), 1);
        queue.push(ask(8, details(1)), 2);
        queue.push(ask(7, details(2)), 3);
        assert!(!queue.is_empty());
        assert_eq!(rows(queue), [2, 3]);
    }

    #[test]
    fn what_a_search_finds_comes_first_then_pictures_of_which_two_may_wait() {
        let found = filter::Question::Matches {
            device: 0,
            filter: filter::FilterText::of("size>1MiB", None, None).unwrap(),
            moment: None,
        };
        let mut queue = Queue::default();
        queue.push(Request::Hold(true), 1);
        queue.push(ask(1, details(0)), 2);
        queue.push(ask(2, draw()), 3);
        queue.push(ask(3, draw()), 4);
        queue.push(ask(2, draw()), 5);
        queue.push(ask(4, found), 6);
        queue.push(Request::Take, 7);
        assert_eq!(rows(queue), [7, 6, 4, 5, 1, 2]);
    }
}
