//! Depth first: each node directly after the nodes that it reads from.

use super::Order;
use crate::Graph;

/// `topological_sort_dfs`: visits nodes by the bytes that they read and write, and before each node, in the same order,
/// the nodes that wrote its inputs. It follows [`Graph::unmet`], not [`Graph::preds`].
#[must_use]
pub fn dfs(graph: &Graph) -> Order {
    let count = graph.node_count();
    let weight = |n: u32| {
        let reads = graph.reads.get(n as usize).iter();
        graph.node_size(n) + reads.map(|&b| graph.free(b)).sum::<i64>()
    };
    let mut roots: Vec<u32> = (0..count as u32).collect();
    roots.sort_by_cached_key(|&n| (weight(n), n));
    let mut rank = vec![0; count];
    for (place, &n) in roots.iter().enumerate() {
        rank[n as usize] = place;
    }
    let mut is_seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    // The nodes whose predecessors are being visited, each with the predecessors left to visit, the next one last.
    let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
    for root in roots {
        let mut next = Some(root);
        loop {
            if let Some(node) = next.take()
                && !std::mem::replace(&mut is_seen[node as usize], true)
            {
                let mut unmet = graph.unmet.get(node as usize).to_vec();
                unmet.sort_unstable_by_key(|&n| std::cmp::Reverse(rank[n as usize]));
                path.push((node, unmet));
            }
            let Some((node, left)) = path.last_mut() else {
                break;
            };
            next = left.pop();
            if next.is_none() {
                order.push(*node);
                path.pop();
            }
        }
    }
    Order(order)
}
