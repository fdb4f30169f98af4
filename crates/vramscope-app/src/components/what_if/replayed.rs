//! Replays with other settings of the allocator, asked for until they are over.

use vramscope_core::analysis::report::findings::Finding;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::Look;
use vramscope_protocol::views::what_if::{Answer, Question, Replayed};
use yew::prelude::*;

use crate::components::hooks::use_rounds;
use crate::engine::Session;
use crate::state::Shared;

/// Number of columns of each curve.
const COLUMNS: u32 = 1_200;

/// Replays, as a reference to their answer.
#[derive(Clone, PartialEq)]
pub(in crate::components) struct ReplayedRef(Shared<Answer>);

impl ReplayedRef {
    /// The replays. Never `None`, because only such answers become replays.
    pub(in crate::components) fn get(&self) -> Option<&Replayed> {
        match &*self.0 {
            Answer::Replay(replayed) => Some(replayed),
            _ => None,
        }
    }
}

/// The replay with these changes of settings, as far as it is computed.
#[hook]
pub(in crate::components) fn use_replay(
    session: &Session,
    look: &Look,
    changes: Option<String>,
) -> Option<ReplayedRef> {
    let (device, axis) = (look.device, look.axis);
    let answered = use_rounds(
        session,
        |round| {
            changes.clone().map(|changes| Question::Replay {
                device,
                changes,
                axis,
                columns: COLUMNS,
                round,
            })
        },
        |answer| matches!(answer, Answer::Replay(replayed) if replayed.is_done),
    );
    // An answer for other settings does not count.
    let is_it = |question: &Question| {
        matches!(question, Question::Replay { device: of, changes: own, .. }
            if *of == device && Some(own) == changes.as_ref())
    };
    let answered = answered.filter(|answered| is_it(&answered.question));
    answered.and_then(|answered| answered.answer.map(ReplayedRef))
}

/// What replays with other settings amount to, computed once `is_idle`; `None` until then, and if nothing is to be said.
#[hook]
pub(in crate::components) fn use_conclusion(
    session: &Session,
    device: DeviceIndex,
    is_idle: bool,
) -> Option<Finding> {
    let answered = use_rounds(
        session,
        |round| is_idle.then_some(Question::Conclude { device, round }),
        |answer| matches!(answer, Answer::Concluded(concluded) if concluded.is_done),
    );
    match answered?.answer.as_deref() {
        Some(Answer::Concluded(concluded)) if concluded.device == device => {
            concluded.finding.clone()
        }
        _ => None,
    }
}
