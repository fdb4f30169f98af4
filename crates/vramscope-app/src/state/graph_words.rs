//! Inductor graphs in words.

use vramscope_protocol::views::graph::{
    BufferDetails, BufferKind, GraphFacts, Live, LiveBuffer, OrderFacts, OrderName, OrdersFacts,
};
use vramscope_view::display;

use super::sentences::count_of;

/// The name of an order.
#[must_use]
pub fn order(order: OrderName) -> &'static str {
    match order {
        OrderName::Baseline => "baseline",
        OrderName::Lpmf => "lpmf",
        OrderName::Bfs => "bfs",
        OrderName::Dfs => "dfs",
        OrderName::Best => "best found",
    }
}

#[must_use]
pub fn order_meaning(order: OrderName) -> &'static str {
    match order {
        OrderName::Baseline => "The order of the file: the one that inductor's scheduler had",
        OrderName::Lpmf => {
            "Least peak memory first: PyTorch's topological_sort_lpmf, node by node what needs least now"
        }
        OrderName::Bfs => "Breadth first: PyTorch's topological_sort_bfs",
        OrderName::Dfs => "Depth first: PyTorch's topological_sort_dfs",
        OrderName::Best => {
            "The best that vramscope has found: it starts from the best of PyTorch's and searches on"
        }
    }
}

#[must_use]
pub fn graph(facts: &GraphFacts) -> String {
    let mut words = vec![
        count_of(u64::from(facts.nodes), "node", "nodes"),
        count_of(u64::from(facts.buffers), "buffer", "buffers"),
    ];
    if facts.freeable_inputs > 0 {
        let inputs = count_of(
            u64::from(facts.freeable_inputs),
            "freeable input",
            "freeable inputs",
        );
        words.push(format!(
            "{inputs} of {}",
            display::bytes(facts.freeable_bytes)
        ));
    }
    words.join(" · ")
}

/// The cursor's step, e.g. `step 3 of 0 to 40`.
#[must_use]
pub fn step(step: u32, facts: &GraphFacts) -> String {
    if step >= facts.nodes {
        return "at the end".to_owned();
    }
    let count = |number: u32| display::count(u64::from(number));
    // Steps count from 0, as PyTorch's do.
    let last = count(facts.nodes.saturating_sub(1));
    format!("step {} of 0 to {last}", count(step))
}

/// `8.9 %`.
#[must_use]
pub fn per_mille(share: u64) -> String {
    format!("{}.{} %", share / 10, share % 10)
}

/// The size of a change as a share: `18.0 %`.
fn share(change: f64) -> String {
    match change.abs() * 100.0 {
        small if small < 0.1 => "below 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// How an order is chosen in a real run.
const BY_ITSELF: &str =
    "PyTorch decides by itself (torch._inductor.config.reorder_for_peak_memory, on by default)";

/// Sentences on the order that PyTorch would choose, and on the best one found with what can be done about it.
#[must_use]
pub fn verdict(orders: &OrdersFacts) -> (String, String) {
    let find = |name| orders.orders.iter().find(|facts| facts.order == name);
    let Some(chosen) = find(orders.chosen) else {
        return (String::new(), String::new());
    };
    let how = match orders.chosen {
        OrderName::Baseline => "PyTorch would leave the order as it is".to_owned(),
        name => format!("PyTorch would choose {}", order(name)),
    };
    let first = format!("{how}: peak {}.", display::bytes(chosen.peak_bytes));
    let Some(best) = find(OrderName::Best) else {
        return (first, String::new());
    };
    let is_better = best.peak_bytes < chosen.peak_bytes;
    let end = match (orders.is_searching, is_better) {
        (true, _) => String::new(),
        (false, true) => format!(
            " {BY_ITSELF}; no setting takes another order, so this is what reordering could save at most."
        ),
        (false, false) => format!(" {BY_ITSELF}."),
    };
    (first, better(orders, chosen, best) + &end)
}

fn better(orders: &OrdersFacts, chosen: &OrderFacts, best: &OrderFacts) -> String {
    let no_less = format!(
        "no order can need less than {}",
        display::bytes(orders.bound_bytes)
    );
    if best.peak_bytes >= chosen.peak_bytes {
        return match (orders.is_proved, orders.is_searching) {
            (true, _) => "No order needs less: that is proved.".to_owned(),
            (false, true) => "Searching for a better order…".to_owned(),
            (false, false) => format!("No better one was found; {no_less}."),
        };
    }
    let less = format!(
        "{}, {} ({}) less",
        display::bytes(best.peak_bytes),
        display::bytes(chosen.peak_bytes.abs_diff(best.peak_bytes)),
        share(best.change_share.unwrap_or(0.0))
    );
    match (orders.is_proved, orders.is_searching) {
        (true, _) => format!("The best order needs {less}: no order needs less, that is proved."),
        (false, true) => format!("A better order needs {less}; searching on…"),
        (false, false) => format!("The best that was found needs {less}; {no_less}."),
    }
}

/// The change of an order's peak against that of the order that PyTorch would choose.
#[must_use]
pub fn compared(facts: &OrderFacts, chosen_bytes: u64) -> String {
    if facts.peak_bytes == chosen_bytes {
        return "the same".to_owned();
    }
    format!(
        "{} ({})",
        display::bytes_change(chosen_bytes, facts.peak_bytes),
        share(facts.change_share.unwrap_or(0.0))
    )
}

#[must_use]
pub fn live(live: &Live, peak_step: Option<u32>) -> String {
    let place = if live.node.is_empty() {
        "Left at the end".to_owned()
    } else {
        format!("Live at step {}", display::count(u64::from(live.step)))
    };
    let peak = if peak_step == Some(live.step) {
        ", the peak"
    } else {
        ""
    };
    let rows = count_of(u64::from(live.all_rows), "buffer", "buffers");
    format!("{place}{peak}: {rows}, {}", display::bytes(live.bytes))
}

/// The steps at which a buffer lives: `3 – 1,200`.
#[must_use]
pub fn life(line: &LiveBuffer) -> String {
    let count = |step: u32| display::count(u64::from(step));
    match line.end {
        None => format!("{} – end", count(line.start)),
        Some(end) if end == line.start => count(end),
        Some(end) => format!("{} – {}", count(line.start), count(end)),
    }
}

#[must_use]
pub fn kind(kind: BufferKind) -> &'static str {
    match kind {
        BufferKind::Intermediate => "intermediate",
        BufferKind::FreeableInput => "freeable input",
        BufferKind::Output => "output",
    }
}

/// An explanation of that kind, for a tooltip.
#[must_use]
pub fn kind_meaning(kind: BufferKind) -> &'static str {
    match kind {
        BufferKind::Intermediate => "Made by one node, freed after the last that uses it",
        BufferKind::FreeableInput => {
            "An input that nothing needs after the graph, such as an activation saved for backward: freed after its last use"
        }
        BufferKind::Output => "A result of the graph: it stays to the end",
    }
}

/// A buffer's life in a sentence.
#[must_use]
pub fn buffer_life(facts: &BufferDetails) -> String {
    let line = &facts.line;
    let count = |step: u32| display::count(u64::from(step));
    let from = if facts.made_at.is_some() {
        format!("lives from step {}", count(line.start))
    } else {
        "is there from the beginning".to_owned()
    };
    match line.end {
        None => format!("{from} and stays, as an output"),
        Some(end) if end == line.start => format!("lives at step {} only", count(end)),
        Some(end) => format!("{from} to {}", count(end)),
    }
}

#[cfg(test)]
mod tests {
    use vramscope_core::analysis::compare::changes::relative_change;

    use super::*;

    fn facts(order: OrderName, peak_bytes: u64) -> OrderFacts {
        OrderFacts {
            order,
            version: 0,
            peak_bytes,
            peak_step: 3,
            change_share: relative_change(4_096, peak_bytes),
        }
    }

    fn orders(best: u64, is_proved: bool, is_searching: bool) -> OrdersFacts {
        OrdersFacts {
            orders: vec![
                facts(OrderName::Baseline, 4_096),
                facts(OrderName::Best, best),
            ],
            chosen: OrderName::Baseline,
            bound_bytes: 1_024,
            is_proved,
            is_searching,
            can_search: !is_proved,
            searched_ms: 0,
            problem: None,
        }
    }

    #[test]
    fn says_what_could_be_had() {
        let (first, second) = verdict(&orders(3_072, false, true));
        assert_eq!(
            first,
            "PyTorch would leave the order as it is: peak 4.00 KiB."
        );
        assert_eq!(
            second,
            "A better order needs 3.00 KiB, 1.00 KiB (25.0 %) less; searching on…"
        );
        // The end says how PyTorch chooses, and if a better order cannot be chosen.
        let second = |best, is_proved| {
            let all = verdict(&orders(best, is_proved, false)).1;
            let (text, end) = all.split_once(" PyTorch decides by itself").unwrap();
            assert_eq!(end.contains("no setting"), best < 4_096, "{all}");
            text.to_owned()
        };
        assert_eq!(
            second(3_072, true),
            "The best order needs 3.00 KiB, 1.00 KiB (25.0 %) less: no order needs less, that is proved."
        );
        assert_eq!(second(4_096, true), "No order needs less: that is proved.");
        assert_eq!(
            second(4_096, false),
            "No better one was found; no order can need less than 1.00 KiB."
        );
        assert_eq!(
            second(4_095, false),
            "The best that was found needs 4.00 KiB, 1 B (below 0.1 %) less; no order can need less than 1.00 KiB."
        );
        let compared = |peak_bytes| compared(&facts(OrderName::Dfs, peak_bytes), 4_096);
        assert_eq!(compared(5_120), "+1.00 KiB (25.0 %)");
        assert_eq!(compared(4_096), "the same");
    }

    #[test]
    fn lives_read_well() {
        let line = |start, end| LiveBuffer {
            buffer: 0,
            name: "buf0".into(),
            bytes: 1,
            share_per_mille: 1,
            kind: BufferKind::Intermediate,
            node: "op0".into(),
            start,
            end,
        };
        assert_eq!(life(&line(3, Some(1_200))), "3 – 1,200");
        assert_eq!(life(&line(3, Some(3))), "3");
        assert_eq!(life(&line(3, None)), "3 – end");
    }
}
