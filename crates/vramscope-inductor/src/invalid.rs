//! Why a graph cannot be planned.

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

    pub(super) fn cycle(path: &str) -> Self {
        Self(format!(
            "Cycle detected in memory planning graphPath containing cycle (i -> j: j is a dependency of i): {path} \
             This indicates invalid dependency relationships in the scheduler graph"
        ))
    }

    pub(super) fn order(node: &str, needed: &str) -> Self {
        Self(format!(
            "{node} comes before {needed}, which it depends on: the nodes cannot run in the order that they are listed in."
        ))
    }
}
