//! What a text tells: the card of a failure, and lists of all failures, of log lines and of devices.

mod card;
mod chart;
mod tables;

use std::rc::Rc;

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::text::{TextFile, Told};
use vramscope_view::display;
use yew::prelude::*;

use self::card::failure_card;
use self::chart::CourseChart;
use self::tables::{device_table, failure_table, usage_table};
use super::site_label::SiteColours;
use crate::engine::Session;
use crate::state::{Shared, sentences};

#[derive(Clone, Properties, PartialEq)]
pub(super) struct TextViewProps {
    pub(super) file: Shared<TextFile>,
    pub(super) session: Session,
    pub(super) theme: ThemeName,
}

/// The card of the failure that came first, or of the one that was chosen since.
#[component]
pub(super) fn TextView(props: &TextViewProps) -> Html {
    let told = use_memo(props.file.clone(), |file| file.told.clone());
    let chosen = use_state_eq(|| None::<usize>);
    let place = chosen.unwrap_or(told.first);
    let choose = {
        let chosen = chosen.setter();
        Callback::from(move |place| chosen.set(Some(place)))
    };
    let colours = SiteColours::of_theme(props.theme);
    html! {
        <main class="text-file" aria-label="What the text tells" tabindex="0" data-scrolls="">
            <div class="page">
                <p class="muted about-text">{ about(&told) }</p>
                { notes(&told) }
                // Above the card, so that choosing moves nothing.
                if told.cards.len() > 1 { { failure_table(&told, place, &choose) } }
                { for told.cards.get(place).map(|card| failure_card(card, &colours)) }
                if !told.courses.lines.is_empty() { <CourseChart courses={told.courses.clone()} theme={props.theme} /> }
                { usage_table(&told.usage) }
                { device_table(&told.devices) }
                { command(&told) }
            </div>
        </main>
    }
}

/// What the text is, in a line.
fn about(told: &Rc<Told>) -> String {
    let lines = sentences::count_of(told.lines, "line", "lines");
    let failures = match told.failures {
        0 => "no failure".to_owned(),
        count => sentences::count_of(count, "failure", "failures"),
    };
    let shown = told.cards.len() as u64;
    let left = told.failures.saturating_sub(shown);
    let rest = match left {
        0 => String::new(),
        _ => format!("; {} of them are shown", display::count(shown)),
    };
    let who = match told.who.as_str() {
        "" => String::new(),
        who => format!(" {who}"),
    };
    format!("{lines}, {failures}{who}{rest}")
}

/// What else is to be said.
fn notes(told: &Told) -> Html {
    if told.notes.is_empty() {
        return Html::default();
    }
    html! {
        <ul class="text-notes" aria-label="Notes">
            { for told.notes.iter().map(|note| html! { <li>{ note }</li> }) }
        </ul>
    }
}

fn command(told: &Told) -> Html {
    told.command.as_ref().map_or_else(Html::default, |command| {
        html! { <p class="muted">{ "The program was started by " }<code>{ command }</code></p> }
    })
}
