//! The choice of light or dark.

use crate::browser::has_storage;
use crate::components::hooks::{use_effect_on, use_kept};
use gloo::events::EventListener;
use gloo::storage::{LocalStorage, Storage};
use yew::prelude::*;

use crate::state::ThemeChoice;

/// Whether the system prefers dark, kept up to date.
#[hook]
pub(crate) fn use_system_is_dark() -> bool {
    let query = use_memo((), |()| {
        gloo::utils::window()
            .match_media("(prefers-color-scheme: dark)")
            .ok()
            .flatten()
    });
    let is_dark = {
        let query = query.clone();
        use_kept(move || query.as_ref().as_ref().is_some_and(|query| query.matches()))
    };
    {
        let is_dark = is_dark.clone();
        use_effect_on((), move |()| {
            let listener = (*query).clone().map(|query| {
                EventListener::new(&query.clone(), "change", move |_| {
                    is_dark.set(query.matches())
                })
            });
            move || drop(listener)
        });
    }
    *is_dark
}

/// The key of the choice in local storage.
const KEPT_AS: &str = "vramscope.theme";

/// The user's stored choice; the system's if nothing is stored.
pub(crate) fn kept_theme() -> ThemeChoice {
    let kept = has_storage().then(|| LocalStorage::get::<String>(KEPT_AS).ok());
    match kept.flatten().as_deref() {
        Some("light") => ThemeChoice::Light,
        Some("dark") => ThemeChoice::Dark,
        _ => ThemeChoice::System,
    }
}

/// Sets the attribute that the style sheet reads, and stores the choice. Without a choice, the
/// style sheet follows the system.
#[hook]
pub(crate) fn use_theme_attribute(theme: ThemeChoice) {
    use_effect_on(theme, |theme| {
        let root = gloo::utils::document_element();
        let name = match theme {
            ThemeChoice::System => {
                if has_storage() {
                    LocalStorage::delete(KEPT_AS);
                }
                let _ = root.remove_attribute("data-theme");
                return;
            }
            ThemeChoice::Light => "light",
            ThemeChoice::Dark => "dark",
        };
        // Private windows may store nothing; then the choice lasts as long as the page.
        let _ = has_storage().then(|| LocalStorage::set(KEPT_AS, name));
        let _ = root.set_attribute("data-theme", name);
    });
}
