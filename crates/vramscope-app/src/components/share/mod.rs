//! Exports: a link to the visible state, a picture, numbers, a part of the file.

mod carry;
mod menu;
mod one_file;
mod picture;

pub(super) use menu::ShareMenu;
