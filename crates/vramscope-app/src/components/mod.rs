//! The page's components, one per file. They show what [`crate::state`] holds and say what the user did; they
//! compute no number.

mod all_strip;
mod allocator;
mod app;
mod banners;
mod choice;
mod commands;
mod compare;
mod copy_button;
mod details;
mod error_card;
mod facts_view;
mod file_tabs;
mod file_view;
mod flame;
mod graph;
mod help;
mod hooks;
mod icons;
mod lanes;
mod legend;
mod map_labels;
mod marks;
mod opening_card;
mod overview;
mod pictured;
mod rail;
mod recipe;
mod samples;
mod search;
mod share;
mod site_label;
mod source_link;
mod start;
mod status_bar;
mod strip;
mod strip_picture;
mod table;
mod timeline;
mod tooltip;
mod top_bar;
mod view_props;
mod virtual_list;
mod what_if;

pub use app::{App, AppProps};
