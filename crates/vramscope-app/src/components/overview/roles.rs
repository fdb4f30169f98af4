//! What the peak is made of, by role: a sentence, and a bar with its legend.

use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::report::peak_roles::{PeakRoles, RoleTotal};
use vramscope_core::analysis::search::filter::rows::of_name;
use vramscope_view::colour::role_colour;
use vramscope_view::display;
use vramscope_view::theme::Theme;
use yew::prelude::*;

use super::words;
use crate::components::commands::{Commands, use_commands};
use crate::components::site_label::background;
use crate::state::{Action, ViewKind, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct RolesProps {
    /// What it is made of; `None` where that stands above already.
    pub(super) sentence: Option<String>,
    pub(super) roles: PeakRoles,
    pub(super) theme: Theme,
}

/// The sentence, the bar and the legend. A click on a role shows it in the timeline.
#[component]
pub(super) fn Roles(props: &RolesProps) -> Html {
    let commands = use_commands();
    let roles = &props.roles;
    let part = |row: &RoleTotal| {
        let share = words::share(row.bytes, roles.peak_bytes) * 100.0;
        html! {
            <button type="button" class="part" tabindex="-1" aria-hidden="true" title={title(row)} onclick={show(&commands, row)}
                style={format!("width:{share:.4}%;{}", background(role_colour(&props.theme, row.role)))} />
        }
    };
    let entry = |row: &RoleTotal| {
        let colour = background(role_colour(&props.theme, row.role));
        html! {
            <li>
                <button type="button" title={title(row)} onclick={show(&commands, row)}>
                    <span class="swatch" style={colour} aria-hidden="true" />
                    { row.role.label() }
                    <b>{ display::bytes(row.bytes) }</b>
                    <span class="muted">{ display::percent(row.bytes, roles.peak_bytes) }</span>
                </button>
            </li>
        }
    };
    html! {
        <section class="roles">
            if let Some(sentence) = &props.sentence { <p>{ sentence }</p> }
            <div class="bar">{ for roles.rows.iter().map(part) }</div>
            <ul>{ for roles.rows.iter().map(entry) }</ul>
        </section>
    }
}

fn title(row: &RoleTotal) -> String {
    let held = sentences::allocations(row.count, row.bytes);
    format!(
        "{}: {held}\nClick to show them in the timeline",
        row.role.label()
    )
}

fn show(commands: &Commands, row: &RoleTotal) -> Callback<MouseEvent> {
    let (dispatch, search) = (
        commands.dispatch.clone(),
        of_name(Property::Role, row.role.word()).to_string(),
    );
    Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::View(ViewKind::Timeline));
        dispatch.emit(Action::Search(search.clone()));
    })
}
