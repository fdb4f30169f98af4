//! Whose code allocated: the frames of stacks, their groups, and call trees.
//!
//! Belongs here: what follows from frames alone, and call trees over allocations. Does not: groups by anything but code
//! (`groups`), and pictures of the trees (vramscope-view).

mod any_of;
pub mod call_sites;
pub mod call_tree;
pub mod frame_groups;
pub mod frames;
pub mod operators;
pub mod tree_kind;
