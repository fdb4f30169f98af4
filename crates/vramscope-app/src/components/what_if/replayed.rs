//! Replays with other settings of the allocator.

use vramscope_core::analysis::report::findings::Finding;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::Look;
use vramscope_protocol::views::what_if::{Answer, ConclusionOf, Question, Replayed};
use yew::prelude::*;

use crate::components::hooks::{use_answer, use_planner, use_rounds};
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

/// The replay with these changes of settings, once it is there.
#[hook]
pub(in crate::components) fn use_replay(
    session: &Session,
    look: &Look,
    changes: Option<String>,
) -> Option<ReplayedRef> {
    use_planner(session, changes.is_some());
    let question = changes.map(|changes| Question::Replay {
        device: look.device,
        changes,
        axis: look.axis,
        columns: COLUMNS,
    });
    let answered = use_answer(session, question.clone());
    // An answer for other settings does not count, one on another axis stays until the next.
    let settings = |question: &Question| match question {
        Question::Replay {
            device, changes, ..
        } => Some((*device, changes.clone())),
        _ => None,
    };
    let wanted = question.as_ref().and_then(settings);
    let answered = answered.filter(|answered| settings(&answered.question) == wanted);
    answered.and_then(|answered| answered.answer.map(ReplayedRef))
}

/// What replays with other settings amount to, computed once `is_idle`; `None` until then, and if nothing is to be said.
#[hook]
pub(in crate::components) fn use_conclusion(
    session: &Session,
    device: DeviceIndex,
    is_idle: bool,
) -> Option<Finding> {
    let known = use_answer(session, is_idle.then_some(ConclusionOf { device }));
    let known = known.and_then(|answered| answered.answer);
    let known = known.filter(|known| known.device == device);
    let is_asked = known.as_ref().is_some_and(|known| !known.is_done);
    let answered = use_rounds(
        session,
        |round| is_asked.then_some(Question::Conclude { device, round }),
        |answer| matches!(answer, Answer::Concluded(concluded) if concluded.is_done),
    );
    let concluded = answered.and_then(|answered| answered.answer);
    let concluded = match concluded.as_deref() {
        Some(Answer::Concluded(concluded)) if concluded.device == device => Some(&**concluded),
        _ => None,
    };
    use_planner(session, is_asked && !concluded.is_some_and(|of| of.is_done));
    concluded.or(known.as_deref())?.finding.clone()
}
