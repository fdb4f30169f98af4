//! Tests that capture programs on the stand-in driver.
#![cfg(target_os = "linux")]

mod agreement;
mod annotate;
mod annotation_scenes;
mod burn;
mod ends;
mod live;
mod manners;
mod memory_viz;
mod options;
