//! The checks that inductor makes before it reorders a graph, with its own messages.

use super::{Graph, Invalid};

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
