//! A call site on one line, and its colour. If space is short, its folder and its function are cut, while
//! `file:line` stays. If only the free was recorded, "freed at" precedes it.

use vramscope_protocol::ThemeName;
use vramscope_view::colour::{Leaders, Rgb, stable_hash};
use vramscope_view::theme::Theme;
use yew::prelude::*;

use crate::state::{OpenFile, sentences, stacks};

/// The colours of a file's call sites, the same in all views.
#[derive(Clone, PartialEq)]
pub(super) struct SiteColours {
    theme: Theme,
    leaders: Leaders,
}

impl SiteColours {
    pub(super) fn of(file: &OpenFile, theme: ThemeName) -> Self {
        Self {
            theme: Theme::of(theme),
            leaders: file.opened.leaders.clone(),
        }
    }

    /// The colours where no file says which call sites are the largest.
    pub(super) fn of_theme(theme: ThemeName) -> Self {
        Self {
            theme: Theme::of(theme),
            leaders: Leaders::default(),
        }
    }

    /// The style of a call site's swatch; that of an unknown one without a label.
    pub(super) fn swatch(&self, label: Option<&str>) -> String {
        background(self.leaders.colour(&self.theme, label.map(stable_hash)))
    }
}

/// The style of a swatch.
pub(super) fn background([r, g, b]: Rgb) -> String {
    format!("background:rgb({r},{g},{b})")
}

/// The label of a call site. Other labels stay as they are.
pub(super) fn site_label(label: &str) -> Html {
    let freed_at = "freed at ";
    let (is_freed, label) = match label.strip_prefix(freed_at) {
        Some(rest) => (true, rest),
        None => (false, label),
    };
    let (place, function) = stacks::split_site(label);
    if place.is_empty() {
        return html! { <span class="site-label mono"><span class="function">{ sentences::site(label) }</span></span> };
    }
    let (folder, file) = stacks::split_path(place);
    let (name, line) = stacks::split_line(file);
    html! {
        <span class="site-label mono">
            if is_freed { <span class="file">{ "freed at\u{a0}" }</span> }
            if !folder.is_empty() { <span class="folder"><bdi>{ folder }</bdi></span> }
            <span class="file"><span>{ name }</span><span>{ line }</span></span>
            if !function.is_empty() { <span class="function">{ function }</span> }
        </span>
    }
}
