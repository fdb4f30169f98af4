//! The checks that inductor makes before it reorders a graph, with its own messages.

use super::Graph;

/// Why a graph is invalid, in PyTorch's own message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl Invalid {
    pub(super) fn shared_name(buffer: &str, node: &str, other: &str) -> Self {
        // PyTorch prints both buffers in full, but an export has only the names of their nodes.
        Self(format!(
            "Buffer name mapping is incorrect for '{buffer}'.Expected name_to_buf['{buffer}'] to be that of {node} \
             but got that of {other}. This indicates some buffers share the same name"
        ))
    }

    pub(super) fn name_of_input(buffer: &str, node: &str) -> Self {
        Self(format!(
            "Buffer name conflict detected: '{buffer}' from node {node} is also used as a freeable input buffer name. "
        ))
    }

    pub(super) fn missing(buffer: &str, node: &str) -> Self {
        Self(format!(
            "{buffer} from {node} is not found in name_to_buf mapping. This indicates a missing buffer mapping."
        ))
    }

    fn cycle(path: &str) -> Self {
        Self(format!(
            "Cycle detected in memory planning graphPath containing cycle (i -> j: j is a dependency of i): {path} \
             This indicates invalid dependency relationships in the scheduler graph"
        ))
    }

    fn order(node: &str, needed: &str) -> Self {
        Self(format!(
            "{node} comes before {needed}, which it depends on: the nodes cannot run in the order that they are listed in."
        ))
    }
}

/// `validate_graph_acyclic`: checks that no node must run before itself.
///
/// # Errors
/// The first cycle, as the path on which it was found.
pub(super) fn acyclic(graph: &Graph) -> Result<(), Invalid> {
    let mut color = vec![Color::White; graph.node_count()];
    // The current path: each node with the number of its predecessors that are done.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..graph.node_count() as u32 {
        if color[root as usize] == Color::White {
            color[root as usize] = Color::Gray;
            path.push((root, 0));
        }
        while let Some((node, done)) = path.last_mut() {
            let Some(&pred) = graph.preds.get(*node as usize).get(*done) else {
                color[*node as usize] = Color::Black;
                path.pop();
                continue;
            };
            *done += 1;
            match color[pred as usize] {
                Color::Black => {}
                Color::White => {
                    color[pred as usize] = Color::Gray;
                    path.push((pred, 0));
                }
                Color::Gray => {
                    let nodes = path.iter().map(|&(node, _)| node).chain([pred]);
                    let names: Vec<&str> = nodes.map(|n| &*graph.node_names[n as usize]).collect();
                    return Err(Invalid::cycle(&names.join(" -> ")));
                }
            }
        }
    }
    Ok(())
}

/// Checks that the listed order can run. PyTorch need not check that; only damaged files fail.
///
/// # Errors
/// The first node that is listed too early.
pub(super) fn runs(graph: &Graph) -> Result<(), Invalid> {
    let name = |node: u32| &*graph.node_names[node as usize];
    for node in 0..graph.node_count() as u32 {
        let last = graph.preds.get(node as usize).last();
        if let Some(&needed) = last.filter(|&&pred| pred > node) {
            return Err(Invalid::order(name(node), name(needed)));
        }
    }
    Ok(())
}

/// The progress of the walk at a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Color {
    White,
    Gray,
    Black,
}

impl Graph {
    /// Makes all checks: `validate_graph_acyclic` and `validate_unique_buffer_names`, which inductor calls one after
    /// the other, and that the listed order can run.
    ///
    /// # Errors
    /// The first fault, in PyTorch's words if PyTorch would find it.
    pub fn validate(&self) -> Result<(), Invalid> {
        acyclic(self)?;
        runs(self)?;
        self.validate_unique_buffer_names()
    }

    /// `validate_unique_buffer_names`: checks that buffers have different names. Figures are right even if they do not.
    ///
    /// # Errors
    /// The first buffer whose name is taken.
    pub fn validate_unique_buffer_names(&self) -> Result<(), Invalid> {
        self.name_fault.clone().map_or(Ok(()), Err)
    }
}
