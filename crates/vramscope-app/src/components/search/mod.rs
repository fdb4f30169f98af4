//! The search box: one text for all views, completed while it is written.

mod found;
mod guide;
mod input;
mod panel;

pub(super) use found::FoundStatus;
pub(super) use input::SearchBox;

/// The box's id: keys put the caret there.
pub(super) const BOX_ID: &str = "search";
