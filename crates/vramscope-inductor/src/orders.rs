//! The orders that inductor tries, and its choice among them.

mod bfs;
mod dfs;
mod lpmf;

use serde::{Deserialize, Serialize};

pub use self::bfs::bfs;
pub use self::dfs::dfs;
pub use self::lpmf::lpmf;

use super::{Graph, Invalid, Order, Timeline, validate};

/// The way in which inductor finds an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The order before reordering.
    Baseline,
    /// Least peak memory first: [`lpmf`].
    Lpmf,
    /// Breadth first: [`bfs`].
    Bfs,
    /// Depth first: [`dfs`].
    Dfs,
}

impl Method {
    /// All methods, in the order in which inductor tries them.
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Lpmf, Self::Bfs, Self::Dfs];

    /// The name in PyTorch's logs.
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

/// Settings of `torch._inductor.config` that influence an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// `size_threshold_for_succ_based_strategy`: while all ready nodes allocate more bytes than this, [`lpmf`] picks
    /// the one whose successor comes first. 0, the default, turns this off.
    pub size_threshold_for_succ_based_strategy: u64,
}

/// An order and its memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The method that found it.
    pub method: Method,
    /// The order.
    pub order: Order,
    /// Memory over its steps.
    pub timeline: Timeline,
}

/// All orders that inductor considers for a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// One order per method, as in [`Method::ALL`].
    pub orders: Vec<Planned>,
    /// The index of inductor's choice in `orders`: the first with the lowest peak.
    pub chosen: usize,
}

impl Plan {
    /// Inductor's choice.
    #[must_use]
    pub fn chosen(&self) -> &Planned {
        &self.orders[self.chosen]
    }
}

/// Computes all orders and chooses one, as `reorder_for_peak_memory` does.
///
/// # Errors
/// If the graph has a cycle, or its nodes are listed in an order that cannot run.
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
