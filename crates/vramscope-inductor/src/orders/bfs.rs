//! Breadth first: the node whose predecessors ran earliest comes next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Order;
use crate::Graph;

/// `topological_sort_bfs`: of the ready nodes, the one whose sorted list of predecessors' steps is least; ties go to the
/// lowest number.
#[must_use]
pub fn bfs(graph: &Graph) -> Order {
    let count = graph.node_count();
    let mut waiting: Vec<usize> = graph.preds.iter().map(<[u32]>::len).collect();
    let roots = (0..count as u32).filter(|&n| waiting[n as usize] == 0);
    let mut ready: BinaryHeap<Reverse<(Vec<u32>, u32)>> =
        roots.map(|n| Reverse((Vec::new(), n))).collect();
    let mut step = vec![0; count];
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse((_, node))) = ready.pop() {
        step[node as usize] = order.len() as u32;
        order.push(node);
        for &succ in graph.succs.get(node as usize) {
            waiting[succ as usize] -= 1;
            if waiting[succ as usize] == 0 {
                let preds = graph.preds.get(succ as usize).iter();
                let mut steps: Vec<u32> = preds.map(|&pred| step[pred as usize]).collect();
                steps.sort_unstable();
                ready.push(Reverse((steps, succ)));
            }
        }
    }
    Order(order)
}
