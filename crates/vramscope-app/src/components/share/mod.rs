//! What can be taken away: a link to what is seen, a picture, numbers, a part of the file.

mod menu;
mod picture;

pub(super) use menu::ShareMenu;
