//! Hooks for events of the window, for sizes, and for questions to workers.

mod address;
mod ahead;
mod answer;
mod closing;
mod door;
mod drop_files;
mod host;
mod keyboard;
mod moment_at;
mod planner;
mod pointer;
mod position;
mod rounds;
mod seen;
mod size;
mod theme;
mod wheel;

pub(super) use address::{told, use_address};
pub(super) use ahead::use_answer_ahead;
pub(super) use answer::{Answered, use_answer, use_known, use_painted, use_pools};
pub(super) use closing::use_closing;
pub(super) use door::use_door;
pub(super) use drop_files::use_drop;
pub(super) use host::use_host;
pub(super) use keyboard::use_keys;
pub(super) use moment_at::use_moment_at;
pub(super) use planner::use_planner;
pub(super) use pointer::{Draft, PointerHandlers, use_pointer};
pub(super) use position::use_position;
pub(super) use rounds::use_rounds;
pub(super) use seen::use_seen;
pub(super) use size::{plot_area, use_height, use_plot_area};
pub(super) use theme::{first_theme, use_system_is_dark, use_theme_attribute};
pub(super) use wheel::use_wheel;
