//! Every test captures programs on the stand-in driver.
#![cfg(target_os = "linux")]

mod agreement;
mod burn;
mod ends;
mod manners;
mod memory_viz;
mod options;
mod says;
mod words;
