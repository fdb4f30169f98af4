//! The allocator's settings that differ, and all figures of both sides.

use yew::prelude::*;

use super::ComparedRef;
use crate::state::figures::{FigureRow, all, direction_class};
use vramscope_core::analysis::compare::changes::SettingChange;

#[derive(Properties, PartialEq)]
pub(super) struct SettingsPanelProps {
    pub(super) compared: ComparedRef,
}

/// A table of settings and a table of figures.
#[component]
pub(super) fn SettingsPanel(props: &SettingsPanelProps) -> Html {
    let Some(compared) = props.compared.get() else {
        return Html::default();
    };
    let figure = |row: FigureRow| {
        html! {
            <tr title={row.exact}>
                <th scope="row">{ row.name }</th><td>{ row.before }</td><td>{ row.after }</td>
                <td class={direction_class(row.direction)}>{ row.change }</td>
            </tr>
        }
    };
    let value = |value: &Option<String>| match value {
        Some(text) => html! { <td class="mono">{ text }</td> },
        None => html! { <td class="muted">{ "not there" }</td> },
    };
    let setting = |change: &SettingChange| {
        html! {
            <tr><th scope="row" class="mono">{ &change.name }</th>{ value(&change.before) }{ value(&change.after) }</tr>
        }
    };
    html! {
        <div class="scroll figures">
            <h3>{ "Allocator settings that differ" }</h3>
            if !compared.settings.is_empty() {
                <table class="settings">
                    <thead><tr><th scope="col">{ "Setting" }</th><th scope="col">{ "A" }</th><th scope="col">{ "B" }</th></tr></thead>
                    <tbody>{ for compared.settings.iter().map(setting) }</tbody>
                </table>
            } else if compared.settings_known {
                <p class="muted">{ "None: both sides were recorded with the same settings." }</p>
            } else {
                <p class="muted">{ "Neither file holds settings." }</p>
            }
            <h3>{ "Figures" }</h3>
            <table>
                <thead><tr><td /><th scope="col">{ "A" }</th><th scope="col">{ "B" }</th><th scope="col">{ "Change" }</th></tr></thead>
                <tbody>{ for all(compared).into_iter().map(figure) }</tbody>
            </table>
        </div>
    }
}
