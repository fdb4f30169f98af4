//! Exports: a link to the visible state, a picture, numbers, a part of the file.

mod carry;
mod menu;
mod picture;

pub(super) use menu::ShareMenu;
