//! The search box: one filter for all views, with completion.

mod found;
mod guide;
mod input;
mod panel;

pub(super) use found::FoundStatus;
pub(super) use input::SearchBox;

/// The input's id, by which a shortcut finds it.
pub(super) const BOX_ID: &str = "search";
