//! A gate at which a download waits while the user is asked.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Open at first.
#[derive(Default)]
pub(super) struct Gate {
    is_closed: Cell<bool>,
    waiting: RefCell<Option<Waker>>,
}

impl Gate {
    /// Closes or opens the gate. Whoever waits at it goes on when it opens.
    pub(super) fn set_closed(&self, closed: bool) {
        self.is_closed.set(closed);
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }

    /// Waits until the gate is open. One at a time can wait.
    pub(super) async fn passed(&self) {
        poll_fn(|context| {
            if self.is_closed.get() {
                self.waiting.replace(Some(context.waker().clone()));
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    #[test]
    fn a_closed_gate_holds_until_it_opens() {
        let gate = Gate::default();
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(gate.passed()).poll(&mut context).is_ready());
        gate.set_closed(true);
        let mut held = pin!(gate.passed());
        assert!(held.as_mut().poll(&mut context).is_pending());
        gate.set_closed(false);
        assert!(held.as_mut().poll(&mut context).is_ready());
    }
}
