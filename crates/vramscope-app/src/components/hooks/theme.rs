//! Light or dark.

use gloo::events::EventListener;
use yew::prelude::*;

use crate::state::ThemeChoice;

/// Whether the system wants it dark, kept up to date.
#[hook]
pub(crate) fn use_system_is_dark() -> bool {
    let query = use_memo((), |()| {
        gloo::utils::window().match_media("(prefers-color-scheme: dark)").ok().flatten()
    });
    let is_dark = {
        let query = query.clone();
        use_state_eq(move || query.as_ref().as_ref().is_some_and(|query| query.matches()))
    };
    {
        let is_dark = is_dark.clone();
        use_effect_with((), move |()| {
            let listener = (*query).clone().map(|query| {
                EventListener::new(&query.clone(), "change", move |_| is_dark.set(query.matches()))
            });
            move || drop(listener)
        });
    }
    *is_dark
}

/// Tells the style sheet what the user chose; without a choice it follows the system.
#[hook]
pub(crate) fn use_theme_attribute(theme: ThemeChoice) {
    use_effect_with(theme, |theme| {
        let root = gloo::utils::document_element();
        let _ = match theme {
            ThemeChoice::System => root.remove_attribute("data-theme"),
            ThemeChoice::Light => root.set_attribute("data-theme", "light"),
            ThemeChoice::Dark => root.set_attribute("data-theme", "dark"),
        };
    });
}
