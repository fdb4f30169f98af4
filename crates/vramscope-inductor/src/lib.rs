//! Graphs of torch.compile's inductor, and the order in which their nodes need least memory.
//!
//! Before inductor generates code, it decides in which order the nodes of a graph run (`torch/_inductor/memory.py`,
//! torch 2.15): it estimates the peak of its current order ([`Method::Baseline`]) and of three others, and chooses the
//! lowest. This crate computes the same figures from inductor's exports ([`read()`]), to the byte and with the same
//! choice among ties. They are compared with PyTorch's own results on every file of `tests/fixtures/planning/graphs`.
//!
//! [`search`] then looks for better orders. It decides whether a graph can run within a number of bytes. Its states
//! are sets of nodes that have run, because the memory after them does not depend on their order, and a beam of states
//! proceeds node by node. A beam that dropped no state proves that what it did not find does not exist. The memory
//! that must be live together with one node is a minimum cut; the highest of these cuts is the lower bound.
//!
//! # Terms
//! - *node*: a kernel, or several fused into one. Its number is its place in the order before inductor reorders.
//! - *buffer*: an output of a node. Bytes allocated and freed with a buffer can differ: a node with several outputs
//!   allocates for all of them, and each output frees its part.
//! - *freeable input*: an input of the graph that can be freed after its last reader, such as an activation
//!   saved for the backward pass. Parameters and other lasting inputs are not part of any figure.
//! - *step*: a place in an order. The inputs and outputs of a node are live together at its step.

#![warn(missing_docs)]

// Lowest first: a module uses those of groups above its own.

mod invalid;
mod lists;
mod order;

mod graph;

mod build;
mod timeline;
mod validate;

mod orders;
pub mod read;

mod ordered;
pub mod search;

pub use self::build::{BufferPart, NodePart, Parts};
pub use self::graph::Graph;
pub use self::invalid::Invalid;
pub use self::lists::Lists;
pub use self::order::Order;
pub use self::ordered::{
    BufferDetails, BufferKind, GraphFacts, LiveBuffer, MOST_OUTPUTS, MOST_USERS, NamedOrder,
    NodeStep, OrderFacts, OrderName,
};
pub use self::orders::{Method, Plan, Planned, Settings, bfs, dfs, lpmf, plan};
pub use self::read::{Export, NamedGraph, ReadError, graph_name, read};
pub use self::search::Search;
pub use self::timeline::{Life, Timeline};

#[cfg(test)]
mod tests;
