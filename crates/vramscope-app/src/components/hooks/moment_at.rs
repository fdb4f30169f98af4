//! Moves the cursor to a place of the x axis, while the user drags it.

use vramscope_protocol::{Look, MomentAt};
use yew::prelude::*;

use super::use_answer;
use crate::components::commands::use_commands;
use crate::engine::Session;
use crate::state::Action;

/// A callback for places of the x axis, in its unit: dispatches `act` with the moment there. Only the newest place
/// is asked about, so that a drag is never behind.
#[hook]
pub(crate) fn use_moment_at(
    session: &Session,
    look: &Look,
    act: fn(u32) -> Action,
) -> Callback<f64> {
    let commands = use_commands();
    let asked = use_state_eq(|| None::<MomentAt>);
    let answered = use_answer(session, *asked);
    let found = answered.and_then(|answered| Some((answered.question, *answered.answer?)));
    use_effect_with(found, move |found| {
        if let Some((_, moment)) = found {
            commands.dispatch.emit(act(*moment));
        }
    });
    let (device, axis) = (look.device, look.axis);
    Callback::from(move |x: f64| {
        let count = asked.map_or(0, |asked| asked.count.wrapping_add(1));
        asked.set(Some(MomentAt {
            device,
            axis,
            x,
            count,
        }));
    })
}
