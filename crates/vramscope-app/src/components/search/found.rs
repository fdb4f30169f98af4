//! What the search matches, and moving from match to match.

use vramscope_protocol::views::filter::{Answer, NextMatch, Question, SearchResult};
use yew::prelude::*;

use vramscope_core::analysis::search::filter::Filter;
use vramscope_core::model::DeviceIndex;

use super::super::commands::use_commands;
use super::super::hooks::{use_answer, use_painted};
use crate::engine::Session;
use crate::state::{Action, DeviceView, Search, search_box};

/// The matches of the search on a device. Live bytes are counted at the cursor, else at the peak.
#[hook]
pub(super) fn use_found(
    session: &Session,
    device: DeviceIndex,
    search: &Search,
    view: &DeviceView,
) -> Option<SearchResult> {
    let filter = search.filter(Some(view));
    let question = filter.map(|filter| Question::Matches {
        device,
        filter,
        moment: view.cursor_moment(),
    });
    let answer = use_answer(session, question).and_then(|answered| answered.answer);
    use_painted("search", answer.clone());
    match &*answer? {
        Answer::Matches(found) => Some(found.clone()),
        _ => None,
    }
}

/// Pins the next match when requested; returns it.
#[hook]
pub(super) fn use_next(
    session: &Session,
    device: DeviceIndex,
    search: &Search,
    view: &DeviceView,
) -> Option<NextMatch> {
    let commands = use_commands();
    // Requests made before this component existed have been handled by another.
    let first = *use_memo((), |()| search.next.0);
    let (press, is_forward) = search.next;
    let filter = search.filter(Some(view));
    // Later changes of pin or cursor do not affect where this request started.
    let question = use_memo(search.next, |_| {
        Some(Question::Next {
            device,
            filter: filter.clone()?,
            from: view.pinned(),
            moment: view.cursor_moment(),
            is_forward,
            press,
        })
    });
    let asked = (*question).clone().filter(|_| press != first);
    let answered = use_answer(session, asked);
    let answered = answered.filter(|answered| {
        matches!(&answered.question, Question::Next { filter: of, .. } if Some(of) == filter.as_ref())
    });
    let next = answered.and_then(|answered| match *answered.answer? {
        Answer::Next(next) => next.map(|next| (answered.question, next)),
        _ => None,
    });
    // If the filter refers to the cursor, moving the cursor would change the search.
    let keeps_cursor = Filter::parse(&search.text).is_ok_and(|filter| filter.uses_cursor());
    use_effect_with(next.clone(), move |next| {
        if let Some((_, next)) = next {
            commands.dispatch.emit(Action::Pin(next.allocation));
            if !keeps_cursor {
                commands.dispatch.emit(Action::Moment(next.moment));
            }
        }
    });
    next.map(|(_, next)| next)
}

#[derive(Properties, PartialEq)]
pub(crate) struct FoundStatusProps {
    pub(crate) session: Session,
    pub(crate) device: DeviceIndex,
    pub(crate) search: Search,
    pub(crate) view: DeviceView,
    /// When live bytes are counted, in words.
    pub(crate) when: &'static str,
}

/// How much the search matches, and a button that ends it.
#[component]
pub(crate) fn FoundStatus(props: &FoundStatusProps) -> Html {
    let commands = use_commands();
    let found = use_found(&props.session, props.device, &props.search, &props.view);
    let Some(found) = found else {
        return Html::default();
    };
    html! {
        <>
            <span class="showing" title={search_box::found_title(&found)}>{ search_box::showing(&found, props.when, props.search.pool().as_deref()) }</span>
            <button type="button" class="show-all" title="Clear the search box"
                onclick={commands.on(Action::Search(String::new()))}>{ "Show all" }</button>
        </>
    }
}
