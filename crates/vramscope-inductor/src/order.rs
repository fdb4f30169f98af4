//! An order of nodes.

/// All nodes of a graph, each once, in an order that can run.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Order(pub Vec<u32>);

impl Order {
    /// Per node: the step at which it runs.
    #[must_use]
    pub fn steps(&self) -> Vec<u32> {
        let mut steps = vec![0; self.0.len()];
        for (step, &node) in (0u32..).zip(&self.0) {
            steps[node as usize] = step;
        }
        steps
    }
}
