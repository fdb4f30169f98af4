//! Maximum flow by Dinic's algorithm.

use std::collections::VecDeque;

/// A network of directed edges with capacities.
pub(super) struct Network {
    /// Per vertex: its edges.
    edges_of: Vec<Vec<u32>>,
    /// The vertex to which each edge leads. Edge `e ^ 1` is the reverse of `e`.
    to: Vec<u32>,
    /// Residual capacity of each edge.
    room: Vec<i64>,
}

impl Network {
    pub(super) fn new(vertices: usize) -> Self {
        Self {
            edges_of: vec![Vec::new(); vertices],
            to: Vec::new(),
            room: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, from: usize, to: usize, capacity: i64) {
        for (from, to, room) in [(from, to, capacity), (to, from, 0)] {
            self.edges_of[from].push(self.to.len() as u32);
            self.to.push(to as u32);
            self.room.push(room);
        }
    }

    /// The maximum flow from `source` to `sink`. A capacity of `i64::MAX` is unlimited.
    pub(super) fn flow(&mut self, source: usize, sink: usize) -> i64 {
        let mut total = 0i64;
        while let Some(level) = self.levels(source, sink) {
            let mut next = vec![0; self.edges_of.len()];
            loop {
                let sent = self.send(source, sink, &level, &mut next);
                if sent == 0 {
                    break;
                }
                total += sent;
            }
        }
        total
    }

    /// The distance of each vertex from `source` in edges; `None` if the sink cannot be reached.
    fn levels(&self, source: usize, sink: usize) -> Option<Vec<u32>> {
        let mut level = vec![u32::MAX; self.edges_of.len()];
        level[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(vertex) = queue.pop_front() {
            for &edge in &self.edges_of[vertex] {
                let to = self.to[edge as usize] as usize;
                if self.room[edge as usize] > 0 && level[to] == u32::MAX {
                    level[to] = level[vertex] + 1;
                    queue.push_back(to);
                }
            }
        }
        (level[sink] != u32::MAX).then_some(level)
    }

    /// Sends as much as one path takes, and returns the amount; 0 if there is no path left. `next` holds per vertex
    /// the next edge to try.
    fn send(&mut self, source: usize, sink: usize, level: &[u32], next: &mut [usize]) -> i64 {
        let mut path: Vec<u32> = Vec::new();
        let mut vertex = source;
        while vertex != sink {
            let edge = self.edges_of[vertex].get(next[vertex]).copied();
            match edge {
                Some(edge) => {
                    let to = self.to[edge as usize] as usize;
                    if self.room[edge as usize] > 0 && level[to] == level[vertex] + 1 {
                        path.push(edge);
                        vertex = to;
                    } else {
                        next[vertex] += 1;
                    }
                }
                // A dead end: step back, and never try this edge again.
                None => {
                    let Some(edge) = path.pop() else {
                        return 0;
                    };
                    vertex = self.to[edge as usize ^ 1] as usize;
                    next[vertex] += 1;
                }
            }
        }
        let rooms = path.iter().map(|&edge| self.room[edge as usize]);
        let sent = rooms.min().unwrap_or(0);
        for edge in path {
            let (there, back) = (edge as usize, edge as usize ^ 1);
            if self.room[there] != i64::MAX {
                self.room[there] -= sent;
            }
            self.room[back] = self.room[back].saturating_add(sent);
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_flows_is_the_narrowest_cut() {
        let mut network = Network::new(6);
        let edges = [(0, 1, 16), (0, 2, 13), (1, 2, 10), (2, 1, 4), (1, 3, 12)];
        let more = [(3, 2, 9), (2, 4, 14), (4, 3, 7), (3, 5, 20), (4, 5, 4)];
        for (from, to, capacity) in edges.into_iter().chain(more) {
            network.add(from, to, capacity);
        }
        assert_eq!(network.flow(0, 5), 23);
    }
}
