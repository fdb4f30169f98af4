//! Small runs that each show one thing.

mod torture;

pub use torture::torture;
