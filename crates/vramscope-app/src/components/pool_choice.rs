//! The list of memory pools: a choice narrows the search, and with it all views, to one of them.

use vramscope_protocol::views::filter::{Answer, PoolLine, Question};
use yew::prelude::*;

use vramscope_core::model::DeviceIndex;
use vramscope_view::display;

use super::choice::Select;
use super::commands::use_commands;
use super::hooks::use_answer;
use crate::engine::Session;
use crate::state::{Action, Search};

#[derive(Properties, PartialEq)]
pub(super) struct PoolChoiceProps {
    /// The file with all of its pools.
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    /// Whether the device may have several pools.
    pub(super) has_pools: bool,
    pub(super) search: Search,
}

/// The list of pools; nothing where there is only one.
#[component]
pub(super) fn PoolChoice(props: &PoolChoiceProps) -> Html {
    let commands = use_commands();
    let (device, search) = (props.device, props.search.clone());
    let question = props.has_pools.then_some(Question::Pools { device });
    let answered = use_answer(&props.session, question);
    let lines = match answered.as_ref().map(|answered| answered.answer.as_deref()) {
        Some(Some(Answer::Pools(pools))) if !pools.lines.is_empty() => pools.lines.clone(),
        // The list takes its place at once: whatever is beside it would move under the pointer when it comes.
        None if props.has_pools => Vec::new(),
        _ => return Html::default(),
    };
    let chosen = search.pool();
    let place = lines
        .iter()
        .position(|line| Some(&line.filter) == chosen.as_ref());
    let known = lines.iter().map(|line| option(line).into());
    // A search can name a pool that is not listed, such as all private ones.
    let other = chosen.as_ref().filter(|_| place.is_none());
    let options: Vec<AttrValue> = std::iter::once("all pools".into())
        .chain(known)
        .chain(other.map(|text| text.clone().into()))
        .collect();
    let index = match (place, &chosen) {
        (Some(place), _) => place + 1,
        (None, Some(_)) => options.len() - 1,
        (None, None) => 0,
    };
    let about = place.map(|place| AttrValue::from(about(&lines[place])));
    let on_choose = commands.dispatch.reform(move |index: usize| {
        let pool = index.checked_sub(1).and_then(|place| lines.get(place));
        Action::Search(search.in_pool(pool.map(|pool| pool.filter.as_str())))
    });
    html! {
        <div class="pool-choice"><Select label="Pool" {options} chosen={index} {about} {on_choose} /></div>
    }
}

/// A pool in a line: `MemPool (0, 2), 20.2 GiB: 24 × 865 MiB, vllm_rollout_spmd.py:114 __init__`.
fn option(line: &PoolLine) -> String {
    let owner = line.owner.iter().map(|owner| format!(": {owner}"));
    let reserved = display::bytes(line.reserved_bytes);
    format!("{}, {reserved}{}", line.label, owner.collect::<String>())
}

/// What tells the pool's name, and how to leave it.
fn about(line: &PoolLine) -> String {
    format!(
        "{} {} live at the device's peak. All views show this pool alone; choose “all pools” to leave it.",
        line.because,
        display::bytes(line.peak_bytes)
    )
}
