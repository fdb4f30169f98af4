//! Tests that capture programs on the stand-in driver.
#![cfg(target_os = "linux")]

mod aarch64;
mod agreement;
mod annotate;
mod annotation_scenes;
mod burn;
mod completeness;
mod ends;
mod habits;
mod hooked;
mod live;
mod manners;
mod memory_viz;
mod neighbours;
mod nvtx;
mod odd_programs;
mod options;
