//! The worker's side of the search: sets the filter, asks what it found, and goes from match to match.

use yew::prelude::*;

use vramscope_core::analysis::filter::Filter;
use vramscope_core::model::DeviceIndex;

use super::super::commands::use_commands;
use super::super::hooks::{use_answer, use_painted};
use crate::engine::Session;
use crate::protocol::views::filter::{Answer, FilterContext, Found, NextMatch, Question};
use crate::protocol::{FilterId, Request};
use crate::state::{Action, DeviceView, Search, search_box};

/// Tells the worker what is searched for, before anything that is drawn with it is asked for.
#[hook]
pub(crate) fn use_filter(session: &Session, search: &Search, view: Option<&DeviceView>) {
    let commands = use_commands();
    let context = context_of(view);
    use_told(session, search, context);
    let filter = use_memo(search.text.clone(), |text| {
        Filter::parse(text).unwrap_or_default()
    });
    let depends_on = (
        context.cursor.filter(|_| filter.uses_cursor()),
        context.range.filter(|_| filter.uses_range()),
    );
    let known = use_mut_ref(|| (search.text.clone(), depends_on));
    use_effect_with((search.text.clone(), depends_on), move |now| {
        let before = known.replace(now.clone());
        // Another text has its context already.
        if before.0 == now.0 && before.1 != now.1 {
            commands.dispatch.emit(Action::RefreshSearch);
        }
    });
}

fn context_of(view: Option<&DeviceView>) -> FilterContext {
    FilterContext {
        cursor: view.and_then(DeviceView::cursor_moment),
        range: view.and_then(DeviceView::moments),
    }
}

/// Tells the worker the filter while rendering, which comes before the effects by which a component asks.
/// A new component's effects come before other components are rendered again, so each that asks tells.
#[hook]
fn use_told(session: &Session, search: &Search, context: FilterContext) {
    use_memo((session.clone(), search.id), |(session, id)| {
        session.ask(&Request::Filter {
            filter: *id,
            text: search.text.clone(),
            context,
        });
    });
}

/// What the filter has found on a device; live bytes are counted at the cursor, else at the peak.
#[hook]
pub(super) fn use_found(
    session: &Session,
    device: DeviceIndex,
    search: &Search,
    view: &DeviceView,
) -> Option<Found> {
    use_told(session, search, context_of(Some(view)));
    let question = (search.id != FilterId::default()).then(|| Question::Found {
        device,
        filter: search.id,
        moment: view.cursor_moment(),
    });
    let answer = use_answer(session, question).and_then(|answered| answered.answer);
    use_painted("search", answer.clone());
    match &*answer? {
        Answer::Found(found) => Some(found.clone()),
        _ => None,
    }
}

/// Pins the next match when it is asked for; gives the last one.
#[hook]
pub(super) fn use_next(
    session: &Session,
    device: DeviceIndex,
    search: &Search,
    view: &DeviceView,
) -> Option<NextMatch> {
    let commands = use_commands();
    // What was asked for before this box was there has been answered by another.
    let first = *use_memo((), |()| search.next.0);
    let (press, is_forward) = search.next;
    let question = use_memo(search.next, |_| Question::Next {
        device,
        filter: search.id,
        from: view.pinned,
        moment: view.cursor_moment(),
        is_forward,
        press,
    });
    let asked = (press != first).then(|| (*question).clone());
    let answered = use_answer(session, asked);
    let answered = answered.filter(|answered| {
        matches!(answered.question, Question::Next { filter, .. } if filter == search.id)
    });
    let next = answered.and_then(|answered| match *answered.answer? {
        Answer::Next(next) => next.map(|next| (answered.question, next)),
        _ => None,
    });
    // Moving the cursor must not change what is searched for.
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

/// Properties of [`FoundStatus`].
#[derive(Properties, PartialEq)]
pub(crate) struct FoundStatusProps {
    pub(crate) session: Session,
    pub(crate) device: DeviceIndex,
    pub(crate) search: Search,
    pub(crate) view: DeviceView,
}

/// What part of everything is shown, and the way back to everything.
#[component]
pub(crate) fn FoundStatus(props: &FoundStatusProps) -> Html {
    let commands = use_commands();
    let found = use_found(&props.session, props.device, &props.search, &props.view);
    let Some(found) = found else {
        return Html::default();
    };
    let is_cursor = props.view.cursor_moment().is_some();
    html! {
        <>
            <span class="showing" title={search_box::found_title(&found)}>{ search_box::showing(&found, is_cursor) }</span>
            <button type="button" class="show-all" title="Empty the search box"
                onclick={commands.on(Action::Search(String::new()))}>{ "Show all" }</button>
        </>
    }
}
