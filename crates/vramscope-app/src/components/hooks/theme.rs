//! The choice of light or dark.

use gloo::events::EventListener;
use yew::prelude::*;

use crate::browser::{frame, kept, url};
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
        use_state_eq(move || query.as_ref().as_ref().is_some_and(|query| query.matches()))
    };
    {
        let is_dark = is_dark.clone();
        use_effect_with((), move |()| {
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

/// The choice that the page's address names, which the page around an embedded one makes; else the user's stored
/// choice; else the system's.
pub(crate) fn first_theme(is_embedded: bool) -> ThemeChoice {
    let kept = || {
        if is_embedded {
            None
        } else {
            kept::get::<String>(KEPT_AS)
        }
    };
    // The page around may have changed it before this page was there.
    let shown = || frame::theme().filter(|_| is_embedded);
    let named = shown().or_else(url::theme).or_else(kept);
    ThemeChoice::named(named.as_deref().unwrap_or_default())
}

/// Sets the attribute that the style sheet reads, and stores the choice unless the page around this one made it. Without
/// a choice, the style sheet follows the system.
#[hook]
pub(crate) fn use_theme_attribute(theme: ThemeChoice, is_embedded: bool) {
    use_effect_with(theme, move |theme| {
        let root = gloo::utils::document_element();
        let name = match theme {
            ThemeChoice::System => {
                if !is_embedded {
                    kept::delete(KEPT_AS);
                }
                let _ = root.remove_attribute("data-theme");
                return;
            }
            ThemeChoice::Light => "light",
            ThemeChoice::Dark => "dark",
        };
        if !is_embedded {
            kept::set(KEPT_AS, &name);
        }
        let _ = root.set_attribute("data-theme", name);
    });
}
