//! The allocator's settings.

use vramscope_core::analysis::memory::settings::Setting;
use vramscope_protocol::views::overview::FileDetails;
use yew::prelude::*;

/// A list of all settings; changed ones are highlighted.
pub(super) fn settings_section(details: &FileDetails) -> Html {
    // Memory of a captured program comes from the driver, which has no settings.
    if details.capture.is_some() && details.settings.is_empty() {
        return Html::default();
    }
    html! {
        <section class="settings">
            <h3>{ "Allocator settings" }</h3>
            if details.settings.is_empty() {
                <p class="muted">{ "The file does not hold them: PyTorch writes allocator_settings since 2.3." }</p>
            } else {
                <div class="wide" tabindex="0"><table>
                    <thead><tr>{ for ["Setting", "Value", "Default", "What it means"].iter().map(|title| html! { <th scope="col">{ *title }</th> }) }</tr></thead>
                    <tbody>{ for details.settings.iter().map(row) }</tbody>
                </table></div>
            }
        </section>
    }
}

fn row(setting: &Setting) -> Html {
    let class = match setting.changed {
        Some(true) => "changed",
        Some(false) => "same",
        None => "unknown",
    };
    let variable = setting
        .in_variable
        .as_ref()
        .filter(|_| setting.changed != Some(false));
    html! {
        <tr {class}>
            <th scope="row" class="mono">{ &setting.key }</th>
            <td class="mono value">{ &setting.value }</td>
            <td class="mono muted">{ &setting.default }</td>
            <td class="meaning">
                if setting.meaning.is_empty() {
                    <p class="muted">{ "Not known to this version; shown as it is." }</p>
                } else {
                    <p>{ &setting.meaning }</p>
                }
                if !setting.effect.is_empty() { <p><b>{ "Here: " }</b>{ &setting.effect }</p> }
                if let Some(variable) = variable { <p class="muted">{ "Set by the environment variable: " }<code>{ variable }</code></p> }
            </td>
        </tr>
    }
}
