//! The orders that inductor tries, and which one it takes.

mod bfs;
mod dfs;
mod lpmf;

use serde::{Deserialize, Serialize};

pub use self::bfs::bfs;
pub use self::dfs::dfs;
pub use self::lpmf::lpmf;

use super::{Graph, Invalid, Timeline, validate};

/// All nodes of a graph, each once, none before those that must run before it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Order(pub Vec<u32>);

impl Order {
    /// Per node: the step it runs at.
    #[must_use]
    pub fn steps(&self) -> Vec<u32> {
        let mut steps = vec![0; self.0.len()];
        for (step, &node) in (0u32..).zip(&self.0) {
            steps[node as usize] = step;
        }
        steps
    }
}

/// How inductor comes by an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The order that inductor had anyway.
    Baseline,
    /// Least peak memory first: [`lpmf`].
    Lpmf,
    /// Breadth first: [`bfs`].
    Bfs,
    /// Depth first: [`dfs`].
    Dfs,
}

impl Method {
    /// All of them, in the order that inductor tries them in.
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Lpmf, Self::Bfs, Self::Dfs];

    /// Its name, as in PyTorch's logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Lpmf => "lpmf",
            Self::Bfs => "bfs",
            Self::Dfs => "dfs",
        }
    }
}

/// Settings of `torch._inductor.config` that change an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// `size_threshold_for_succ_based_strategy`: while all nodes that could run allocate more bytes than this, [`lpmf`] picks
    /// the one whose successor comes first. 0, the default: never.
    pub size_threshold_for_succ_based_strategy: u64,
}

/// One order, and what it does to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// How it was found.
    pub method: Method,
    /// The order.
    pub order: Order,
    /// Memory in it.
    pub timeline: Timeline,
}

/// All orders of a graph that inductor looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// One per [`Method::ALL`].
    pub orders: Vec<Planned>,
    /// Which of `orders` inductor takes: the first with the lowest peak.
    pub chosen: usize,
}

impl Plan {
    /// What inductor takes.
    #[must_use]
    pub fn chosen(&self) -> &Planned {
        &self.orders[self.chosen]
    }
}

/// What `reorder_for_peak_memory` does.
///
/// # Errors
/// When the graph has a cycle, so that there is no order, or is listed in one that cannot run.
pub fn plan(graph: &Graph, settings: Settings) -> Result<Plan, Invalid> {
    validate::acyclic(graph)?;
    validate::runs(graph)?;
    let planned = |method| {
        let order = match method {
            Method::Baseline => graph.baseline(),
            Method::Lpmf => lpmf(graph, settings),
            Method::Bfs => bfs(graph),
            Method::Dfs => dfs(graph),
        };
        Planned {
            method,
            timeline: Timeline::of(graph, &order),
            order,
        }
    };
    let orders: Vec<Planned> = Method::ALL.map(planned).into();
    let peaks = orders.iter().map(|planned| planned.timeline.peak);
    let chosen = peaks.enumerate().min_by_key(|&(i, peak)| (peak, i));
    Ok(Plan {
        chosen: chosen.map_or(0, |(i, _)| i),
        orders,
    })
}
